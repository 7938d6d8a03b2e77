// When the holder of the seat plans: not at every record, and not before it knows who owns what.
#include "neli_core/assigner/assigner.h"

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
    rig.members.note_read(rig.now);
    rig.members.read_back(rig.now);
    rig.members.read(record, false, rig.now);  // a new member with every record
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
  rig.members.leave(ProcessId{3}, rig.now);
  rig.decide();
  ASSERT_EQ(rig.decisions.size(), 1u);
  EXPECT_EQ(rig.decisions[0].at, rig.now);
}

TEST(Assigner, hears_who_owns_what_before_it_plans_for_a_log_that_is_read_anew) {
  AssignerRig rig = settled(3, 9);
  rig.owners.forget({Log{0}, 1, 9});
  rig.assigner.read_anew(Log{0}, rig.now);
  const LocalTime started = rig.now;
  rig.members.leave(ProcessId{3}, rig.now);
  rig.run_for(1000ms);
  ASSERT_FALSE(rig.decisions.empty());
  EXPECT_GE(rig.decisions[0].at, started + 2 * kInterval);
  EXPECT_LE(rig.decisions[0].at, started + 3 * kInterval);
}

// Others' intervals may be up to a third of their sessions.
TEST(Assigner, waits_for_owners_that_renew_more_rarely_than_itself) {
  AssignerRig rig = settled(3, 9);
  rig.fields(2).session = 3000ms;
  rig.run_for(kInterval);
  rig.assigner.read_anew(Log{0}, rig.now);
  const LocalTime started = rig.now;
  rig.members.leave(ProcessId{3}, rig.now);
  rig.run_for(3000ms);
  ASSERT_FALSE(rig.decisions.empty());
  EXPECT_GE(rig.decisions[0].at, started + 1000ms);
}

// What comes back changes nothing that it plans from: it must look by itself.
TEST(Assigner, plans_after_a_stretch_without_records_though_nothing_has_changed) {
  AssignerRig rig(8);
  rig.join(1);
  rig.begin();
  rig.lose = true;
  rig.run_for(250ms);
  ASSERT_EQ(rig.decisions.size(), 1u);
  rig.assigner.lost(rig.now);
  rig.now += 3 * kInterval;  // log 0 is away
  for (int i = 0; i < 20; ++i) {
    rig.decide();
    rig.now += kInterval;
  }
  ASSERT_EQ(rig.decisions.size(), 1u);
  rig.lose = false;
  rig.run_for(3 * kInterval);
  EXPECT_EQ(rig.named(), "1:0-7");
}

// Nor does a tail that starts again and again hold it up for ever.
TEST(Assigner, is_not_held_up_by_a_tail_that_starts_again_and_again) {
  AssignerRig rig = settled(3, 9);
  rig.members.leave(ProcessId{3}, rig.now);
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
  rig.members.leave(ProcessId{3}, rig.now);
  rig.run_for(1000ms);
  ASSERT_FALSE(rig.decisions.empty());
  EXPECT_GE(rig.decisions[0].at, started + 2 * kInterval);
}

TEST(Assigner, knows_when_it_is_cut_from_a_log) {
  AssignerRig rig = settled(2, 8, 2);
  EXPECT_TRUE(rig.assigner.reads_every_log(rig.now));
  rig.unread = {1};
  rig.run_for(2 * kLease + kSession - 100ms);
  EXPECT_FALSE(rig.assigner.is_cut(rig.now, 0));
  EXPECT_FALSE(rig.assigner.reads_every_log(rig.now));
  rig.run_for(150ms);
  EXPECT_TRUE(rig.assigner.is_cut(rig.now, 0));
  EXPECT_FALSE(rig.assigner.is_cut(rig.now, 1));  // it yielded once, and is patient for longer
  rig.run_for(2 * kLease + kSession);
  EXPECT_TRUE(rig.assigner.is_cut(rig.now, 1));
  rig.unread.clear();
  rig.run_for(kInterval);
  EXPECT_FALSE(rig.assigner.is_cut(rig.now, 0));
  EXPECT_TRUE(rig.assigner.reads_every_log(rig.now));
}

}  // namespace
}  // namespace neliroute
