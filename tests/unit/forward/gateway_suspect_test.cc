// A gateway and owners that cannot be connected to, or say that they are none: how often it tries,
// and how soon it uses one again that has come back.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <list>
#include <string>
#include <vector>

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

// While its log is silent: whom else a gateway asks, what such a process does, and what a redirect
// of an owner changes.
GatewayRigOptions options_with(milliseconds deadline) {
  GatewayRigOptions made;
  made.exchange.deadline = deadline;
  made.trusts = [](const auto&) { return true; };
  return made;
}

struct Detour : testing::Test {
  Detour() {
    rig.directions.leads(owner.endpoint());
    rig.directions.stale = true;
    owner.stop();
  }
  GatewayRig rig{options_with(30s)};
  Owner owner{rig.io, [](const OwnerRequest&) { return ok("owner"); }};
  Owner next{rig.io, [](const OwnerRequest&) { return ok("next"); }};
  Owner other{rig.io, [](const OwnerRequest& request) { return ok("other " + request.body()); }};
};

TEST_F(Detour, the_next_owner_is_asked_and_then_one_other) {
  rig.directions.others = {next.endpoint(), other.endpoint()};
  EXPECT_EQ(body_of(rig.exchange(get())), "next");
  next.serve = [](const OwnerRequest&) { return misdirected(); };
  EXPECT_EQ(body_of(rig.exchange(post("once"))), "other once");
  next.stop();
  EXPECT_EQ(body_of(rig.exchange(post("twice"))), "other twice");
  EXPECT_EQ(rig.count(ProxyCount::forwarded), 3u);
}

TEST_F(Detour, the_request_says_so_and_comes_under_the_stale_epoch) {
  rig.directions.others = {other.endpoint()};
  EXPECT_EQ(body_of(rig.exchange(get())), "other ");
  EXPECT_EQ(other.requests.at(0)["Neliroute-Epoch"], "1:1");
  EXPECT_EQ(other.requests.at(0)["Neliroute-Hops"], "1");
  EXPECT_EQ(other.requests.at(0)["Neliroute-Detour"], "1");
  owner.start();
  rig.directions.others.clear();
  EXPECT_EQ(body_of(rig.exchange(get())), "owner");
  EXPECT_EQ(owner.requests.at(0)["Neliroute-Detour"], "") << "that is none";
  EXPECT_EQ(rig.directions.reports, std::vector{owner.endpoint()}) << "it was reached after all";
}

TEST_F(Detour, each_is_asked_once_and_then_the_request_waits) {
  rig.directions.others = {next.endpoint(), other.endpoint()};
  next.serve = other.serve = [](const OwnerRequest&) { return misdirected(); };
  Caller caller = rig.call();
  caller.send(get());
  ASSERT_TRUE(rig.run_until([&] { return rig.directions.waits > 3; }));
  EXPECT_EQ(next.requests.size(), 1u);
  EXPECT_EQ(other.requests.size(), 1u);
  rig.directions.stale = false;
  Owner successor{rig.io, [](const OwnerRequest&) { return ok("successor"); }};
  rig.directions.leads(successor.endpoint());
  ASSERT_TRUE(rig.answered(caller));
  EXPECT_EQ(body_of(caller.received()), "successor");
}

TEST_F(Detour, where_nobody_could_help_one_request_asks_now_and_then) {
  rig.directions.others = {other.endpoint()};
  other.serve = [](const OwnerRequest&) { return misdirected(); };
  Caller first = rig.call();
  first.send(get());
  ASSERT_TRUE(rig.run_until([&] { return rig.directions.waits > 0; }));
  const auto began = Clock::now();
  std::list<Caller> callers;
  for (int i = 0; i < 100; ++i) {
    callers.emplace_back(rig.io, rig.gateway->endpoint());
    callers.back().send(get());
  }
  ASSERT_TRUE(rig.run_until([&] { return other.requests.size() > 2; }));
  const auto probes = static_cast<std::size_t>((Clock::now() - began) / Caution::kProbe);
  EXPECT_LE(other.requests.size(), 1 + probes + 1);
  other.serve = [](const OwnerRequest&) { return ok("other"); };
  const auto answered = [](const Caller& caller) { return has_answers(caller)(); };
  EXPECT_TRUE(rig.run_until([&] {
    return std::count_if(callers.begin(), callers.end(), answered) >= 90;
  })) << "those that have not asked in vain";
}

TEST_F(Detour, is_for_stale_routes_and_bodies_that_are_kept_alone) {
  rig.directions.others = {other.endpoint()};
  Caller caller = rig.call();
  caller.send(post(std::string(100'000, 'x')));
  ASSERT_TRUE(rig.run_until([&] { return rig.directions.waits > 1; }));
  rig.directions.stale = false;
  Caller fresh = rig.call();
  fresh.send(get());
  ASSERT_TRUE(rig.run_until([&] { return rig.directions.waits > 4; }));
  EXPECT_TRUE(other.requests.empty());
}

TEST(Detours, at_the_deadline_the_client_is_told_that_the_log_is_silent) {
  GatewayRig rig(options_with(300ms));
  Owner owner{rig.io, [](const OwnerRequest&) { return ok(""); }};
  rig.directions.leads(owner.endpoint());
  rig.directions.stale = true;
  owner.stop();
  const std::string answer = rig.exchange(get());
  EXPECT_EQ(status_of(answer), 503u);
  EXPECT_EQ(body_of(answer), "the log is silent, and this key's last owner cannot be reached: it "
                             "refuses connections; try again\n");
  EXPECT_EQ(rig.count(ProxyCount::unreached), 1u);
}

/// The same from the other side: `more` says that it is one.
struct Detoured : Detour {
  const std::string more = "Neliroute-Detour: 1\r\nNeliroute-Epoch: 1:1\r\nNeliroute-Hops: 1\r\n";
};

TEST_F(Detoured, who_reaches_the_owner_sends_the_request_there) {
  owner.start();
  EXPECT_EQ(body_of(rig.exchange(get("/", more))), "owner");
  EXPECT_EQ(owner.requests.at(0)["Neliroute-Epoch"], "1:1");
  EXPECT_EQ(owner.requests.at(0)["Neliroute-Hops"], "2");
  EXPECT_EQ(owner.requests.at(0)["Neliroute-Detour"], "");
}

TEST_F(Detoured, who_does_not_says_so_at_once_and_asks_nobody_else) {
  rig.directions.others = {other.endpoint()};
  const std::string answer = rig.exchange(get("/", more));
  EXPECT_EQ(status_of(answer), 421u) << answer;
  EXPECT_NE(answer.find("Neliroute-Slot: "), std::string::npos);
  rig.directions.nobody_leads();
  EXPECT_EQ(status_of(rig.exchange(get("/", more))), 421u);
  EXPECT_TRUE(other.requests.empty());
  EXPECT_EQ(rig.directions.waits, 0u);
  EXPECT_EQ(rig.count(ProxyCount::refused), 2u);
}

struct Redirected : Detour {
  Redirected() {
    owner.start();
    owner.serve = [this](const OwnerRequest&) -> OwnerAnswer {
      return {"HTTP/1.1 421 Misdirected Request\r\nNeliroute-Slot: 0\r\nNeliroute-Owner: " +
              next.endpoint() + "\r\nNeliroute-Epoch: " + epoch +
              "\r\nContent-Length: 0\r\n\r\n"};
    };
  }
  std::string epoch = "9:9";
};

TEST_F(Redirected, a_greater_epoch_moves_a_stale_route) {
  EXPECT_EQ(body_of(rig.exchange(get())), "next");
  EXPECT_EQ(rig.directions.redirects, std::vector{next.endpoint() + " under 9:9"});
  EXPECT_EQ(body_of(rig.exchange(get())), "next");
  EXPECT_EQ(owner.requests.size(), 1u);
}

TEST_F(Redirected, any_other_moves_nothing) {
  epoch = "1:1";
  EXPECT_EQ(status_of(rig.exchange(get())), 503u) << "it is the owner's own";
  rig.directions.stale = false;
  epoch = "9:9";
  EXPECT_EQ(status_of(rig.exchange(get())), 503u) << "the log tells who leads";
  EXPECT_TRUE(rig.directions.redirects.empty());
  EXPECT_TRUE(next.requests.empty());
}

}  // namespace
}  // namespace neliroute
