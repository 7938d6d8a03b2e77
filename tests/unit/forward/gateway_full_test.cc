// A gateway that has as many connections as it may: whom it closes, and whom it turns away.
#include <gtest/gtest.h>

#include <chrono>
#include <iterator>
#include <list>
#include <string>

#include "tests/unit/forward/gateway_rig.h"

namespace neliroute {
namespace {

using namespace testing_forward;
using namespace std::chrono_literals;

struct FullGateway : testing::Test {
  static constexpr std::size_t kMost = 3;
  static GatewayRigOptions few() {
    GatewayRigOptions options;
    options.front.connections = kMost;
    options.exchange.deadline = 100s;  // longer than a test waits
    return options;
  }
  FullGateway() { rig.directions.leads(owner.endpoint()); }

  /// A connection on which a request was answered.
  Caller& answered() {
    callers.emplace_back(rig.io, rig.gateway->endpoint());
    ask(callers.back());
    return callers.back();
  }
  void ask(Caller& caller) {
    caller.forget();
    caller.send(get());
    ASSERT_TRUE(rig.answered(caller));
    ASSERT_EQ(status_of(caller.received()), 200u) << caller.received();
  }
  /// One whose request has come to the owner, and is not answered.
  Caller& busy() {
    const std::size_t before = owner.requests.size();
    callers.emplace_back(rig.io, rig.gateway->endpoint());
    callers.back().send(get("/busy"));
    EXPECT_TRUE(rig.run_until([&] { return owner.requests.size() > before; }));
    return callers.back();
  }

  GatewayRig rig{few()};
  Owner owner{rig.io, [](const OwnerRequest& request) {
                return request.target() == "/busy" ? OwnerAnswer{} : ok("served");
              }};
  std::list<Caller> callers;
};

TEST_F(FullGateway, closes_the_connection_that_has_been_idle_for_longest) {
  Caller& a = answered();
  Caller& b = answered();
  Caller& c = answered();
  ask(a);  // b has been idle for longest now
  ASSERT_EQ(rig.gateway->connections(), kMost);
  Caller& d = answered();
  ASSERT_TRUE(rig.run_until([&] { return b.ended(); }));
  for (Caller* other : {&a, &c, &d}) {
    EXPECT_FALSE(other->ended());
    ask(*other);
  }
  EXPECT_EQ(rig.gateway->connections(), kMost);
}

TEST_F(FullGateway, closes_one_that_never_asked_for_anything) {
  callers.emplace_back(rig.io, rig.gateway->endpoint());
  Caller& silent = callers.back();
  ASSERT_TRUE(rig.run_until([&] { return rig.gateway->connections() == 1; }));
  Caller& b = answered();
  busy();
  answered();
  ASSERT_TRUE(rig.run_until([&] { return silent.ended(); }));
  EXPECT_FALSE(b.ended());
}

TEST_F(FullGateway, turns_a_client_away_only_if_none_is_idle) {
  for (std::size_t i = 0; i < kMost; ++i) busy();
  const std::string refused = rig.exchange(get());
  EXPECT_EQ(status_of(refused), 503u);
  EXPECT_NE(refused.find("Retry-After: 1"), std::string::npos);
  for (const Caller& caller : callers) EXPECT_FALSE(caller.ended());
  callers.front().close();
  ASSERT_TRUE(rig.run_until([&] { return rig.gateway->connections() < kMost; }));
  EXPECT_EQ(status_of(rig.exchange(get())), 200u);
}

// Or 3 clients that send a byte now and then would keep all others out.
TEST_F(FullGateway, closes_first_whoever_has_taken_longest_over_a_header) {
  Caller& idle = answered();
  for (std::size_t i = 1; i < kMost; ++i) {
    callers.emplace_back(rig.io, rig.gateway->endpoint());
    callers.back().send("GET / HTTP/1.1\r\nHost: gw\r\n");
    ASSERT_TRUE(rig.run_until([&] { return rig.gateway->connections() == i + 1; }));
  }
  ASSERT_TRUE(rig.has_read(callers));
  Caller& second = *std::next(callers.begin());
  Caller& third = callers.back();
  EXPECT_EQ(status_of(rig.exchange(get())), 200u);
  ASSERT_TRUE(rig.run_until([&] { return second.ended(); }));
  EXPECT_FALSE(idle.ended());
  third.send("X-Key: k\r\n\r\n");
  ASSERT_TRUE(rig.answered(third));
  EXPECT_EQ(status_of(third.received()), 200u);
}

}  // namespace
}  // namespace neliroute
