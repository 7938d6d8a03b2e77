// When the holder of the seat plans: not at every record, and not before it knows who owns what.
#include "neli_core/assigner/planning/assigner.h"

#include <gtest/gtest.h>

#include "tests/unit/neli_core/assigner/assigner_rig.h"

namespace neliroute {
namespace {

using namespace std::chrono_literals;
using told::AssignerRig;
using told::kInterval;
using told::kLease;
using told::kSession;
using told::settled;

// A plan looks at every partition. Where much moves, each record changes what is planned from.
TEST(Assigner, plans_at_most_eight_times_an_interval) {
  AssignerRig rig = settled(2, 8);
  rig.draining = {2};
  rig.idle = {{2, 0}};
  std::size_t planned = 0;
  LocalTime last = rig.now;
  const LocalTime begun = rig.now;
  rig.lose = true;
  for (int i = 0; i < 1000; ++i) {
    rig.now += microseconds{100};
    Record record = told::renewal(3 + static_cast<std::uint64_t>(i));
    rig.members.read(record, told::seen(rig.now));  // a new member with every record
    const std::size_t before = rig.decisions.size();
    rig.decide();
    rig.assigner.settled();
    if (rig.decisions.size() == before) continue;
    ++planned;
    EXPECT_TRUE(planned == 1 || rig.now - last >= kInterval / 8);
    last = rig.now;
  }
  EXPECT_GE(planned, 7u);
  EXPECT_LE(planned, 9u);  // at once, and then eight times
  EXPECT_LE(last, begun + kInterval);
}

// The first change after a quiet time is planned for at once.
TEST(Assigner, plans_at_once_after_a_quiet_time) {
  AssignerRig rig = settled(3, 9);
  rig.members.leave(ProcessId{3}, told::seen(rig.now));
  rig.decide();
  ASSERT_EQ(rig.decisions.size(), 1u);
  EXPECT_EQ(rig.decisions[0].at, rig.now);
}

TEST(Assigner, hears_who_owns_what_before_it_plans_for_a_log_that_is_read_anew) {
  AssignerRig rig = settled(3, 9);
  rig.owners.forget({Log{0}, 1, 9});
  rig.assigner.read_anew(Log{0}, rig.now);
  const LocalTime started = rig.now;
  rig.members.leave(ProcessId{3}, told::seen(rig.now));
  rig.run_for(1000ms);
  ASSERT_FALSE(rig.decisions.empty());
  EXPECT_GE(rig.decisions[0].at, started + 2 * kInterval);
  EXPECT_LE(rig.decisions[0].at, started + 3 * kInterval);
}

// Others' intervals may be up to a third of their sessions.
TEST(Assigner, waits_for_owners_that_renew_more_rarely_than_itself) {
  AssignerRig rig = settled(3, 9);
  rig.fields(2).session = 900ms;
  rig.run_for(kInterval);
  rig.assigner.read_anew(Log{0}, rig.now);
  const LocalTime started = rig.now;
  rig.members.leave(ProcessId{3}, told::seen(rig.now));
  rig.run_for(3000ms);
  ASSERT_FALSE(rig.decisions.empty());
  EXPECT_GE(rig.decisions[0].at, started + 300ms);
}

// A tail that starts again and again does not hold it up for ever.
TEST(Assigner, is_not_held_up_by_a_tail_that_starts_again_and_again) {
  AssignerRig rig = settled(3, 9);
  rig.members.leave(ProcessId{3}, told::seen(rig.now));
  const LocalTime left = rig.now;
  for (int i = 0; i < 20 && rig.decisions.empty(); ++i) {
    rig.assigner.read_anew(Log{0}, rig.now);
    rig.run_for(kInterval);
  }
  ASSERT_FALSE(rig.decisions.empty());
  EXPECT_LE(rig.decisions[0].at, left + 9 * kInterval);
}

// A7: a later one is waited out like the first one.
TEST(Assigner, waits_for_the_owners_again_when_a_tail_starts_anew_some_time_later) {
  AssignerRig rig = settled(3, 9);
  rig.assigner.read_anew(Log{0}, rig.now);
  rig.run_for(10 * kInterval);
  rig.assigner.read_anew(Log{0}, rig.now);
  const LocalTime started = rig.now;
  rig.members.leave(ProcessId{3}, told::seen(rig.now));
  rig.run_for(1000ms);
  ASSERT_FALSE(rig.decisions.empty());
  EXPECT_GE(rig.decisions[0].at, started + 2 * kInterval);
}

// A7, mutation waits_for_the_longest: one member with a long session delayed all plans by a third.
TEST(Assigner, waits_for_owners_no_longer_than_its_own_session) {
  AssignerRig rig = settled(3, 9);
  rig.fields(2).session = 600'000ms;
  rig.run_for(kInterval);
  rig.assigner.read_anew(Log{0}, rig.now);
  const LocalTime started = rig.now;
  rig.members.leave(ProcessId{3}, told::seen(rig.now));
  rig.decide();
  ASSERT_TRUE(rig.assigner.waiting());
  EXPECT_EQ(rig.assigner.waiting()->reason, WaitReason::owners);
  EXPECT_EQ(rig.assigner.waiting()->until, started + kSession);
  rig.run_for(1000ms);
  EXPECT_FALSE(rig.assigner.waiting());
  ASSERT_FALSE(rig.decisions.empty());
  EXPECT_GE(rig.decisions[0].at, started + kSession);
}

// One log that stands still again and again, and one member with a long session: each return is
// waited for, but all of them for no longer than a session.
TEST(Assigner, plans_though_a_log_returns_again_and_again) {
  AssignerRig rig = settled(3, 9);
  rig.fields(2).session = 600'000ms;
  rig.run_for(kInterval);
  rig.kill(3);
  for (int i = 0; i < 8; ++i) {
    rig.assigner.read_anew(Log{0}, rig.now);
    rig.run_for(kSession - 50ms);
  }
  EXPECT_EQ(rig.named_count(3), 0u);
}

}  // namespace
}  // namespace neliroute
