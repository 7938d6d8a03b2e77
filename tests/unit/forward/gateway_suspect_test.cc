// A gateway and owners that cannot be connected to, or say that they are none: how often it tries,
// and how soon it uses one again that has come back.
#include <gtest/gtest.h>

#include <chrono>
#include <list>
#include <string>

#include "tests/unit/forward/gateway_rig.h"

namespace neliroute {
namespace {

using namespace testing_forward;
using namespace std::chrono_literals;
using forward::Caution;
using forward::ProxyCount;
using Clock = std::chrono::steady_clock;

struct Suspected : testing::Test {
  Suspected() {
    rig.directions.leads(owner.endpoint());
    owner.stop();
    first.send(get("/first"));
    EXPECT_TRUE(rig.run_until([&] { return tried() > 0; }));
  }
  /// Connections that failed.
  [[nodiscard]] std::uint64_t tried() const { return rig.count(ProxyCount::unreachable); }
  void call(const std::string& request) {
    callers.emplace_back(rig.io, rig.gateway->endpoint());
    callers.back().send(request);
  }
  void run_for(milliseconds time) {
    const auto until = Clock::now() + time;
    EXPECT_TRUE(rig.run_until([&] { return Clock::now() >= until; }));
  }

  GatewayRig rig;
  Owner owner{rig.io,
              [](const OwnerRequest& request) { return ok(std::string(request.target())); }};
  Caller first = rig.call();
  std::list<Caller> callers;
};

TEST_F(Suspected, a_dead_owner_is_tried_now_and_then_however_many_ask_for_it) {
  const auto began = Clock::now();
  for (int i = 0; i < 100; ++i) call(i % 2 == 0 ? get() : post("x"));
  run_for(500ms);
  const auto probes = static_cast<std::uint64_t>((Clock::now() - began) / Caution::kProbe);
  EXPECT_GE(tried(), 2u) << "it may have come back";
  EXPECT_LE(tried(), 1 + probes + 1);
  EXPECT_EQ(rig.directions.suspects.size(), tried()) << "each is reported";
  EXPECT_GE(rig.directions.waits, 101u) << "the others wait for a new owner";
  Owner next{rig.io, [](const OwnerRequest&) { return ok("next"); }};
  rig.directions.leads(next.endpoint());
  for (const Caller& caller : callers) {
    ASSERT_TRUE(rig.answered(caller));
    EXPECT_EQ(body_of(caller.received()), "next");
  }
}

TEST_F(Suspected, an_owner_that_can_be_reached_after_all_is_used_again_soon) {
  for (int i = 0; i < 20; ++i) call(post("x"));
  run_for(50ms);
  owner.start();
  const auto began = Clock::now();
  call(get("/next"));
  ASSERT_TRUE(rig.answered(callers.back()));
  EXPECT_EQ(body_of(callers.back().received()), "/next");
  EXPECT_LT(Clock::now() - began, 5s) << "half of its deadline";
  for (const Caller& caller : callers) ASSERT_TRUE(rig.answered(caller));
  ASSERT_TRUE(rig.answered(first));
  // It is suspected still, as the router has read nothing of it.
  const std::size_t waits = rig.directions.waits;
  for (int i = 0; i < 10; ++i) EXPECT_EQ(body_of(rig.exchange(get("/on"))), "/on");
  EXPECT_EQ(rig.directions.waits, waits) << "nobody waits any more";
}

TEST_F(Suspected, an_owner_that_has_written_since_is_tried_at_once) {
  run_for(Caution::kMarked);
  owner.start();
  rig.directions.writes();
  const std::size_t waits = rig.directions.waits;
  EXPECT_EQ(body_of(rig.exchange(get("/now"))), "/now");
  EXPECT_LE(rig.directions.waits, waits + 1) << "the first one may wait once more";
}

TEST_F(Suspected, connections_that_are_kept_are_used_all_the_same) {
  Owner alive{rig.io, [](const OwnerRequest&) { return ok("alive"); }};
  rig.directions.leads(alive.endpoint());
  ASSERT_TRUE(rig.answered(first));
  rig.directions.suspect(alive.endpoint());
  const std::size_t waits = rig.directions.waits;
  EXPECT_EQ(body_of(rig.exchange(get())), "alive");
  EXPECT_EQ(rig.directions.waits, waits);
  EXPECT_EQ(alive.connections, 1u);
}

// It is the owner for as long as this process leads.
TEST_F(Suspected, the_own_application_is_under_no_suspicion) {
  rig.directions.own = true;
  Owner application{rig.io, [](const OwnerRequest&) { return ok("own"); }};
  rig.directions.leads(application.endpoint());
  ASSERT_TRUE(rig.answered(first));
  EXPECT_EQ(body_of(first.received()), "own");
  EXPECT_EQ(rig.directions.suspects.size(), tried());
}

struct Misdirected : testing::Test {
  Misdirected() { rig.directions.leads(owner.endpoint()); }
  GatewayRig rig;
  Owner owner{rig.io, [](const OwnerRequest&) { return misdirected(); }};
};

TEST_F(Misdirected, who_says_that_it_is_not_the_owner_is_followed_by_the_next) {
  Owner next{rig.io, [](const OwnerRequest& request) { return ok("next " + request.body()); }};
  owner.serve = [&](const OwnerRequest&) {
    rig.directions.leads(next.endpoint());
    return misdirected();
  };
  const std::string answer = rig.exchange(post("once"));
  EXPECT_EQ(body_of(answer), "next once") << answer;
  EXPECT_EQ(rig.count(ProxyCount::misdirected), 1u);
  EXPECT_EQ(next.requests.at(0)["Neliroute-Epoch"], "1:2");
}

TEST_F(Misdirected, who_leads_again_under_the_same_epoch_is_tried_again) {
  int asked = 0;
  owner.serve = [&](const OwnerRequest&) { return ++asked < 3 ? misdirected() : ok("now"); };
  EXPECT_EQ(body_of(rig.exchange(get())), "now");
}

TEST_F(Misdirected, an_owner_that_never_serves_is_asked_a_few_times_only) {
  const std::string answer = rig.exchange(get());
  EXPECT_EQ(status_of(answer), 503u) << answer;
  EXPECT_EQ(owner.requests.size(), 4u);
  EXPECT_EQ(rig.count(ProxyCount::unowned), 1u);
}

TEST_F(Misdirected, who_asks_where_the_own_application_never_serves_is_sent_to_another_process) {
  rig.directions.own = true;
  Caller caller = rig.call();
  caller.send(get());
  ASSERT_TRUE(rig.answered(caller));
  EXPECT_EQ(status_of(caller.received()), 421u) << caller.received();
  EXPECT_NE(caller.received().find("Neliroute-Slot: "), std::string::npos);
  EXPECT_TRUE(rig.run_until([&] { return caller.ended(); })) << "it asks on another connection";
  EXPECT_EQ(owner.requests.size(), 4u);
  EXPECT_EQ(rig.count(ProxyCount::refused), 1u);
  EXPECT_EQ(rig.count(ProxyCount::unowned), 0u);
}

TEST_F(Misdirected, a_421_of_somebody_else_is_passed_on) {
  owner.serve = [](const OwnerRequest&) -> OwnerAnswer {
    return {"HTTP/1.1 421 Misdirected Request\r\nContent-Length: 0\r\n\r\n"};
  };
  EXPECT_EQ(status_of(rig.exchange(get())), 421u);
  EXPECT_EQ(owner.requests.size(), 1u);
}

}  // namespace
}  // namespace neliroute
