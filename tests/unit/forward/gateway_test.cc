// A gateway before owners that serve, move, refuse, break off, say nothing and say nonsense.
#include <gtest/gtest.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>

#include "tests/unit/forward/gateway_rig.h"

namespace neliroute {
namespace {

using namespace testing_forward;
using namespace std::chrono_literals;
using forward::ProxyCount;

OwnerAnswer nothing(const OwnerRequest&) { return {}; }
OwnerAnswer hangs_up(const OwnerRequest&) { return {"", true}; }

/// One owner, which says what it was asked.
struct Through : testing::Test {
  explicit Through(GatewayRigOptions options = {}) : rig(std::move(options)) {
    rig.directions.leads(owner.endpoint());
  }
  GatewayRig rig;
  Owner owner{rig.io, [](const OwnerRequest& request) {
                return ok(std::string(request.target()));
              }};
};

struct ThroughSoon : Through {
  static GatewayRigOptions soon() {
    GatewayRigOptions options;
    options.exchange.deadline = 300ms;
    options.front.header = 300ms;
    options.front.header_bytes = 2000;
    return options;
  }
  ThroughSoon() : Through(soon()) {}
};

TEST_F(Through, a_request_reaches_the_owner_and_its_answer_the_client) {
  const std::string answer = rig.exchange(get("/a?b=c", "X-Mine: 1\r\n"));
  EXPECT_EQ(status_of(answer), 200u) << answer;
  EXPECT_EQ(body_of(answer), "/a?b=c");
  EXPECT_NE(answer.find("Via: 1.1 gw"), std::string::npos);
  ASSERT_EQ(owner.requests.size(), 1u);
  const OwnerRequest& got = owner.requests[0];
  EXPECT_EQ(got["X-Mine"], "1");
  EXPECT_EQ(got["Host"], "gw");
  EXPECT_EQ(got["Via"], "1.1 gw");
  EXPECT_EQ(got["X-Forwarded-For"], "127.0.0.1");
  EXPECT_EQ(got["Neliroute-Epoch"], "1:1");
  EXPECT_EQ(got["Neliroute-Hops"], "1");
  EXPECT_NE(got["Neliroute-Slot"], "");
  EXPECT_NE(got["Neliroute-Timeout-Ms"], "");
  EXPECT_EQ(rig.count(ProxyCount::forwarded), 1u);
}

struct ByHost : Through {
  static GatewayRigOptions host() {
    GatewayRigOptions options;
    options.key = "host";
    return options;
  }
  ByHost() : Through(host()) {}
};

// An application that believes another host than the one that chose its owner serves foreign keys.
TEST_F(ByHost, a_target_that_names_a_host_is_passed_on_with_that_one) {
  const std::string request = "GET http://a.test:81/x?y HTTP/1.1\r\nHost: b.test\r\n\r\n";
  EXPECT_EQ(status_of(rig.exchange(request)), 200u);
  ASSERT_EQ(owner.requests.size(), 1u);
  EXPECT_EQ(owner.requests[0].target(), "/x?y");
  EXPECT_EQ(owner.requests[0].count("Host"), 1u);
  EXPECT_EQ(owner.requests[0]["Host"], "a.test:81");
  EXPECT_EQ(std::string(owner.requests[0]["Neliroute-Slot"]),
            std::to_string(SlotSpace{SlotCount{64}}.slot_of("a.test").value()));
}

TEST_F(Through, a_client_of_http_1_0_is_spoken_to_as_such_and_its_owner_is_not) {
  owner.serve = [](const OwnerRequest& request) -> OwnerAnswer {
    EXPECT_EQ(request.version(), 11u);
    EXPECT_EQ(request.count("Host"), 1u);
    return {"HTTP/1.1 103 Early Hints\r\n\r\n" + ok("late").bytes};
  };
  const std::string answer =
      rig.exchange("POST / HTTP/1.0\r\nX-Key: k\r\nExpect: 100-continue\r\n"
                   "Content-Length: 1\r\n\r\nx");
  EXPECT_EQ(status_of(answer), 200u) << "and nothing before: " << answer;
  owner.serve = [](const OwnerRequest&) -> OwnerAnswer {
    return {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"};
  };
  Caller caller = rig.call();
  caller.send("GET / HTTP/1.0\r\nConnection: keep-alive\r\nX-Key: k\r\n\r\n");
  ASSERT_TRUE(rig.run_until([&] { return caller.ended(); }));
  EXPECT_TRUE(caller.received().ends_with("\r\n\r\nabc")) << "it knows no chunks";
}

// It would be cut in the middle of a later request.
TEST_F(ThroughSoon, a_header_that_came_in_pieces_does_not_end_its_connection_later) {
  Caller caller = rig.call();
  caller.send("GET /1 HTTP/1.1\r\nHost: g");
  rig.io.restart();
  rig.io.run_for(50ms);
  caller.send("w\r\nX-Key: k\r\n\r\n");
  ASSERT_TRUE(rig.answered(caller));
  rig.io.restart();
  rig.io.run_for(500ms);  // longer than a header may take
  EXPECT_FALSE(caller.ended());
  caller.forget();
  caller.send(get("/2"));
  ASSERT_TRUE(rig.answered(caller));
  EXPECT_EQ(body_of(caller.received()), "/2");
}

// Or both would give up at the same time, and the owner's reason be lost.
TEST_F(ThroughSoon, the_owner_is_given_less_time_than_is_left) {
  EXPECT_EQ(status_of(rig.exchange(get())), 200u);
  ASSERT_EQ(owner.requests.size(), 1u);
  const int told = std::stoi(std::string(owner.requests[0]["Neliroute-Timeout-Ms"]));
  EXPECT_LE(told, 250);
  EXPECT_GT(told, 0);
}

TEST_F(Through, what_the_own_application_serves_counts_apart) {
  EXPECT_EQ(status_of(rig.exchange(get())), 200u);
  rig.directions.own = true;
  EXPECT_EQ(status_of(rig.exchange(get())), 200u);
  EXPECT_EQ(status_of(rig.exchange(get())), 200u);
  EXPECT_EQ(rig.count(ProxyCount::forwarded), 1u);
  EXPECT_EQ(rig.count(ProxyCount::served), 2u);
}

TEST_F(Through, connections_are_kept_on_both_sides) {
  Caller caller = rig.call();
  for (std::size_t i = 1; i <= 3; ++i) {
    caller.forget();
    caller.send(get("/" + std::to_string(i)));
    ASSERT_TRUE(rig.answered(caller));
    EXPECT_EQ(body_of(caller.received()), "/" + std::to_string(i));
    EXPECT_FALSE(caller.ended());
  }
  EXPECT_EQ(owner.connections, 1u);
  EXPECT_EQ(rig.gateway->connections(), 1u);
}

TEST_F(Through, requests_that_come_at_once_are_answered_one_after_the_other) {
  Caller caller = rig.call();
  caller.send(get("/1") + post("body") + get("/3"));
  ASSERT_TRUE(rig.answered(caller, 3));
  ASSERT_EQ(owner.requests.size(), 3u);
  EXPECT_EQ(owner.requests[1].body(), "body");
  EXPECT_EQ(owner.requests[2].target(), "/3");
}

TEST_F(Through, a_strangers_fields_are_not_believed_nor_passed_on) {
  const std::string answer = rig.exchange(
      get("/", "Neliroute-Epoch: 9:9\r\nNeliroute-Hops: 999\r\nNeliroute-Owner: evil:1\r\n"
               "X-Forwarded-For: 6.6.6.6\r\n"));
  EXPECT_EQ(status_of(answer), 200u) << answer;
  ASSERT_EQ(owner.requests.size(), 1u);
  EXPECT_EQ(owner.requests[0]["Neliroute-Epoch"], "1:1");
  EXPECT_EQ(owner.requests[0]["Neliroute-Hops"], "1");
  EXPECT_EQ(owner.requests[0].count("Neliroute-Owner"), 0u);
  EXPECT_EQ(owner.requests[0]["X-Forwarded-For"], "127.0.0.1");
}

TEST_F(Through, a_short_body_goes_whole_however_it_was_framed) {
  const std::string chunked =
      "POST / HTTP/1.1\r\nHost: gw\r\nX-Key: k\r\nTransfer-Encoding: chunked\r\n\r\n"
      "3\r\nabc\r\n4\r\ndefg\r\n0\r\nX-Trailer: 1\r\n\r\n";
  EXPECT_EQ(status_of(rig.exchange(chunked)), 200u);
  EXPECT_EQ(status_of(rig.exchange(post(std::string(64 * 1024, 'x')))), 200u);
  ASSERT_EQ(owner.requests.size(), 2u);
  EXPECT_EQ(owner.requests[0].body(), "abcdefg");
  EXPECT_EQ(owner.requests[0]["Content-Length"], "7");
  EXPECT_EQ(owner.requests[0].count("Transfer-Encoding"), 0u);
  EXPECT_EQ(owner.requests[0].count("X-Trailer"), 0u);
  EXPECT_EQ(owner.requests[1].body().size(), 64u * 1024);
}

TEST_F(Through, a_long_body_is_passed_on_as_it_comes_once_the_owner_wants_it) {
  std::string body;
  while (body.size() < 1'200'000) body += std::to_string(body.size()) + ",";
  EXPECT_EQ(status_of(rig.exchange(post(body))), 200u);
  ASSERT_EQ(owner.requests.size(), 1u);
  EXPECT_EQ(owner.requests[0].body(), body);
  EXPECT_EQ(owner.requests[0]["Expect"], "100-continue");
  // The same in chunks, of which the first 64 KiB were kept.
  std::string chunked =
      "POST / HTTP/1.1\r\nHost: gw\r\nX-Key: k\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (std::size_t at = 0; at < body.size(); at += 4096) {
    const std::string part = body.substr(at, 4096);
    std::array<char, 16> size{};
    std::snprintf(size.data(), size.size(), "%zx\r\n", part.size());
    chunked += size.data() + part + "\r\n";
  }
  EXPECT_EQ(status_of(rig.exchange(chunked + "0\r\n\r\n")), 200u);
  ASSERT_EQ(owner.requests.size(), 2u);
  EXPECT_EQ(owner.requests[1].body(), body);
}

TEST_F(Through, an_owner_that_knows_no_expectation_gets_the_body_all_the_same) {
  owner.says_continue = false;
  EXPECT_EQ(status_of(rig.exchange(post(std::string(200'000, 'x')))), 200u);
  ASSERT_EQ(owner.requests.size(), 1u);
  EXPECT_EQ(owner.requests[0].body().size(), 200'000u);
}

TEST_F(Through, a_client_that_waits_for_100_gets_it) {
  Caller caller = rig.call();
  caller.send("POST / HTTP/1.1\r\nHost: gw\r\nX-Key: k\r\nContent-Length: 4\r\n"
              "Expect: 100-continue\r\n\r\n");
  ASSERT_TRUE(rig.run_until([&] { return !caller.received().empty(); }));
  EXPECT_EQ(status_of(caller.received()), 100u);
  caller.send("body");
  ASSERT_TRUE(rig.answered(caller));
  EXPECT_EQ(owner.requests.at(0).body(), "body");
}

TEST_F(Through, long_answers_of_either_framing_arrive_whole) {
  const std::string body(0x900000, 'y');  // Beast's own limit is 8 MiB
  owner.serve = [&](const OwnerRequest& request) -> OwnerAnswer {
    if (request.target() == "/sized") return ok(body);
    if (request.target() == "/closed") return {"HTTP/1.1 200 OK\r\n\r\n" + body, true};
    return {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n900000\r\n" + body +
            "\r\n0\r\n\r\n"};
  };
  for (const char* target : {"/sized", "/chunked", "/closed"}) {
    const std::string answer = rig.exchange(get(target));
    EXPECT_EQ(status_of(answer), 200u) << target;
    EXPECT_TRUE(body_of(answer) == body) << target << ' ' << body_of(answer).size();
  }
}

TEST_F(Through, answers_without_a_body_are_passed_on_without_one) {
  owner.serve = [](const OwnerRequest& request) -> OwnerAnswer {
    if (request.method_string() == "HEAD") return {"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"};
    if (request.target() == "/204") return {"HTTP/1.1 204 No Content\r\n\r\n"};
    if (request.target() == "/304") return {"HTTP/1.1 304 Not Modified\r\nETag: x\r\n\r\n"};
    return ok("");
  };
  Caller caller = rig.call();
  caller.send("HEAD / HTTP/1.1\r\nHost: gw\r\nX-Key: k\r\n\r\n");
  ASSERT_TRUE(rig.run_until([&] { return caller.received().ends_with("\r\n\r\n"); }));
  EXPECT_NE(caller.received().find("Content-Length: 5"), std::string::npos);
  for (const char* target : {"/204", "/304", "/200"}) {
    caller.forget();
    caller.send(get(target));
    ASSERT_TRUE(rig.run_until([&] { return caller.received().ends_with("\r\n\r\n"); })) << target;
    EXPECT_EQ(status_of(caller.received()), static_cast<unsigned>(std::atoi(target + 1)));
  }
  EXPECT_FALSE(caller.ended());
}

TEST_F(Through, a_client_of_http_1_0_is_served) {
  owner.serve = [](const OwnerRequest&) -> OwnerAnswer {
    return {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"};
  };
  const std::string answer = rig.exchange("GET / HTTP/1.0\r\nX-Key: k\r\n\r\n");
  EXPECT_TRUE(answer.ends_with("\r\n\r\nabc")) << answer;
  EXPECT_EQ(answer.find("chunked"), std::string::npos);
}

TEST_F(Through, early_hints_reach_the_client) {
  owner.serve = [](const OwnerRequest&) {
    OwnerAnswer answer = ok("late");
    answer.bytes = "HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n" + answer.bytes;
    return answer;
  };
  const std::string answer = rig.exchange(get());
  EXPECT_EQ(status_of(answer), 103u);
  EXPECT_NE(answer.find("Link: </x>"), std::string::npos);
  EXPECT_NE(answer.find("200 OK"), std::string::npos);
}

TEST_F(Through, an_owner_that_cannot_be_reached_is_suspected_and_its_successor_waited_for) {
  owner.stop();
  Owner next{rig.io, [](const OwnerRequest&) { return ok("next"); }};
  Caller caller = rig.call();
  caller.send(post("x"));
  ASSERT_TRUE(rig.run_until([&] { return !rig.directions.suspects.empty(); }));
  EXPECT_EQ(rig.directions.suspects[0], owner.endpoint());
  rig.directions.leads(next.endpoint());
  ASSERT_TRUE(rig.answered(caller));
  EXPECT_EQ(body_of(caller.received()), "next");
}

TEST_F(Through, a_request_that_broke_before_its_answer_is_sent_again_if_that_does_no_harm) {
  int asked = 0;
  owner.serve = [&](const OwnerRequest& request) {
    return ++asked % 2 == 1 ? hangs_up(request) : ok("again");
  };
  EXPECT_EQ(body_of(rig.exchange(get())), "again");
  EXPECT_EQ(body_of(rig.exchange(post("x", "Idempotency-Key: 7\r\n"))), "again");
  EXPECT_EQ(rig.count(ProxyCount::resent), 2u);
  const std::string lost = rig.exchange(post("x"));
  EXPECT_EQ(status_of(lost), 502u) << "it may have been carried out";
  EXPECT_EQ(owner.requests.size(), 5u);
}

TEST_F(Through, an_owner_that_always_breaks_off_is_asked_a_few_times_only) {
  owner.serve = hangs_up;
  EXPECT_EQ(status_of(rig.exchange(get())), 502u);
  EXPECT_EQ(owner.requests.size(), 4u);
}

TEST_F(Through, an_answer_that_ends_in_its_middle_is_cut_for_the_client_too) {
  owner.serve = [](const OwnerRequest& request) -> OwnerAnswer {
    const bool sized = request.target() == "/sized";
    return {sized ? "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf"
                  : "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\na\r\nhalf",
            true};
  };
  for (const char* target : {"/sized", "/chunked"}) {
    Caller caller = rig.call();
    caller.send(get(target));
    ASSERT_TRUE(rig.run_until([&] { return caller.ended(); })) << target;
    EXPECT_EQ(answers_in(caller.received(), /*ended=*/true), 0u) << caller.received();
  }
  EXPECT_EQ(rig.count(ProxyCount::broken), 2u);
}

TEST_F(Through, nonsense_is_answered_502) {
  for (const char* bytes :
       {"SSH-2.0-OpenSSH\r\n\r\n", "HTTP/1.1 abc\r\n\r\n",
        "HTTP/1.1 200 OK\r\nBad Field: x\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nx",
        "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 1\r\nConnection: Content-Length\r\n\r\nx",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: x, transfer-encoding\r\n\r\n"
        "0\r\n\r\n",
        "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: upgrade\r\n\r\n"}) {
    owner.serve = [&](const OwnerRequest&) { return OwnerAnswer{bytes, true}; };
    EXPECT_EQ(status_of(rig.exchange(post("x"))), 502u) << bytes;
  }
}

TEST_F(ThroughSoon, an_owner_that_never_answers_is_answered_for) {
  owner.serve = nothing;
  EXPECT_EQ(status_of(rig.exchange(get())), 504u);
  EXPECT_EQ(owner.requests.size(), 1u) << "it may be at it still";
}

TEST_F(ThroughSoon, a_slot_that_nobody_owns_is_waited_for_and_then_refused) {
  rig.directions.nobody_leads();
  const std::string answer = rig.exchange(get());
  EXPECT_EQ(status_of(answer), 503u);
  EXPECT_NE(answer.find("Retry-After: 1"), std::string::npos);
  EXPECT_NE(answer.find("Cache-Control: no-store"), std::string::npos);
  Caller caller = rig.call();
  caller.send(get("/late"));
  ASSERT_TRUE(rig.run_until([&] { return rig.directions.waits == 2; }));
  rig.directions.leads(owner.endpoint());
  ASSERT_TRUE(rig.answered(caller));
  EXPECT_EQ(body_of(caller.received()), "/late");
}

TEST_F(ThroughSoon, malformed_requests_are_refused_and_say_why) {
  const std::string head = "GET / HTTP/1.1\r\nHost: gw\r\n";
  EXPECT_EQ(status_of(rig.exchange(head + "\r\n")), 400u) << "no key";
  EXPECT_EQ(status_of(rig.exchange(get("/", "X-Key: 2\r\n"))), 400u) << "two keys";
  EXPECT_EQ(status_of(rig.exchange(get("/", "Host: b\r\n"))), 400u);
  EXPECT_EQ(status_of(rig.exchange(get("nowhere"))), 400u);
  EXPECT_EQ(status_of(rig.exchange("rubbish\r\n\r\n")), 400u);
  EXPECT_EQ(status_of(rig.exchange("GET / HTTP/2.0\r\nHost: gw\r\nX-Key: k\r\n\r\n")), 505u);
  EXPECT_EQ(status_of(rig.exchange("CONNECT a:1 HTTP/1.1\r\nHost: a:1\r\nX-Key: k\r\n\r\n")), 405u);
  EXPECT_EQ(status_of(rig.exchange(get("/", "X: " + std::string(3000, 'x') + "\r\n"))), 431u);
  EXPECT_EQ(status_of(rig.exchange("GET / HTTP/1.1\r\nHost: g")), 408u) << "it does not end";
  EXPECT_TRUE(owner.requests.empty());
}

TEST_F(ThroughSoon, a_request_that_was_smuggled_behind_another_reaches_nobody) {
  const std::string answer = rig.exchange(
      "POST / HTTP/1.1\r\nHost: gw\r\nX-Key: k\r\nContent-Length: 4\r\n"
      "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /admin HTTP/1.1\r\nHost: gw\r\n\r\n");
  EXPECT_EQ(status_of(answer), 400u);
  EXPECT_TRUE(owner.requests.empty());
}

// Found by an example: a gateway sends it again after a 421, and not after a 503.
TEST_F(Through, who_waits_while_this_process_leaves_is_told_that_it_has_left) {
  rig.directions.nobody_leads();
  Caller caller = rig.call();
  caller.send(post("x"));
  ASSERT_TRUE(rig.run_until([&] { return rig.directions.waits == 1; }));
  rig.directions.leave();
  ASSERT_TRUE(rig.answered(caller));
  EXPECT_EQ(status_of(caller.received()), 421u);
  EXPECT_NE(caller.received().find("Neliroute-Slot: "), std::string::npos);
  EXPECT_EQ(caller.received().find("Neliroute-Owner: "), std::string::npos) << "nobody is known";
}

TEST_F(Through, who_drains_finishes_what_is_under_way_and_takes_nothing_new) {
  owner.serve = nothing;
  Caller busy = rig.call();
  Caller idle = rig.call();
  busy.send(get("/slow"));
  ASSERT_TRUE(rig.run_until([&] { return owner.requests.size() == 1; }));
  bool drained = false;
  rig.gateway->drain(5s, [&] { drained = true; });
  ASSERT_TRUE(rig.run_until([&] { return idle.ended(); }));
  EXPECT_FALSE(busy.ended());
  EXPECT_FALSE(drained);
  owner.stop();  // the answer never comes; a GET is sent again, and nobody is there
  rig.directions.nobody_leads();
  EXPECT_FALSE(drained);
}

// Found with Envoy: a request that had just been sent got no answer, and might not be sent again.
TEST_F(Through, who_drains_still_answers_what_comes_on_an_open_connection) {
  Caller caller = rig.call();
  caller.send(get("/first"));
  ASSERT_TRUE(rig.answered(caller));
  EXPECT_EQ(caller.received().find("Connection: close"), std::string::npos);
  bool drained = false;
  rig.gateway->drain(5s, [&] { drained = true; });
  caller.forget();
  caller.send(get("/last"));
  ASSERT_TRUE(rig.answered(caller));
  EXPECT_EQ(body_of(caller.received()), "/last");
  EXPECT_NE(caller.received().find("Connection: close"), std::string::npos);
  EXPECT_TRUE(rig.run_until([&] { return caller.ended() && drained; }));
}

TEST_F(Through, an_answer_that_began_before_a_drain_is_the_last_one) {
  owner.serve = nothing;
  Caller caller = rig.call();
  caller.send(get("/slow"));
  ASSERT_TRUE(rig.run_until([&] { return owner.requests.size() == 1; }));
  bool drained = false;
  rig.gateway->drain(5s, [&] { drained = true; });
  rig.io.restart();
  rig.io.run_for(600ms);  // longer than requests are still taken
  EXPECT_FALSE(drained);
  owner.stop();
  rig.directions.leave();
  ASSERT_TRUE(rig.answered(caller));
  EXPECT_TRUE(rig.run_until([&] { return caller.ended() && drained; }));
}

TEST_F(Through, who_drains_ends_after_its_bound_whatever_is_under_way) {
  owner.serve = nothing;
  Caller busy = rig.call();
  busy.send(get("/slow"));
  ASSERT_TRUE(rig.run_until([&] { return owner.requests.size() == 1; }));
  bool drained = false;
  rig.gateway->drain(100ms, [&] { drained = true; });
  EXPECT_TRUE(rig.run_until([&] { return drained; }));
  EXPECT_TRUE(rig.run_until([&] { return busy.ended(); }));
}

}  // namespace
}  // namespace neliroute
