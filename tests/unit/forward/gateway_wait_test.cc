// A gateway while a request waits: for an owner whose router may hang, and for an answer that its
// client may not want any more.
#include <gtest/gtest.h>

#include <boost/asio/ip/tcp.hpp>
#include <chrono>
#include <functional>
#include <string>
#include <utility>

#include "tests/unit/forward/gateway_rig.h"

namespace neliroute {
namespace {

using namespace testing_forward;
using namespace std::chrono_literals;
using boost::asio::ip::tcp;
using forward::ProxyCount;

struct Waiting : testing::Test {
  explicit Waiting(GatewayRigOptions options = {}) : rig(std::move(options)) {}

  [[nodiscard]] bool waits(std::size_t count) {
    return rig.run_until([&] { return rig.directions.waits == count; });
  }
  [[nodiscard]] bool nobody_is_connected() {
    return rig.run_until([&] { return rig.gateway->connections() == 0; });
  }
  /// Serves another request, so that whatever was to happen before has.
  void exchange_another() {
    rig.directions.leads(owner.endpoint());
    EXPECT_EQ(body_of(rig.exchange(get("/another"))), "/another");
  }

  GatewayRig rig;
  Owner owner{rig.io,
              [](const OwnerRequest& request) { return ok(std::string(request.target())); }};
};

struct HungRouter : Waiting {
  static GatewayRigOptions within(std::chrono::milliseconds deadline) {
    GatewayRigOptions options;
    options.exchange.deadline = deadline;
    options.exchange.waits = 3;
    return options;
  }
  explicit HungRouter(std::chrono::milliseconds deadline = 300ms) : Waiting(within(deadline)) {
    rig.directions.hang();
  }
};
struct HungRouterForLonger : HungRouter {
  HungRouterForLonger() : HungRouter(2s) {}  // several tries, 100 ms and more apart, are in time
};

TEST_F(HungRouter, does_not_keep_a_request_beyond_its_deadline) {
  Caller caller = rig.call();
  const auto began = std::chrono::steady_clock::now();
  caller.send(get("/given-up"));
  ASSERT_TRUE(rig.answered(caller));
  EXPECT_GE(std::chrono::steady_clock::now() - began, 300ms);
  EXPECT_EQ(status_of(caller.received()), 503u);
  EXPECT_NE(caller.received().find("Retry-After: 1"), std::string::npos);
  EXPECT_NE(caller.received().find("nobody serves this key"), std::string::npos);
  EXPECT_EQ(rig.directions.waits, 1u);
  EXPECT_EQ(rig.directions.cancelled, 1u) << "the router has nothing to do for it any more";
  // What the router says of it late, nobody hears; and the connection serves on.
  caller.forget();
  rig.directions.come_back();
  exchange_another();
  EXPECT_EQ(caller.received(), "");
  caller.send(get("/next"));
  ASSERT_TRUE(rig.answered(caller));
  EXPECT_EQ(body_of(caller.received()), "/next");
  ASSERT_EQ(owner.requests.size(), 2u);
  EXPECT_EQ(owner.requests[0].target(), "/another");
  EXPECT_EQ(rig.count(ProxyCount::unowned), 1u);
}

TEST_F(HungRouterForLonger, does_not_stop_a_request_from_trying_an_owner_again) {
  rig.directions.leads(owner.endpoint());
  owner.stop();
  const std::string answer = rig.exchange(get());
  EXPECT_EQ(status_of(answer), 503u) << "nobody else leads";
  EXPECT_NE(answer.find("this key's owner cannot be reached: it refuses connections"),
            std::string::npos) << answer;
  EXPECT_EQ(rig.count(ProxyCount::unreached), 1u);
  EXPECT_GE(rig.directions.suspects.size(), 2u) << "it may have come back";
}

TEST_F(HungRouter, is_not_asked_for_ever_more) {
  for (int i = 0; i < 3; ++i) EXPECT_EQ(status_of(rig.exchange(get())), 503u);
  EXPECT_EQ(status_of(rig.exchange(get())), 503u);
  EXPECT_EQ(rig.directions.waits, 3u);
  rig.directions.come_back();
  exchange_another();
  rig.directions.nobody_leads();
  Caller caller = rig.call();
  caller.send(get("/late"));
  ASSERT_TRUE(waits(4)) << "it hears waits again";
  rig.directions.leads(owner.endpoint());
  ASSERT_TRUE(rig.answered(caller));
  EXPECT_EQ(body_of(caller.received()), "/late");
}

TEST_F(HungRouter, comes_back_when_the_connection_is_long_gone) {
  {
    Caller caller = rig.call();
    caller.send(get("/given-up"));
    ASSERT_TRUE(rig.answered(caller));
  }
  ASSERT_TRUE(nobody_is_connected());
  rig.directions.come_back();
  exchange_another();
  EXPECT_EQ(owner.requests.size(), 1u);
}

TEST_F(Waiting, is_for_another_owner_than_the_one_that_could_not_be_reached) {
  rig.directions.leads(owner.endpoint());
  owner.stop();
  Caller caller = rig.call();
  caller.send(get());
  ASSERT_TRUE(waits(1));
  EXPECT_EQ(rig.directions.waited_after, (Epoch{1, 1}));
}

TEST_F(Waiting, that_the_router_refuses_is_answered_at_once) {
  rig.directions.refuses_with = Errc::too_many_waiters;
  EXPECT_EQ(status_of(rig.exchange(get())), 503u);
  EXPECT_EQ(rig.directions.waits, 1u);
}

TEST_F(Waiting, is_what_becomes_of_a_request_that_its_owner_refused) {
  owner.serve = [](const OwnerRequest&) { return misdirected(); };
  rig.directions.leads(owner.endpoint());
  Caller caller = rig.call();
  caller.send(get());
  ASSERT_TRUE(waits(1)) << caller.received();
  EXPECT_EQ(owner.requests.size(), 1u) << "it is not asked again at once";
  owner.serve = [](const OwnerRequest&) { return ok("now"); };
  rig.directions.leads(owner.endpoint());  // under a greater epoch
  ASSERT_TRUE(rig.answered(caller));
  EXPECT_EQ(body_of(caller.received()), "now");
}

TEST_F(Waiting, a_long_body_that_comes_for_long_meanwhile_is_no_reason_to_drop_it) {
  Caller caller = rig.call();
  caller.send(post(std::string(300'000, 'x')));
  ASSERT_TRUE(waits(1));
  rig.io.restart();
  rig.io.run_for(300ms);
  EXPECT_EQ(rig.gateway->connections(), 1u);
  rig.directions.leads(owner.endpoint());
  ASSERT_TRUE(rig.answered(caller));
  EXPECT_EQ(owner.requests.at(0).body().size(), 300'000u);
}

/// Each way in which a client goes.
enum class Goes { closes, half_closes, resets };
struct ClientThat : Waiting, testing::WithParamInterface<Goes> {
  static GatewayRigOptions patient() {
    GatewayRigOptions options;
    options.exchange.deadline = 100s;  // longer than a test waits
    options.upstream.connect = 100s;
    return options;
  }
  ClientThat() : Waiting(patient()) {}
  static void go(Caller& caller) {
    if (GetParam() == Goes::closes) return caller.close();
    GetParam() == Goes::resets ? caller.reset() : caller.shutdown();
  }
};
INSTANTIATE_TEST_SUITE_P(Client, ClientThat,
                         testing::Values(Goes::closes, Goes::half_closes, Goes::resets));

TEST_P(ClientThat, goes_while_its_request_waits_has_it_dropped) {
  Caller caller = rig.call();
  caller.send(post("x", "Idempotency-Key: 1\r\n"));
  ASSERT_TRUE(waits(1));
  go(caller);
  ASSERT_TRUE(nobody_is_connected());
  EXPECT_EQ(rig.directions.cancelled, 1u);
  EXPECT_EQ(rig.count(ProxyCount::broken), 1u);
  exchange_another();
  ASSERT_EQ(owner.requests.size(), 1u) << "it was not sent";
}

/// An application of this process that answers no SYN, as its queue is full.
struct Deaf {
  explicit Deaf(GatewayRig& rig) : acceptor(rig.io), queued(rig.io) {
    acceptor.open(tcp::v4());
    acceptor.bind({boost::asio::ip::address_v4::loopback(), 0});
    acceptor.listen(0);
    queued.connect(acceptor.local_endpoint());
    rig.directions.own = true;
    rig.directions.leads("127.0.0.1:" + std::to_string(acceptor.local_endpoint().port()));
  }
  /// A request is under way to it.
  [[nodiscard]] static bool is_tried(GatewayRig& rig) {
    const bool tried = rig.run_until([&] { return !rig.directions.guarded.expired(); });
    rig.io.restart();
    rig.io.run_for(20ms);
    return tried && !rig.directions.guarded.expired() && rig.count(ProxyCount::unreachable) == 0;
  }

  tcp::acceptor acceptor;
  tcp::socket queued;
};

TEST_P(ClientThat, goes_while_its_request_is_connected_for_holds_up_no_hand_over) {
  const Deaf application(rig);
  Caller caller = rig.call();
  caller.send(get());
  ASSERT_TRUE(Deaf::is_tried(rig));
  go(caller);
  EXPECT_TRUE(rig.run_until([&] { return rig.directions.guarded.expired(); }));
  EXPECT_TRUE(nobody_is_connected());
  EXPECT_EQ(rig.count(ProxyCount::broken), 1u);
  EXPECT_EQ(rig.count(ProxyCount::unreachable), 0u);
}

// It is asked again and again: meanwhile the next owner does not wait for that.
TEST_F(Waiting, for_an_application_that_cannot_be_reached_holds_up_no_hand_over) {
  owner.stop();
  rig.directions.own = true;
  rig.directions.leads(owner.endpoint());
  Caller caller = rig.call();
  caller.send(get());
  ASSERT_TRUE(rig.run_until([&] { return rig.count(ProxyCount::waited) == 1; }));
  EXPECT_TRUE(rig.directions.guarded.expired());
}

struct Draining : Waiting {
  Draining() : Waiting(ClientThat::patient()) {}
};

TEST_F(Draining, ends_a_connection_that_is_being_made_when_its_time_is_over) {
  const Deaf application(rig);
  Caller caller = rig.call();
  caller.send(get());
  ASSERT_TRUE(Deaf::is_tried(rig));
  bool drained = false;
  rig.gateway->drain(1ms, [&] { drained = true; });
  EXPECT_TRUE(rig.run_until([&] { return drained; }));
  EXPECT_TRUE(rig.directions.guarded.expired());
  EXPECT_TRUE(rig.run_until([&] { return caller.ended(); }));
}

TEST_P(ClientThat, goes_between_two_attempts_has_its_request_dropped) {
  rig.directions.leads(owner.endpoint());
  owner.serve = [this](const OwnerRequest&) {
    rig.directions.nobody_leads();
    return misdirected();
  };
  Caller caller = rig.call();
  caller.send(get());
  ASSERT_TRUE(waits(1));
  go(caller);
  ASSERT_TRUE(nobody_is_connected());
  EXPECT_EQ(rig.directions.cancelled, 1u);
  EXPECT_EQ(rig.count(ProxyCount::misdirected), 1u);
}

TEST_P(ClientThat, goes_before_its_answer_has_the_owner_told) {
  rig.directions.leads(owner.endpoint());
  owner.serve = [](const OwnerRequest&) { return OwnerAnswer{}; };
  for (const std::string& request : {get(), post(std::string(200'000, 'x'))}) {
    Caller caller = rig.call();
    caller.send(request);
    const std::size_t before = owner.requests.size();
    ASSERT_TRUE(rig.run_until([&] { return owner.requests.size() > before; }));
    EXPECT_EQ(owner.given_up, before);
    go(caller);
    EXPECT_TRUE(rig.run_until([&] { return owner.given_up > before; }));
    EXPECT_TRUE(nobody_is_connected());
  }
  EXPECT_EQ(rig.count(ProxyCount::broken), 2u);
  EXPECT_EQ(rig.count(ProxyCount::failed), 0u);
}

TEST_P(ClientThat, goes_after_it_sent_more_has_all_of_it_dropped) {
  Caller caller = rig.call();
  caller.send(get("/1"));
  ASSERT_TRUE(waits(1));
  caller.send(get("/2") + get("/3"));
  ASSERT_TRUE(rig.run_until([&] { return !caller.unsent(); }));
  go(caller);
  ASSERT_TRUE(nobody_is_connected());
  exchange_another();
  EXPECT_EQ(owner.requests.size(), 1u);
}

TEST_P(ClientThat, goes_in_the_middle_of_a_long_answer_has_the_owner_told) {
  rig.directions.leads(owner.endpoint());
  owner.serve = [](const OwnerRequest&) {
    return OwnerAnswer{"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n"};
  };
  Caller caller = rig.call();
  caller.send(get());
  ASSERT_TRUE(rig.run_until([&] { return caller.received().ends_with("abc\r\n"); }));
  go(caller);
  EXPECT_TRUE(nobody_is_connected());
  EXPECT_EQ(rig.count(ProxyCount::broken), 1u);
}

// The successor waits for whatever this process still serves.
TEST_F(Waiting, a_request_that_the_own_application_refused_holds_up_no_hand_over) {
  rig.directions.own = true;
  rig.directions.leads(owner.endpoint());
  bool guarded = false;
  owner.serve = [&](const OwnerRequest&) {
    guarded = !rig.directions.guarded.expired();
    rig.directions.nobody_leads();
    return misdirected();
  };
  Caller caller = rig.call();
  caller.send(get());
  ASSERT_TRUE(rig.run_until([&] { return rig.directions.waits == 1; }));
  EXPECT_TRUE(guarded);
  EXPECT_TRUE(rig.directions.guarded.expired());
}

TEST_F(Waiting, what_a_client_sends_behind_a_request_that_waits_is_not_lost) {
  Caller caller = rig.call();
  caller.send(get("/1"));
  ASSERT_TRUE(waits(1));
  std::string more = get("/2") + post("body");
  std::size_t sent = 0;
  for (const std::size_t until : {std::size_t{1}, std::size_t{20}, more.size() - 2}) {
    caller.send(more.substr(sent, until - sent));
    sent = until;
    ASSERT_TRUE(rig.run_until([&] { return !caller.unsent(); }));
  }
  rig.directions.leads(owner.endpoint());
  ASSERT_TRUE(rig.answered(caller, 2));
  EXPECT_EQ(owner.requests.size(), 2u) << "the third is not whole";
  caller.send(more.substr(sent));
  ASSERT_TRUE(rig.answered(caller, 3));
  ASSERT_EQ(owner.requests.size(), 3u);
  EXPECT_EQ(owner.requests[1].target(), "/2");
  EXPECT_EQ(owner.requests[2].body(), "body");
}

TEST_F(Waiting, more_than_is_read_ahead_is_served_all_the_same) {
  Caller caller = rig.call();
  caller.send(get("/first"));
  ASSERT_TRUE(waits(1));
  std::string more;
  for (int i = 0; i < 1000; ++i) more += get("/" + std::to_string(i));
  caller.send(more);
  ASSERT_TRUE(rig.run_until([&] { return !caller.unsent(); }));
  rig.directions.leads(owner.endpoint());
  ASSERT_TRUE(rig.run_until([&] { return owner.requests.size() == 1001; }));
  for (std::size_t i = 0; i < 1000; ++i) {
    EXPECT_EQ(owner.requests[i + 1].target(), "/" + std::to_string(i));
  }
}

TEST_F(Waiting, a_long_body_that_comes_meanwhile_arrives_whole) {
  std::string body;
  while (body.size() < 300'000) body += std::to_string(body.size()) + ",";
  Caller caller = rig.call();
  caller.send(post(body));
  ASSERT_TRUE(waits(1));
  rig.directions.leads(owner.endpoint());
  ASSERT_TRUE(rig.answered(caller));
  EXPECT_EQ(status_of(caller.received()), 200u);
  ASSERT_EQ(owner.requests.size(), 1u);
  EXPECT_EQ(owner.requests[0].body(), body);
}

TEST_F(Waiting, a_client_that_waits_for_100_before_its_long_body_gets_it_late) {
  const std::string body(100'000, 'x');
  Caller caller = rig.call();
  caller.send(
      "POST / HTTP/1.1\r\nHost: gw\r\nX-Key: k\r\nContent-Length: 100000\r\n"
      "Expect: 100-continue\r\n\r\n");
  ASSERT_TRUE(waits(1));
  rig.directions.leads(owner.endpoint());
  ASSERT_TRUE(rig.run_until([&] { return !caller.received().empty(); }));
  EXPECT_EQ(status_of(caller.received()), 100u);
  caller.send(body);
  ASSERT_TRUE(rig.answered(caller));
  EXPECT_EQ(owner.requests.at(0).body(), body);
}

TEST_F(Waiting, what_is_sent_for_a_tunnel_meanwhile_goes_through_it) {
  owner.serve = [](const OwnerRequest& request) -> OwnerAnswer {
    if (request.target() == "/inside") return {"bye", true};
    return {"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n"};
  };
  for (const bool early : {true, false}) {
    rig.directions.nobody_leads();
    const std::size_t before = rig.directions.waits;
    Caller caller = rig.call();
    caller.send(get("/", "Upgrade: x\r\nConnection: Upgrade\r\n"));
    ASSERT_TRUE(waits(before + 1));
    if (early) caller.send("GET /inside HTTP/1.1\r\n\r\n");
    rig.directions.leads(owner.endpoint());
    ASSERT_TRUE(rig.run_until([&] { return status_of(caller.received()) == 101; }));
    if (!early) caller.send("GET /inside HTTP/1.1\r\n\r\n");
    ASSERT_TRUE(rig.run_until([&] { return caller.ended(); })) << "the owner closed its side";
    EXPECT_TRUE(caller.received().ends_with("bye"));
  }
}

}  // namespace
}  // namespace neliroute
