// What the holder of the seat decides (rules A5 to A7 and A9) at its edges: exactly a third, a log
// that it never read, an owner that nobody named, a banned member that leads.
#include <gtest/gtest.h>

#include "neli_core/assigner/planning/assigner.h"
#include "tests/unit/neli_core/assigner/assigner_rig.h"
#include "tests/world/memory_log.h"

namespace neliroute {
namespace {

using namespace std::chrono_literals;
using told::AssignerRig;
using told::holding;
using told::kInterval;
using told::kLease;
using told::kPatience;
using told::kSession;
using told::renewal;
using told::settled;

// A9: "more than a third".
TEST(AssignerEdges, a_third_is_not_many_and_two_of_five_are) {
  for (const std::uint64_t members : {6u, 5u}) {
    AssignerRig rig = settled(members, 30);
    rig.kill(members);
    rig.kill(members - 1);
    const LocalTime killed = rig.now;
    rig.run_for(2000ms);
    ASSERT_FALSE(rig.decisions.empty());
    const milliseconds waited = members == 6 ? kSession : 2 * kSession;
    EXPECT_GE(rig.decisions[0].at, killed + waited);
    EXPECT_LE(rig.decisions[0].at, killed + waited + kInterval);
    EXPECT_EQ(rig.notices.size(), members == 6 ? 0u : 1u);
  }
}

// A9: those that died within a session; earlier deaths were acted upon.
TEST(AssignerEdges, deaths_that_are_further_apart_than_a_session_are_not_many) {
  AssignerRig rig = settled(5, 10);
  rig.kill(5);
  rig.run_for(1500ms);
  ASSERT_FALSE(rig.decisions.empty());
  rig.decisions.clear();
  rig.kill(4);
  const LocalTime killed = rig.now;
  rig.run_for(2000ms);
  ASSERT_FALSE(rig.decisions.empty());
  EXPECT_LE(rig.decisions[0].at, killed + kSession + kInterval);
  EXPECT_TRUE(rig.notices.empty());
}

// A9, a second time: it waits for those, too.
TEST(AssignerEdges, waits_again_where_many_die_again) {
  AssignerRig rig = settled(9, 18);
  for (const std::uint64_t first : {6u, 3u}) {
    rig.decisions.clear();
    for (std::uint64_t id = first; id <= (first == 6 ? 9 : 5); ++id) rig.kill(id);
    const LocalTime killed = rig.now;
    rig.run_for(3000ms);
    ASSERT_FALSE(rig.decisions.empty()) << first;
    EXPECT_GE(rig.decisions[0].at, killed + 2 * kSession) << first;
  }
  EXPECT_EQ(rig.notices.size(), 2u);
  EXPECT_EQ(rig.assigner.waits(), 2u);
}

// A9: those that are heard again while it waits keep what they have.
TEST(AssignerEdges, moves_nothing_where_the_many_are_heard_again) {
  AssignerRig rig = settled(5, 10);
  const std::string before = rig.named();
  rig.kill(5);
  rig.kill(4);
  rig.run_for(kSession + kSession / 2);
  ASSERT_EQ(rig.assigner.waits(), 1u);
  rig.join(4);
  rig.join(5);
  rig.run_for(2000ms);
  EXPECT_EQ(rig.named(), before);
}

// A9: "at least two": of two members, one is more than a third.
TEST(AssignerEdges, one_death_is_not_many) {
  AssignerRig rig = settled(2, 8);
  rig.kill(2);
  rig.run_for(kSession + kInterval);
  EXPECT_EQ(rig.named(), "1:0-7");
  EXPECT_TRUE(rig.notices.empty());
}

// A6 is for a lane where nobody owns anything *or* is named. Each of the two shows that it is not.
TEST(AssignerEdges, who_knows_owners_or_designees_only_waits_for_no_newcomers) {
  for (const bool owners : {true, false}) {
    AssignerRig rig = settled(2, 8);
    rig.assigner.end();
    rig.idle = owners ? std::set<std::pair<std::uint64_t, std::uint32_t>>{}
                      : std::set<std::pair<std::uint64_t, std::uint32_t>>{{1, 0}, {2, 0}};
    if (owners) rig.designations = Designations(8);
    if (!owners) rig.owners.forget({Log{0}, 1, 8});
    rig.begin();
    const LocalTime begun = rig.now;
    rig.run_for(2 * kInterval - kInterval / 2);  // it hears of the owners first
    rig.join(3);
    rig.run_for(kInterval);
    ASSERT_FALSE(rig.decisions.empty()) << owners;
    EXPECT_EQ(rig.decisions[0].at, begun + 2 * kInterval);
    // What was under way stays so; it is said again.
    EXPECT_EQ(rig.named_count(3) > 0, owners);
  }
}

// A7: a log that it has not read a record of may have owners.
TEST(AssignerEdges, waits_two_intervals_for_the_owners_in_a_log_that_it_has_not_read) {
  AssignerRig rig = settled(3, 9);
  rig.assigner.end();
  rig.run_for(1000ms);
  rig.begin();
  const LocalTime begun = rig.now;
  rig.members.leave(ProcessId{3}, told::seen(rig.now));
  rig.run_for(1000ms);
  ASSERT_FALSE(rig.decisions.empty());
  EXPECT_EQ(rig.decisions[0].at, begun + 2 * kInterval);
}

// A1: a penalty is what this reader counted; a former assigner counted less and gave it a share.
TEST(AssignerEdges, a_flapping_member_keeps_what_it_is_named_for) {
  AssignerRig rig = settled(2, 8);
  for (int death = 0; death < 4; ++death) {
    rig.kill(2);
    rig.run_for(1000ms);
    ASSERT_EQ(rig.named(), "1:0-7");
    rig.join(2);
  }
  AssignmentRecord record;
  record.designations = {{ProcessId{2}, *PartitionRanges::parse("4-7")}};
  rig.designations.read(record, ProcessId{1}, rig.now);
  rig.run_for(kSession);
  ASSERT_TRUE(rig.members.on_probation(*rig.members.find(ProcessId{2})));
  EXPECT_EQ(rig.named(), "1:0-3 2:4-7");
}

/// Of three partitions members 1 and 2 lead the first two, and nobody the third, which 2 is named
/// for; after 2.5 s, who is named for which. `pinned`: 1 and 2 have names of their own, and the
/// last two partitions are pinned to the name that member 2 shares with an idle member 3.
std::vector<std::uint64_t> named_once_2_is_banned(bool pinned) {
  const LogPlace place{Log{0}, 1, 3};
  LocalTime now = told::at_ms(10'000);
  Members members{{ProcessId{1}, kInterval}};
  Owners owners(3);
  Designations designations(3);
  Overrides overrides{kLease};
  overrides.tail_started(tail_at(Log{0}, 0, 0), now);
  if (pinned) overrides.read(0, {OverrideVerb::pin, "x", told::ranges("1-2"), 0});
  Assigner assigner({1, 3, Mode::non_exclusive, kInterval, kSession});
  designations.read(told::assign(1, {1, 1}, {{1, "0"}, {2, "1-2"}}), ProcessId{1}, now);
  assigner.begin(kNobody, now);
  std::vector<Designation> made;
  for (const LocalTime end = now + 2500ms; now < end; now += kInterval / 2) {
    for (std::uint64_t id = 1; id <= (pinned ? 3 : 2); ++id) {
      Record record = renewal(id);
      if (pinned && id > 1) record.process.name = "x";
      members.read(record, told::seen(now));
    }
    members.tick(now);
    for (const Record& record : {holding(1, {1'000, 3}, "0", "0"),
                                 holding(2, {1'000, 4}, "1", "1")}) {  // and nobody leads 2
      owners.read(record, place, kLease, now);
      assigner.read(record, place, now.time_since_epoch(), now);
    }
    made = assigner.decide({members, owners, designations, kLease, overrides}, now);
    if (made.empty()) continue;
    AssignmentRecord record;
    record.designations = made;
    designations.read(record, ProcessId{1}, now);
    assigner.settled();
  }
  EXPECT_EQ(assigner.given_up(), 1u);
  std::vector<std::uint64_t> named;
  for (std::uint32_t p = 0; p < 3; ++p) named.push_back(designations.at(Partition{p}).id.value());
  return named;
}

// A5: it is given no other partition there, and keeps what it leads.
TEST(AssignerEdges, a_banned_member_keeps_what_it_leads) {
  EXPECT_EQ(named_once_2_is_banned(false), (std::vector<std::uint64_t>{1, 2, 1}));
}

// A5 and A11: also where another member has the name that it is pinned to.
TEST(AssignerEdges, a_banned_member_keeps_what_it_leads_and_is_pinned_to_its_name) {
  EXPECT_EQ(named_once_2_is_banned(true), (std::vector<std::uint64_t>{1, 2, 3}));
}

// A repeated name beside a new one for the same partition: the order in the record would decide.
TEST(AssignerEdges, one_assignment_names_one_for_each_partition) {
  for (int offset = 0; offset < 4; ++offset) {
    AssignerRig rig = settled(1, 8);
    rig.idle = {{2, 0}};
    rig.join(2);
    rig.run_for(1000ms + offset * kInterval / 2);
    ASSERT_EQ(rig.named_count(2), 4u);
    rig.decisions.clear();
    rig.fields(2).cordoned = true;
    rig.run_for(1000ms);
    EXPECT_EQ(rig.named(), "1:0-7");
    ASSERT_FALSE(rig.decisions.empty());
    for (const auto& decision : rig.decisions) {
      for (const Designation& one : decision.designations) {
        EXPECT_EQ(one.to, ProcessId{1}) << AssignerRig::text(decision);
      }
    }
  }
}

// A5: that it prepares is no failure, for as long as it may; that it does not lead once it has
// prepared is.
TEST(AssignerEdges, waits_for_a_designee_that_prepares) {
  AssignerRig rig = settled(1, 8);
  rig.idle = {{2, 0}};
  rig.join(2);
  rig.preparing[2] = std::nullopt;  // of an older version: it does not say for what
  rig.run_for(3 * kPatience);
  EXPECT_EQ(rig.named_count(2), 4u);
  rig.preparing.clear();
  rig.run_for(kPatience - 100ms);
  EXPECT_EQ(rig.named_count(2), 4u);
  rig.run_for(300ms);
  EXPECT_EQ(rig.named(), "1:0-7");
}

// A5: one that loses its lease again and again warms up each time.
TEST(AssignerEdges, gives_up_a_designee_that_prepares_again_and_again) {
  AssignerRig rig = settled(1, 8);
  rig.idle = {{2, 0}};
  rig.join(2);
  rig.may_prepare = 500ms;
  rig.preparing[2] = std::nullopt;
  rig.run_for(2 * rig.may_prepare + kSession);
  EXPECT_EQ(rig.named_count(2), 4u);
  rig.run_for(kPatience + 300ms);
  EXPECT_EQ(rig.named(), "1:0-7");
}

// A5, mutation preparing_shields_all: one partition that prepared shielded all of a member's.
TEST(AssignerEdges, waits_for_what_a_designee_prepares_for_and_for_nothing_else) {
  AssignerRig rig = settled(1, 8, 2);
  rig.idle = {{2, 0}, {2, 1}};
  rig.join(2);
  rig.run_for(50ms);
  ASSERT_EQ(rig.named_count(2), 4u);
  PartitionRanges first;  // of log 0
  PartitionRanges second;
  for (std::uint32_t p = 0; p < 8; ++p) {
    if (rig.designations.at(Partition{p}).id != ProcessId{2}) continue;
    (p % 2 == 0 ? first : second).insert(Partition{p});
  }
  ASSERT_FALSE(first.empty() || second.empty());
  rig.preparing[2] = first;
  rig.run_for(kPatience + 300ms);
  for (std::uint32_t p = 0; p < 8; ++p) {
    const bool is_2 = rig.designations.at(Partition{p}).id == ProcessId{2};
    EXPECT_TRUE(is_2 || !first.contains(Partition{p})) << rig.named();
    EXPECT_FALSE(is_2 && second.contains(Partition{p})) << rig.named();
  }
}

// A5, mutation moments_reset: who led for a moment again and again was never given up.
// Who led there may serve on until another is named, and nobody can claim anything.
TEST(AssignerEdges, names_nobody_in_a_log_that_it_does_not_read) {
  AssignerRig rig = settled(3, 12, 2);
  rig.unread = {1};
  rig.kill(3);
  rig.run_for(kSession + 200ms);
  for (const auto& decision : rig.decisions) {
    for (const Designation& one : decision.designations) {
      one.partitions.for_each(12, [](Partition p) { EXPECT_EQ(p.value() % 2, 0u); });
    }
  }
  EXPECT_EQ(rig.named_count(3), 2u);
  rig.unread.clear();
  rig.run_for(kSession);
  EXPECT_EQ(rig.named_count(3), 0u);
}

// Its leases are over, and its owners renew in a moment.
TEST(AssignerEdges, plans_nothing_for_two_intervals_after_a_log_stood_still) {
  AssignerRig rig = settled(2, 8, 2);
  rig.unread = {1};
  rig.run_for(2 * kLease);
  rig.decisions.clear();
  rig.unread.clear();
  const LocalTime back = rig.now;
  rig.join(3);
  rig.run_for(kSession);
  ASSERT_FALSE(rig.decisions.empty());
  EXPECT_GE(rig.decisions.front().at, back + 2 * kInterval);
  EXPECT_EQ(rig.named_count(3), 2u);
}

TEST(AssignerEdges, a_moment_takes_off_no_more_than_a_moment) {
  AssignerRig rig = settled(2, 8);
  for (int i = 0; i < 3 && rig.named_count(2) > 0; ++i) {
    rig.idle = {{2, 0}};
    rig.run_for(1000ms);
    if (rig.named_count(2) == 0) break;
    rig.idle.clear();
    rig.run_for(100ms);
  }
  EXPECT_EQ(rig.named(), "1:0-7");
}

// Else it would plan at every record that is read.
TEST(AssignerEdges, is_not_due_in_the_past_while_it_cannot_judge_who_is_late) {
  AssignerRig rig = settled(2, 8, 2);
  rig.unread = {1};
  rig.idle = {{1, 1}, {2, 1}};
  rig.run_for(20'000ms);
  EXPECT_GT(rig.assigner.next_deadline(), rig.now);
}

// A9: many deaths are waited out by each assigner anew, also by the same process. Else who was cut
// off would rename everything when it comes back.
TEST(AssignerEdges, is_patient_anew_when_it_gets_the_seat_again) {
  AssignerRig rig = settled(9, 18);
  for (const std::uint64_t id : {6u, 7u, 8u, 9u}) rig.kill(id);
  rig.run_for(700ms);
  ASSERT_EQ(rig.assigner.waits(), 1u);
  rig.assigner.end();
  rig.run_for(3000ms);
  for (const std::uint64_t id : {3u, 4u, 5u}) rig.kill(id);
  rig.run_for(kSession + 51ms);
  rig.decisions.clear();
  rig.begin();
  const LocalTime begun = rig.now;
  rig.run_for(2000ms);
  EXPECT_EQ(rig.assigner.waits(), 2u);
  ASSERT_FALSE(rig.decisions.empty());
  EXPECT_GE(rig.decisions[0].at, begun + kSession);
}

// A5: where every member that takes partitions is banned, bans are ignored: names do not go round.
TEST(AssignerEdges, where_all_are_banned_nobody_is) {
  AssignerRig rig = settled(3, 9);
  rig.fields(3).weight = 0;  // what it had, the others have now: not as a new plan would share it
  rig.run_for(1000ms);
  const std::string before = rig.named();
  rig.idle = {{1, 0}, {2, 0}, {3, 0}};
  rig.run_for(kPatience + kSession + 500ms);
  ASSERT_EQ(rig.assigner.given_up(), 2u);
  rig.decisions.clear();
  rig.run_for(10'000ms);
  EXPECT_EQ(rig.named(), before);
  EXPECT_EQ(rig.named_count(3), 0u);
  EXPECT_LE(rig.decisions.size(), 50u);  // said again every two intervals, and no more
  for (const auto& decision : rig.decisions) EXPECT_EQ(AssignerRig::text(decision), before);
}

// A5: who failed last is not named on and on for what another, banned before it, may lead again.
TEST(AssignerEdges, where_all_are_banned_the_first_of_them_is_named) {
  AssignerRig rig = settled(2, 8, 2);
  rig.idle = {{2, 1}};
  rig.run_for(kPatience + kSession);
  ASSERT_EQ(rig.named(), "1:1,3,5,7 2:0,2,4,6");
  rig.idle.clear();
  rig.run_for(10'000ms);  // it is well, and banned for most of a minute
  rig.idle = {{1, 1}};
  rig.run_for(kPatience + kSession);
  ASSERT_EQ(rig.assigner.given_up(), 2u);
  for (const std::uint32_t p : {1u, 3u, 5u, 7u}) {
    EXPECT_EQ(rig.designations.at(Partition{p}).id, ProcessId{2}) << rig.named();
  }
  rig.decisions.clear();
  rig.run_for(20'000ms);
  EXPECT_TRUE(rig.decisions.empty()) << AssignerRig::text(rig.decisions.front());
}

}  // namespace
}  // namespace neliroute
