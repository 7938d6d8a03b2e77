// What the holder of the seat decides (rules A5 to A7 and A9).
#include "neli_core/assigner/planning/assigner.h"

#include <gtest/gtest.h>

#include "tests/unit/neli_core/assigner/assigner_rig.h"

namespace neliroute {
namespace {

using namespace std::chrono_literals;
using told::AssignerRig;
using told::kInterval;
using told::kPatience;
using told::kSession;
using told::settled;

TEST(Assigner, decides_nothing_without_the_seat) {
  AssignerRig rig(8);
  rig.join(1);
  rig.run_for(2000ms);
  EXPECT_TRUE(rig.decisions.empty());
  EXPECT_EQ(rig.assigner.next_deadline(), kNever);
  rig.begin();
  rig.assigner.end();
  rig.run_for(2000ms);
  EXPECT_TRUE(rig.decisions.empty());
}

TEST(Assigner, from_nothing_waits_two_intervals_for_newcomers) {
  AssignerRig rig(8);
  rig.join(1);
  rig.begin();
  rig.run_for(150ms);
  rig.join(2);
  const LocalTime came = rig.now;
  rig.run_for(1000ms);
  ASSERT_EQ(rig.decisions.size(), 1u);
  EXPECT_EQ(rig.decisions[0].at, came + 2 * kInterval);
  EXPECT_EQ(rig.named_count(1), 4u);
  EXPECT_EQ(rig.named_count(2), 4u);
}

TEST(Assigner, from_nothing_waits_a_session_at_most) {
  AssignerRig rig(8);
  rig.begin();
  const LocalTime begun = rig.now;
  for (std::uint64_t id = 1; id <= 8; ++id) {
    rig.join(id);
    rig.run_for(100ms);
  }
  ASSERT_FALSE(rig.decisions.empty());
  EXPECT_EQ(rig.decisions[0].at, begun + kSession);
}

TEST(Assigner, waits_for_nobody_where_a_living_member_owns_something) {
  AssignerRig rig = settled(1, 8);
  rig.join(2);
  const LocalTime came = rig.now;
  rig.run_for(50ms);
  ASSERT_EQ(rig.decisions.size(), 1u);
  EXPECT_LE(rig.decisions[0].at, came + 50ms);
  EXPECT_EQ(rig.named_count(2), 4u);
}

TEST(Assigner, says_nothing_once_all_is_as_planned) {
  AssignerRig rig = settled(3, 9);
  rig.run_for(30'000ms);
  EXPECT_TRUE(rig.decisions.empty());
  EXPECT_TRUE(rig.notices.empty());
}

TEST(Assigner, shares_out_by_weight) {
  AssignerRig rig(8);
  rig.join(1, 3);
  rig.join(2, 1);
  rig.join(3, 0);
  rig.begin();
  rig.run_for(1000ms);
  EXPECT_EQ(rig.named_count(1), 6u);
  EXPECT_EQ(rig.named_count(2), 2u);
  rig.fields(1).weight = 1;
  rig.run_for(1000ms);
  EXPECT_EQ(rig.named_count(1), 4u);
  EXPECT_EQ(rig.decisions.size(), 2u);
}

TEST(Assigner, names_others_for_the_partitions_of_the_dead_and_for_no_other) {
  AssignerRig rig = settled(3, 9);
  const std::string before = rig.named();
  const auto at = [&](std::uint32_t p) { return rig.designations.at(Partition{p}).id; };
  std::vector<ProcessId> was;
  for (std::uint32_t p = 0; p < 9; ++p) was.push_back(at(p));
  rig.kill(3);
  const LocalTime killed = rig.now;
  rig.run_for(2000ms);
  ASSERT_EQ(rig.decisions.size(), 1u) << before << " to " << rig.named();
  EXPECT_LE(rig.decisions[0].at, killed + kSession + kInterval);
  for (std::uint32_t p = 0; p < 9; ++p) {
    EXPECT_NE(at(p), ProcessId{3});
    if (was[p] == ProcessId{3}) continue;
    EXPECT_EQ(at(p), was[p]) << p;
  }
  EXPECT_TRUE(rig.notices.empty());
}

TEST(Assigner, names_a_cordoned_member_for_nothing) {
  AssignerRig rig = settled(2, 8);
  rig.fields(2).cordoned = true;
  rig.run_for(1000ms);
  EXPECT_EQ(rig.named(), "1:0-7");
  rig.fields(2).cordoned = false;
  rig.run_for(1000ms);
  EXPECT_EQ(rig.named_count(2), 4u);
}

TEST(Assigner, names_nobody_where_all_are_cordoned) {
  AssignerRig rig = settled(2, 8);
  const std::string before = rig.named();
  rig.fields(1).cordoned = true;
  rig.fields(2).cordoned = true;
  rig.run_for(1000ms);
  EXPECT_TRUE(rig.decisions.empty());
  EXPECT_EQ(rig.named(), before);
}

TEST(Assigner, says_once_that_nobody_may_be_named) {
  AssignerRig rig(8);
  rig.join(1, 1, true);
  rig.join(2, 0);
  rig.begin();
  rig.run_for(2000ms);
  ASSERT_EQ(rig.notices.size(), 1u);
  EXPECT_NE(rig.notices[0].text.find("cordoned"), std::string::npos);
  EXPECT_TRUE(rig.decisions.empty());
  rig.fields(2).weight = 1;
  rig.run_for(2000ms);
  EXPECT_EQ(rig.named(), "2:0-7");
  rig.fields(2).weight = 0;
  rig.run_for(2000ms);
  EXPECT_EQ(rig.notices.size(), 2u);  // and again where it is so again
}

TEST(Assigner, names_a_flapping_member_for_nothing_until_its_probation_ends) {
  AssignerRig rig = settled(2, 8);
  for (int death = 1; death <= 3; ++death) {
    rig.kill(2);
    rig.run_for(1000ms);
    ASSERT_EQ(rig.named(), "1:0-7");
    rig.join(2);
    rig.run_for(50ms);
    EXPECT_EQ(rig.named_count(2), death == 1 ? 4u : 0u);  // the first death costs nothing
  }
  const LocalTime back = rig.now - 50ms;
  rig.run_for(2 * kSession - 51ms);
  EXPECT_EQ(rig.named(), "1:0-7");
  rig.run_for(51ms);
  EXPECT_EQ(rig.named_count(2), 4u);
  EXPECT_EQ(rig.decisions.back().at, back + 2 * kSession);
}

TEST(Assigner, names_a_flapping_member_where_there_is_no_other) {
  AssignerRig rig(8);
  rig.join(1, 1, true);
  for (int death = 0; death < 5; ++death) {
    rig.join(2);
    rig.run_for(100ms);
    rig.kill(2);
    rig.run_for(1000ms);
    ASSERT_FALSE(rig.members.lives(ProcessId{2}));
  }
  rig.join(2);
  ASSERT_TRUE(rig.members.on_probation(*rig.members.find(ProcessId{2})));
  rig.begin();
  rig.run_for(1000ms);
  EXPECT_EQ(rig.named(), "2:0-7");
}

// A7: nothing that is under way is turned around because somebody came.
TEST(Assigner, does_not_change_what_is_under_way) {
  AssignerRig rig = settled(1, 8);
  rig.idle = {{2, 0}};
  rig.join(2);
  rig.run_for(100ms);
  ASSERT_EQ(rig.named_count(2), 4u);
  const std::string before = rig.named();
  rig.join(3);
  rig.run_for(1000ms);
  for (std::uint32_t p = 0; p < 8; ++p) {
    const bool was_2 = before.ends_with("2:4-7") ? p >= 4 : p < 4;
    EXPECT_EQ(rig.designations.at(Partition{p}).id == ProcessId{2}, was_2) << rig.named();
  }
  EXPECT_GT(rig.named_count(3), 0u);
}

TEST(Assigner, names_others_when_a_designee_dies_under_way) {
  AssignerRig rig = settled(1, 8);
  rig.idle = {{2, 0}};
  rig.join(2);
  rig.run_for(100ms);
  ASSERT_EQ(rig.named_count(2), 4u);
  rig.kill(2);
  rig.run_for(1000ms);
  EXPECT_EQ(rig.named(), "1:0-7");
}

// Mutation never_repeats: the designee may not have read it, as a late reader.
TEST(Assigner, repeats_every_two_intervals_what_is_not_carried_out) {
  AssignerRig rig = settled(1, 8);
  rig.idle = {{2, 0}};
  rig.join(2);
  rig.run_for(1050ms);
  ASSERT_GE(rig.decisions.size(), 5u);
  for (std::size_t i = 1; i < rig.decisions.size(); ++i) {
    EXPECT_EQ(AssignerRig::text(rig.decisions[i]), AssignerRig::text(rig.decisions[0]));
    EXPECT_EQ(rig.decisions[i].at - rig.decisions[i - 1].at, 2 * kInterval) << i;
  }
  rig.idle.clear();
  rig.run_for(2 * kInterval);  // the next one is heard
  rig.decisions.clear();
  rig.run_for(5000ms);
  EXPECT_TRUE(rig.decisions.empty());
}

TEST(Assigner, decides_again_when_what_it_wrote_does_not_come_back) {
  AssignerRig rig(8);
  rig.join(1);
  rig.begin();
  rig.lose = true;
  rig.run_for(390ms);
  ASSERT_EQ(rig.decisions.size(), 1u);
  rig.lose = false;
  rig.run_for(100ms);
  ASSERT_EQ(rig.decisions.size(), 2u);
  EXPECT_EQ(rig.decisions[1].at, rig.decisions[0].at + 2 * kInterval);
  EXPECT_EQ(rig.named(), "1:0-7");
}

// Not at once: it may fail at once, too.
TEST(Assigner, decides_again_an_interval_after_a_write_is_known_to_be_lost) {
  AssignerRig rig(8);
  rig.join(1);
  rig.begin();
  rig.lose = true;
  rig.run_for(210ms);
  ASSERT_EQ(rig.decisions.size(), 1u);
  rig.lose = false;
  rig.assigner.lost(rig.now);
  const LocalTime lost = rig.now;
  rig.decide();
  EXPECT_EQ(rig.decisions.size(), 1u);
  rig.run_for(150ms);
  ASSERT_EQ(rig.decisions.size(), 2u);
  EXPECT_EQ(rig.decisions[1].at, lost + kInterval);
}

// Mutation never_goes_back.
TEST(Assigner, goes_back_on_a_designee_that_does_not_lead) {
  AssignerRig rig = settled(1, 8);
  rig.idle = {{2, 0}};
  rig.join(2);
  rig.run_for(50ms);
  ASSERT_EQ(rig.named_count(2), 4u);
  const LocalTime named = rig.decisions[0].at;
  rig.run_for(kPatience - 100ms);
  EXPECT_EQ(rig.named_count(2), 4u);
  EXPECT_TRUE(rig.notices.empty());
  rig.run_for(150ms);
  EXPECT_EQ(rig.named(), "1:0-7");
  EXPECT_GE(rig.decisions.back().at, named + 1400ms);
  EXPECT_EQ(rig.notices.size(), 1u);
  rig.idle.clear();
  rig.run_for(59'000ms);
  EXPECT_EQ(rig.named(), "1:0-7");
  rig.run_for(2000ms);
  EXPECT_EQ(rig.named_count(2), 4u);  // a minute is over
}

TEST(Assigner, goes_back_in_that_log_only) {
  AssignerRig rig(8, 2);
  rig.idle = {{2, 1}};
  for (std::uint64_t id = 1; id <= 3; ++id) rig.join(id);
  rig.begin();
  rig.run_for(300ms);
  ASSERT_GT(rig.named_count(2), 0u);
  rig.run_for(10'000ms);
  std::size_t in_first = 0;
  for (std::uint32_t p = 0; p < 8; ++p) {
    const bool is_2 = rig.designations.at(Partition{p}).id == ProcessId{2};
    if (p % 2 == 0) {
      in_first += is_2;
    } else {
      EXPECT_FALSE(is_2) << rig.named();
    }
  }
  EXPECT_GE(in_first, 2u) << rig.named();
  EXPECT_EQ(rig.notices.size(), 1u);
}

TEST(Assigner, goes_back_on_an_owner_that_stopped_leading) {
  AssignerRig rig = settled(2, 8);
  rig.idle = {{2, 0}};  // it lives, and renews nothing: its lease may end, or not
  rig.run_for(kPatience - 100ms);
  EXPECT_EQ(rig.named_count(2), 4u);
  rig.run_for(kSession / 2 + 200ms);
  EXPECT_EQ(rig.named(), "1:0-7");
}

// It hands over to nobody, as it has not read whom it is named by.
TEST(Assigner, goes_back_on_a_designee_that_drains) {
  AssignerRig rig = settled(2, 8);
  rig.draining = {2};
  rig.run_for(kPatience - 100ms);
  EXPECT_EQ(rig.named_count(2), 4u);
  rig.run_for(300ms);
  EXPECT_EQ(rig.named(), "1:0-7");
}

TEST(Assigner, gives_a_designee_two_of_its_own_sessions) {
  AssignerRig rig = settled(1, 8);
  rig.idle = {{2, 0}};
  rig.join(2);
  rig.fields(2).session = 5000ms;
  rig.longest_lease = 20 * told::kLease;  // which concerns exclusive mode only
  rig.run_for(50ms);
  ASSERT_EQ(rig.named_count(2), 4u);
  rig.run_for(10'300ms);
  EXPECT_EQ(rig.named_count(2), 4u);
  rig.run_for(300ms);
  EXPECT_EQ(rig.named(), "1:0-7");
}

TEST(Assigner, leaves_a_banned_member_what_it_leads) {
  AssignerRig rig = settled(2, 8);
  rig.join(3);
  rig.run_for(50ms);
  const std::size_t led = rig.named_count(3);
  ASSERT_GE(led, 2u);
  rig.idle = {{2, 0}};
  const std::size_t led_by_2 = rig.named_count(2);
  ASSERT_GE(led_by_2, 2u);
  rig.run_for(kPatience + 500ms);
  ASSERT_EQ(rig.notices.size(), 1u);
  ASSERT_EQ(rig.named_count(2), 0u);
  rig.idle.clear();
  rig.run_for(60'000ms);  // and now it leads some, until it is banned for others
  ASSERT_GE(rig.named_count(2), 2u);
  const std::string before = rig.named();
  rig.join(4);  // planned anew while nobody is banned any more
  rig.run_for(1000ms);
  EXPECT_GE(rig.named_count(2), 1u) << before << " -> " << rig.named();
}

// Its ban may last an hour.
TEST(Assigner, forgets_whom_it_banned_once_that_one_is_gone) {
  AssignerRig rig = settled(3, 12);
  rig.join(4, 0);  // cordoned
  rig.idle = {{3, 0}};
  rig.run_for(kPatience + 500ms);
  ASSERT_EQ(rig.named_count(3), 0u);
  rig.kill(3);
  rig.run_for(kPatience);
  rig.join(5);
  rig.run_for(2000ms);
  EXPECT_EQ(rig.named_count(5), 4u) << rig.named();
}

// Otherwise a log all designations in it rotate.
TEST(Assigner, judges_nobody_in_a_log_that_it_does_not_read) {
  AssignerRig rig = settled(2, 8, 2);
  rig.unread = {1};
  rig.idle = {{1, 1}, {2, 1}};
  const std::string before = rig.named();
  rig.run_for(20'000ms);
  EXPECT_EQ(rig.named(), before);
  EXPECT_TRUE(rig.notices.empty());
  rig.unread.clear();
  rig.run_for(kPatience - kSession - 100ms);
  EXPECT_EQ(rig.named(), before);
  EXPECT_TRUE(rig.notices.empty());
  rig.run_for(kSession + 300ms);
  EXPECT_FALSE(rig.notices.empty());
}

TEST(Assigner, a_new_holder_of_the_seat_gives_designees_their_time) {
  AssignerRig rig = settled(1, 8);
  rig.idle = {{2, 0}};
  rig.join(2);
  rig.run_for(1000ms);
  rig.assigner.end();
  rig.run_for(5000ms);
  rig.begin();
  rig.run_for(kPatience - 100ms);
  EXPECT_EQ(rig.named_count(2), 4u);
  rig.run_for(300ms);
  EXPECT_EQ(rig.named(), "1:0-7");
}

TEST(Assigner, waits_another_session_where_many_seem_dead_and_says_so_once) {
  AssignerRig rig = settled(6, 12);
  for (const std::uint64_t id : {4u, 5u, 6u}) rig.kill(id);
  const LocalTime killed = rig.now;
  rig.run_for(3000ms);
  ASSERT_FALSE(rig.decisions.empty());
  EXPECT_GE(rig.decisions[0].at, killed + 2 * kSession);
  EXPECT_LE(rig.decisions[0].at, killed + 2 * kSession + 2 * kInterval);
  EXPECT_EQ(rig.notices.size(), 1u);
  EXPECT_EQ(rig.named_count(1), 4u);
}

// Of five, the assigner and an owner that die together are nothing to wait for: the one that took
// the seat over knows for certain that its predecessor is dead.
TEST(Assigner, does_not_count_the_death_of_its_predecessor_among_the_many) {
  AssignerRig rig = settled(5, 10);
  rig.kill(4);
  rig.kill(5);
  const LocalTime killed = rig.now;
  rig.assigner.end();
  rig.run_for(kSession + 51ms);
  rig.begin(5);
  rig.run_for(2 * kInterval);
  ASSERT_FALSE(rig.decisions.empty());
  EXPECT_LE(rig.decisions[0].at, killed + kSession + 3 * kInterval);
  EXPECT_TRUE(rig.notices.empty());
}

TEST(Assigner, moves_nothing_if_the_many_are_heard_again) {
  AssignerRig rig = settled(6, 12);
  const std::string before = rig.named();
  for (const std::uint64_t id : {4u, 5u, 6u}) rig.kill(id);
  rig.run_for(700ms);
  ASSERT_EQ(rig.members.living_count(), 3u);
  ASSERT_EQ(rig.notices.size(), 1u);
  EXPECT_EQ(rig.named(), before);
}

// The first deaths grow old while it waits for the last ones.
TEST(Assigner, waits_a_whole_session_if_the_many_die_one_after_the_other) {
  AssignerRig rig = settled(5, 10);
  rig.kill(5);
  rig.run_for(250ms);
  rig.kill(4);
  const LocalTime killed = rig.now;
  rig.run_for(kSession + 51ms);
  ASSERT_EQ(rig.notices.size(), 1u);
  rig.decisions.clear();
  rig.run_for(2000ms);
  ASSERT_FALSE(rig.decisions.empty());
  EXPECT_GE(rig.decisions[0].at, killed + 2 * kSession);
}

TEST(Assigner, who_is_known_from_older_records_only_is_given_nothing_until_it_is_heard) {
  AssignerRig rig(12);
  rig.join(1);
  rig.join(2);
  rig.members.read(told::renewal(3), told::seen(rig.now, true));
  rig.begin();
  rig.run_for(kSession - kInterval);
  EXPECT_EQ(rig.named(), "1:0-5 2:6-11");
  rig.join(3);
  rig.run_for(kSession);
  EXPECT_EQ(rig.named_count(3), 4u);
}

TEST(Assigner, what_it_was_named_for_it_keeps_until_it_counts_as_dead) {
  AssignerRig rig(12);
  rig.join(1);
  rig.join(2);
  rig.members.read(told::renewal(3), told::seen(rig.now, true));
  AssignmentRecord record;
  record.designations = {{ProcessId{3}, PartitionRanges::of({Partition{0}, Partition{1}})}};
  rig.designations.read(record, ProcessId{1}, rig.now);
  rig.begin();
  rig.run_for(kSession - kInterval);
  EXPECT_GE(rig.named_count(3), 2u);
  rig.run_for(3 * kSession);
  EXPECT_EQ(rig.named_count(3), 0u);
}

}  // namespace
}  // namespace neliroute
