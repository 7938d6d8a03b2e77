// Barriers and the stages of closing, by themselves; closing_test.cc and drain_test.cc tell what
// follows from them.
#include <gtest/gtest.h>

#include "neli_core/leaving/barriers.h"
#include "neli_core/leaving/closing.h"
#include "tests/world/rig.h"

namespace neliroute {
namespace {

using namespace std::chrono_literals;
using rig::at_ms;
using rig::kP0;

constexpr Epoch kEpoch{7, 30};

Transition stopped(LocalTime lease_until) {
  return {TransitionKind::stopped, kP0, kEpoch, at_ms(100), StopReason::superseded, lease_until};
}

TEST(BarriersTest, one_is_told_when_its_lease_is_over_and_is_stuck_a_lease_later) {
  Barriers barriers(2, 1s);
  Ready ready;
  barriers.begin(stopped(at_ms(500)), at_ms(100), ready);
  ASSERT_EQ(ready.transitions.size(), 1u);
  EXPECT_EQ(barriers.advance(kP0, at_ms(499), ready), at_ms(500));
  EXPECT_EQ(ready.transitions.size(), 1u);
  EXPECT_EQ(barriers.advance(kP0, at_ms(500), ready), at_ms(1500));
  ASSERT_EQ(ready.transitions.size(), 2u);
  EXPECT_EQ(ready.transitions[1].kind, TransitionKind::barrier_overdue);
  EXPECT_EQ(barriers.advance(kP0, at_ms(501), ready), at_ms(1500));
  EXPECT_EQ(ready.transitions.size(), 2u) << "once";
  EXPECT_FALSE(barriers.is_stuck(kP0, at_ms(1499)));
  EXPECT_TRUE(barriers.is_stuck(kP0, at_ms(1500)));
  EXPECT_EQ(barriers.advance(kP0, at_ms(1500), ready), kNever);
  EXPECT_EQ(barriers.advance(Partition{1}, at_ms(1500), ready), kNever) << "none runs there";
}

TEST(BarriersTest, of_a_process_that_noticed_its_lapse_late_is_stuck_a_lease_after_that) {
  Barriers barriers(1, 1s);
  Ready ready;
  barriers.begin(stopped(at_ms(500)), at_ms(9000), ready);
  EXPECT_EQ(barriers.advance(kP0, at_ms(9000), ready), at_ms(10'000));
  EXPECT_EQ(ready.transitions.size(), 1u) << "it hears that the lease is over with the stop";
}

TEST(BarriersTest, an_epoch_is_released_when_its_own_barrier_ends) {
  Barriers barriers(1, 1s);
  Ready ready;
  barriers.begin(stopped(at_ms(500)), at_ms(100), ready);
  EXPECT_FALSE(barriers.put_off_release(kP0, Epoch{7, 31}));
  EXPECT_TRUE(barriers.put_off_release(kP0, kEpoch));
  EXPECT_EQ(barriers.end({kP0, Epoch{7, 31}}), std::nullopt);
  EXPECT_FALSE(barriers.none_runs());
  EXPECT_EQ(barriers.end({kP0, kEpoch}), true);
  EXPECT_EQ(barriers.end({kP0, kEpoch}), std::nullopt);
  EXPECT_TRUE(barriers.none_runs());
}

TEST(BarriersTest, two_of_one_partition_break_the_invariant) {
  Barriers barriers(1, 1s);
  Ready ready;
  barriers.begin(stopped(at_ms(500)), at_ms(100), ready);
  EXPECT_DEATH(barriers.begin(stopped(at_ms(500)), at_ms(100), ready), "older barrier still runs");
}

TEST(ClosingTest, each_stage_ends_when_nothing_is_awaited_or_at_its_bound) {
  const auto never = [] { return false; };
  const auto always = [] { return true; };
  ClosingState closing(1s);
  EXPECT_FALSE(closing.ends(ClosingStage::asked, at_ms(0), always)) << "not in this stage";
  closing.ask(at_ms(5000), at_ms(100));
  EXPECT_TRUE(closing.ends(ClosingStage::asked, at_ms(100), always));
  EXPECT_FALSE(closing.ends(ClosingStage::asked, at_ms(1099), never));
  EXPECT_TRUE(closing.ends(ClosingStage::asked, at_ms(1100), never)) << "claims have a lease";
  closing.ask(at_ms(900), at_ms(200));
  closing.ask(at_ms(4000), at_ms(300));
  EXPECT_EQ(closing.until(), at_ms(900)) << "the earliest bound stands";
  closing.drain();
  EXPECT_EQ(closing.until(), at_ms(900));
  closing.stop(at_ms(900));
  EXPECT_EQ(closing.until(), at_ms(1900));
  Ready ready;
  closing.close(ready);
  EXPECT_TRUE(ready.closed);
  EXPECT_EQ(closing.until(), kNever);
}

TEST(ClosingTest, a_process_that_leaves_gives_up_at_once_only_for_settings_that_differ) {
  ClosingState closing(1s);
  Ready ready;
  EXPECT_TRUE(closing.refuse({Errc::barrier_stuck, "stuck"}, ready));
  EXPECT_EQ(ready.refused->code(), Errc::barrier_stuck);
  EXPECT_EQ(closing.reason(), StopReason::closed);
  closing.ask(at_ms(5000), at_ms(100));
  EXPECT_FALSE(closing.refuse({Errc::barrier_stuck, "stuck"}, ready));
  EXPECT_EQ(ready.notices.size(), 1u);
  EXPECT_TRUE(closing.refuse({Errc::settings_conflict, "other"}, ready));
  EXPECT_EQ(closing.reason(), StopReason::conflict);
}

}  // namespace
}  // namespace neliroute
