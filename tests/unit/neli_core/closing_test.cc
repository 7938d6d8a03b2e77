// Rule 8 of docs/protocol.md: leaving in an orderly way, and at once.
#include <gtest/gtest.h>

#include "tests/world/rig.h"
#include "tests/world/memory_log.h"

namespace neliroute {
namespace {

using rig::kLog;
using rig::kP0;
using rig::claim_of;
using rig::renewal_of;
using rig::Rig;
using rig::RigOptions;
using namespace std::chrono_literals;

TEST(Rule8, leaves_the_group_at_once_and_drains_until_successors_lead) {
  Rig rig;
  auto& a = rig.start(1, "a");
  auto& b = rig.start(2, "b");
  rig.assign(a, "0-1");
  rig.run_for(500ms);
  rig.step(a, CloseRequested{rig.now() + 5s});
  EXPECT_TRUE(a.left_group);
  EXPECT_EQ(a.core.role_state(kP0), RoleState::draining);
  EXPECT_FALSE(a.closed);
  rig.assign(b, "0");
  EXPECT_FALSE(a.closed) << "partition 1 is still led";
  rig.assign(b, "1");
  EXPECT_TRUE(a.closed);
  EXPECT_EQ(rig.leaders(0), 1u);
  EXPECT_EQ(rig.leaders(1), 1u);
}

TEST(Rule8, stops_when_the_bound_is_over_then_barrier_then_release) {
  Rig rig;
  auto& a = rig.start(1, "a");
  a.keep_barriers = true;
  rig.assign(a, "0");
  rig.run_for(500ms);
  const Epoch epoch = *a.core.epoch(kP0);
  const LocalTime bound = rig.now() + 700ms;
  rig.step(a, CloseRequested{bound});
  rig.run_to(bound - 1us);
  EXPECT_TRUE(a.leads(0, rig.now()));
  rig.run_to(bound);
  EXPECT_FALSE(a.leads(0, rig.now()));
  EXPECT_EQ(a.last(TransitionKind::stopped, 0)->reason, StopReason::closed);
  EXPECT_EQ(a.records(RecordType::release).size(), 0u);
  EXPECT_FALSE(a.closed);
  rig.step(a, BarrierDone{kP0, epoch});
  EXPECT_EQ(a.records(RecordType::release).size(), 1u);
  EXPECT_TRUE(a.closed);
}

TEST(Rule8, a_bound_in_the_past_stops_now_and_a_second_request_may_shorten_the_first) {
  for (const bool first_politely : {false, true}) {
    Rig rig;
    auto& a = rig.start(1, "a");
    rig.assign(a, "0");
    if (first_politely) rig.step(a, CloseRequested{kNever});
    EXPECT_FALSE(a.closed);
    rig.step(a, CloseRequested{rig.now() - 1s});
    EXPECT_FALSE(a.leads(0, rig.now()));
    EXPECT_TRUE(a.closed);
  }
}

TEST(Rule8, a_later_request_does_not_lengthen_the_first) {
  Rig rig;
  auto& a = rig.start(1, "a");
  rig.assign(a, "0");
  rig.step(a, CloseRequested{rig.now() + 300ms});
  rig.step(a, CloseRequested{rig.now() + 10s});
  rig.run_for(300ms);
  EXPECT_TRUE(a.closed);
}

TEST(Rule8, a_claim_under_way_is_awaited_and_released_in_both_modes) {
  for (const Mode mode : {Mode::exclusive, Mode::non_exclusive}) {
    RigOptions options;
    options.mode = mode;
    Rig rig(options);
    auto& a = rig.start(1, "a");
    rig.run_for(2s);
    a.hold = true;
    rig.assign(a, "0");
    rig.step(a, CloseRequested{rig.now() + 10s});
    EXPECT_FALSE(a.left_group) << "whose claim stands in the log stays for it";
    rig.run_for(200ms);
    a.hold = false;
    rig.settle();
    EXPECT_EQ(a.count(TransitionKind::acquired), 0u);
    ASSERT_EQ(a.records(RecordType::release).size(), 1u);
    EXPECT_EQ(a.records(RecordType::release)[0].epochs[0].claim_offset, 0);
    EXPECT_TRUE(a.left_group);
    EXPECT_TRUE(a.closed);
  }
}

TEST(Rule8, a_claim_that_fails_while_another_is_awaited_is_not_written_again) {
  Rig rig;
  auto& a = rig.start(1, "a");
  a.hold = true;
  rig.assign(a, "0");
  a.drop_writes = true;
  rig.assign(a, "1");
  rig.step(a, CloseRequested{rig.now() + 10s});
  rig.step(a, WriteFailed{a.unanswered[0]});
  rig.run_for(500ms);
  EXPECT_EQ(a.records(RecordType::claim).size(), 2u);
}

TEST(Rule8, a_claim_under_way_is_awaited_at_most_T) {
  Rig rig;
  auto& a = rig.start(1, "a");
  a.drop_writes = true;
  rig.assign(a, "0");
  const LocalTime asked = rig.now();
  rig.step(a, CloseRequested{asked + 10s});
  rig.run_to(asked + 1s - 1us);
  EXPECT_FALSE(a.left_group);
  rig.run_to(asked + 1s);
  EXPECT_TRUE(a.left_group);
  EXPECT_TRUE(a.closed);
}

TEST(Rule8, nothing_is_claimed_while_closing) {
  Rig rig;
  auto& a = rig.start(1, "a");
  rig.assign(a, "0");
  rig.step(a, CloseRequested{rig.now() + 3s});
  rig.assign(a, "1");
  rig.append(kLog, claim_of(9, "0"));
  rig.run_for(2s);
  EXPECT_EQ(a.records(RecordType::claim).size(), 1u);
}

TEST(Rule8, a_stuck_barrier_or_a_silent_ledger_delays_the_end_by_T_at_most) {
  for (const bool barrier : {false, true}) {
    Rig rig;
    auto& a = rig.start(1, "a");
    rig.assign(a, "0");
    rig.run_for(300ms);
    a.keep_barriers = barrier;
    a.drop_writes = true;
    const LocalTime asked = rig.now();
    rig.step(a, CloseRequested{asked});
    rig.run_to(asked + 1s - 1us);
    EXPECT_FALSE(a.closed);
    rig.run_to(asked + 1s);
    EXPECT_TRUE(a.closed);
  }
}

TEST(Rule8, releases_are_awaited_until_it_says_and_for_half_a_second_at_least) {
  for (const milliseconds allowed : {0ms, 500ms, 800ms}) {
    Rig rig;
    auto& a = rig.start(1, "a");
    rig.assign(a, "0");
    rig.run_for(300ms);
    a.drop_writes = true;
    const LocalTime asked = rig.now();
    rig.step(a, CloseRequested{asked, asked + allowed});
    const LocalTime over = asked + std::max(allowed, 500ms);
    rig.run_to(over - 1us);
    EXPECT_FALSE(a.closed);
    rig.run_to(over);
    EXPECT_TRUE(a.closed);
  }
}

TEST(Rule8, a_barrier_is_awaited_for_longer_than_the_releases) {
  Rig rig;
  auto& a = rig.start(1, "a");
  rig.assign(a, "0");
  rig.run_for(300ms);
  a.keep_barriers = true;
  const Epoch epoch = *a.core.epoch(kP0);
  rig.step(a, CloseRequested{rig.now(), rig.now()});
  rig.run_for(900ms);
  EXPECT_FALSE(a.closed);
  a.drop_writes = true;
  rig.step(a, BarrierDone{kP0, epoch});
  EXPECT_EQ(a.records(RecordType::release).size(), 1u) << "written, and not awaited";
  EXPECT_TRUE(a.closed);
}

TEST(Rule8, a_release_that_failed_is_written_again_twice_and_no_more) {
  Rig rig;
  auto& a = rig.start(1, "a");
  rig.assign(a, "0");
  a.fail_writes = true;
  a.written.clear();
  rig.step(a, CloseRequested{rig.now()});
  EXPECT_EQ(a.records(RecordType::release).size(), 3u);
  EXPECT_EQ(a.count(TransitionKind::released), 0u);
  EXPECT_TRUE(a.closed);
}

TEST(Rule8, who_never_subscribed_has_no_group_to_leave) {
  Rig rig;
  ClaimProtocol core = std::move(*ClaimProtocol::make(rig.core_options(1, "a")));
  core.step(CloseRequested{rig.now() + 5s}, rig.now());
  const Ready ready = core.take_ready();
  EXPECT_TRUE(ready.closed);
  EXPECT_FALSE(ready.leave_group);
  core.step(tail_at(kLog, 0, 0), rig.now() + 1s);
  EXPECT_FALSE(core.take_ready().subscribe) << "and joins none any more";
}

TEST(Rule8, a_closed_process_answers_events_and_asks_for_nothing) {
  Rig rig;
  auto& a = rig.start(1, "a");
  rig.assign(a, "0");
  rig.step(a, CloseRequested{rig.now()});
  ASSERT_TRUE(a.core.closed());
  a.written.clear();
  rig.assign(a, "1");
  rig.append(kLog, claim_of(9, "0-3"));
  rig.run_for(3s);
  EXPECT_TRUE(a.written.empty());
}

}  // namespace
}  // namespace neliroute
