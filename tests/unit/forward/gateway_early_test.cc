// A gateway and owners that answer, or break off, before a request's body has ended.
#include <gtest/gtest.h>

#include <string>

#include "tests/unit/forward/gateway_rig.h"

namespace neliroute {
namespace {

using namespace testing_forward;
using forward::ProxyCount;

/// Of a request whose body is longer than what is kept.
std::string long_head(const std::string& method) {
  return method + " / HTTP/1.1\r\nHost: gw\r\nX-Key: k\r\nContent-Length: 200000\r\n\r\n";
}

struct Early : testing::Test {
  Early() { rig.directions.leads(owner.endpoint()); }
  [[nodiscard]] bool gone() {
    return rig.run_until([&] { return rig.gateway->connections() == 0; });
  }

  GatewayRig rig;
  Owner owner{rig.io, [](const OwnerRequest&) { return ok("enough"); }};
};

TEST_F(Early, answers_end_both_connections_as_the_rest_of_a_body_is_no_request) {
  owner.says_continue = false;
  owner.answers_early = true;
  Caller caller = rig.call();
  caller.send(long_head("POST") + get("/smuggled"));
  ASSERT_TRUE(rig.run_until([&] { return caller.ended(); }));
  EXPECT_EQ(body_of(caller.received()), "enough");
  EXPECT_EQ(owner.requests.size(), 1u);
  owner.answers_early = false;
  EXPECT_EQ(status_of(rig.exchange(get())), 200u);
  EXPECT_EQ(owner.connections, 2u) << "the first one waits for a body";
}

// Nobody else may read the client while its body is read: Beast asserts that in debug builds, and
// otherwise the second read had no bound.
TEST_F(Early, answers_while_a_body_is_read_end_the_connection_soon) {
  owner.answers_early = true;
  Caller caller = rig.call();
  caller.send(long_head("POST"));
  ASSERT_TRUE(rig.run_until([&] { return caller.ended(); }));
  EXPECT_EQ(body_of(caller.received()), "enough");
  caller.send("x");
  EXPECT_TRUE(gone()) << "it has not closed, and sends nothing more";
}

TEST_F(Early, breaks_while_a_body_is_read_end_it_soon_too) {
  Caller caller = rig.call();
  caller.send(long_head("POST") + std::string(70'000, 'x'));
  ASSERT_TRUE(rig.run_until([&] { return owner.bodies_size_so_far() == 70'000; }));
  owner.cut();
  ASSERT_TRUE(rig.answered(caller));
  EXPECT_EQ(status_of(caller.received()), 502u);
  caller.send("x");
  EXPECT_TRUE(gone());
}

TEST_F(Early, answers_reach_a_client_that_sends_on) {
  owner.answers_early = true;
  Caller caller = rig.call();
  caller.send(long_head("POST"));
  ASSERT_TRUE(rig.run_until([&] { return caller.ended(); }));
  caller.send(std::string(100'000, 'x'));
  ASSERT_TRUE(rig.run_until([&] { return !caller.unsent(); }));
  caller.close();
  EXPECT_TRUE(gone());
}

// The owner's final answer is still to come. The next request would be sent behind it, and its
// client would get the answer.
TEST_F(Early, hints_that_do_not_reach_the_client_end_the_owners_connection) {
  owner.serve = [](const OwnerRequest& request) {
    return request.target() == "/second" ? ok("second") : OwnerAnswer{};
  };
  Caller caller = rig.call();
  caller.send(get("/first") + std::string(64 * 1024, 'x'));  // so much that it is not watched
  ASSERT_TRUE(rig.run_until([&] { return owner.requests.size() == 1 && !caller.unsent(); }));
  while (rig.io.poll() > 0) {
  }
  caller.reset();
  owner.say("HTTP/1.1 103 Early Hints\r\n\r\n");
  ASSERT_TRUE(gone());
  EXPECT_EQ(body_of(rig.exchange(get("/second"))), "second");
  EXPECT_EQ(owner.connections, 2u);
}

// Its body waits for the owner's word, which never comes.
TEST_F(Early, hints_that_do_not_reach_the_client_end_its_body_too) {
  owner.says_continue = false;
  Caller caller = rig.call();
  caller.send(long_head("POST") + std::string(64 * 1024, 'x'));
  ASSERT_TRUE(rig.run_until([&] { return owner.connections == 1 && !caller.unsent(); }));
  while (rig.io.poll() > 0) {
  }
  caller.reset();
  owner.say("HTTP/1.1 103 Early Hints\r\n\r\n");
  EXPECT_TRUE(gone());
}

// The client is told to go on, if it is, before the answer, and not in the middle of it.
TEST_F(Early, answers_behind_hints_are_not_cut_by_what_waited_for_those) {
  owner.answers_early = true;
  owner.serve = [](const OwnerRequest&) {
    return OwnerAnswer{"HTTP/1.1 103 Early Hints\r\n\r\n"
                       "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhello"};
  };
  Caller caller = rig.call();
  caller.send("POST / HTTP/1.1\r\nHost: gw\r\nX-Key: k\r\nExpect: 100-continue\r\n"
              "Content-Length: 200000\r\n\r\n");
  ASSERT_TRUE(rig.run_until([&] { return caller.received().find("hello") != std::string::npos; }));
  owner.say("world");
  ASSERT_TRUE(rig.run_until([&] { return caller.ended(); }));
  EXPECT_EQ(body_of(caller.received().substr(caller.received().find("HTTP/1.1 200"))),
            "helloworld") << caller.received();
}

TEST_F(Early, refusals_of_a_body_that_was_passed_on_send_it_to_nobody_else) {
  Owner next{rig.io, [](const OwnerRequest&) { return ok("next"); }};
  owner.serve = [&](const OwnerRequest&) {
    rig.directions.leads(next.endpoint());
    return misdirected();
  };
  EXPECT_EQ(status_of(rig.exchange(post(std::string(200'000, 'x')))), 503u);
  EXPECT_EQ(next.connections, 0u);
  EXPECT_EQ(rig.count(ProxyCount::misdirected), 1u);
  EXPECT_EQ(rig.count(ProxyCount::unowned), 1u);
}

// What is left of it would look like all of it.
TEST_F(Early, breaks_in_a_body_that_is_passed_on_do_not_send_it_again) {
  owner.says_continue = false;
  Caller caller = rig.call();
  caller.send(long_head("PUT") + std::string(100'000, 'x'));
  ASSERT_TRUE(rig.run_until([&] { return owner.connections == 1 && !caller.unsent(); }));
  owner.cut();
  ASSERT_TRUE(rig.answered(caller));
  EXPECT_EQ(status_of(caller.received()), 502u) << caller.received();
  EXPECT_EQ(owner.connections, 1u);
  EXPECT_EQ(rig.count(ProxyCount::resent), 0u);
  caller.close();
  EXPECT_TRUE(gone());
}

}  // namespace
}  // namespace neliroute
