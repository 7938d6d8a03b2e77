// Operators' overrides among whole members: which takes them in, and which learns of them when.
#include <gtest/gtest.h>

#include <string>

#include "tests/unit/neli_core/assigner/assigned_rig.h"

namespace neliroute {
namespace {

using namespace std::chrono_literals;
using told::AssignedRig;
using told::kInterval;
using told::kLease;
using told::Process;
using told::ranges;
using enum OverrideVerb;

std::vector<AssignmentRecord> lists(const AssignedRig& rig) {
  return rig.assignments(AssignmentType::overrides);
}

bool is_listed(const AssignedRig& rig, std::int64_t offset) {
  const auto all = lists(rig);
  return !all.empty() && all.back().upto > offset;
}

/// Two that own half of everything each.
struct Pair : AssignedRig {
  Process& first = start(1);
  Process& second = start(2);
  Pair() {
    EXPECT_TRUE(run_until([&] { return led_by(first) == 4 && led_by(second) == 4; }, 5000ms));
    run_for(1000ms);
    watch = true;
  }
};

TEST(AssignedOverrides, one_is_carried_out_and_listed_at_once) {
  Pair rig;
  const LocalTime ordered = rig.now();
  const std::int64_t offset = rig.order({cordon, "p1", {}, 0});
  EXPECT_TRUE(rig.run_until([&] { return is_listed(rig, offset); }, 1000ms));
  EXPECT_LE(rig.now(), ordered + kInterval);
  EXPECT_EQ(lists(rig).back().standing.cordoned, std::set<std::string>{"p1"});
  EXPECT_TRUE(rig.run_until([&] { return rig.led_by(rig.second) == 8; }, 1000ms));
  EXPECT_EQ(rig.unled, 0u);
  EXPECT_TRUE(rig.first.core.seat().held_by_own()) << "it goes on assigning";
  rig.run_for(10'000ms);
  EXPECT_TRUE(rig.first.core.seat().held_by_own());
  EXPECT_EQ(rig.led_by(rig.second), 8u);
}

TEST(AssignedOverrides, no_list_is_written_before_the_first_override) {
  Pair rig;
  rig.run_for(10'000ms);
  EXPECT_TRUE(lists(rig).empty());
}

TEST(AssignedOverrides, are_listed_every_half_a_lease) {
  Pair rig;
  rig.order({pin, "p1", ranges("0"), 0});
  rig.run_for(20 * kLease);
  EXPECT_GE(lists(rig).size(), 39u);
  EXPECT_LE(lists(rig).size(), 42u);
  // Also those that say that nothing stands any more.
  rig.order({unpin, "", ranges("0"), 0});
  const std::size_t before = lists(rig).size();
  rig.run_for(2 * kLease);
  EXPECT_GE(lists(rig).size(), before + 4);
  EXPECT_EQ(lists(rig).back().standing, StandingOverrides{});
}

TEST(AssignedOverrides, a_burst_of_them_makes_no_storm_of_lists) {
  Pair rig;
  std::int64_t last = 0;
  for (int i = 0; i < 200; ++i) last = rig.order({weight, "p" + std::to_string(i), {}, 7});
  rig.run_for(kInterval + 1ms);
  EXPECT_TRUE(is_listed(rig, last));
  EXPECT_EQ(lists(rig).back().standing.weights.size(), 200u);
  EXPECT_LE(lists(rig).size(), 3u);
}

TEST(AssignedOverrides, the_next_assigner_knows_them) {
  Pair rig;
  rig.order({pin, "p2", ranges("0-3"), 0});
  EXPECT_TRUE(rig.run_until([&] { return rig.second.leads(0, rig.now()); }, 2000ms));
  Process& third = rig.start(3);
  rig.run_for(2000ms);
  rig.kill(rig.first);
  EXPECT_TRUE(rig.run_until([&] { return rig.second.core.seat().held_by_own(); }, 5000ms));
  rig.run_for(5000ms);
  EXPECT_EQ(third.core.overrides().standing(), rig.second.core.overrides().standing());
  for (std::uint32_t p = 0; p < 4; ++p) EXPECT_TRUE(rig.second.core.leads(Partition{p}, rig.now()));
  EXPECT_EQ(lists(rig).back().id, ProcessId{2});
}

// A tail begins a lease before the newest record: there is a list in it, however long ago all
// ended.
TEST(AssignedOverrides, outlive_every_member) {
  Pair rig;
  rig.order({cordon, "p3", {}, 0});
  rig.run_for(5000ms);
  const std::int64_t from = rig.log(0).end() - 30;
  rig.kill(rig.first);
  rig.kill(rig.second);
  rig.watch = false;
  rig.run_for(60'000ms);
  Process& third = rig.start(3, from);
  Process& fourth = rig.start(4, from);
  EXPECT_TRUE(rig.run_until([&] { return rig.led_by(fourth) == 8; }, 10'000ms));
  EXPECT_EQ(rig.led_by(third), 0u);
  EXPECT_TRUE(third.core.overrides().known());
  rig.run_for(5000ms);
  EXPECT_EQ(rig.led_by(fourth), 8u);
  EXPECT_EQ(lists(rig).back().standing.cordoned, std::set<std::string>{"p3"});
}

TEST(AssignedOverrides, an_assigner_that_leaves_lists_them_first) {
  Pair rig;
  rig.order({cordon, "p3", {}, 0});
  rig.run_for(kInterval + 1ms);
  const std::size_t before = lists(rig).size();
  rig.close(rig.first, 5000ms);
  EXPECT_EQ(lists(rig).size(), before + 1);
  EXPECT_EQ(lists(rig).back().id, ProcessId{1});
}

TEST(AssignedOverrides, a_list_of_who_does_not_hold_the_seat_says_nothing) {
  Pair rig;
  rig.order({cordon, "p1", {}, 0});
  rig.run_for(1000ms);
  AssignmentRecord list = lists(rig).back();
  list.upto = rig.log(0).end();
  list.standing = {};
  list.id = ProcessId{2};
  rig.append(encode_record(list));
  EXPECT_TRUE(rig.second.core.overrides().standing().cordoned.contains("p1"));
  list.id = ProcessId{1};
  --list.seat.offset;
  rig.append(encode_record(list));
  EXPECT_TRUE(rig.second.core.overrides().standing().cordoned.contains("p1"));
  ++list.seat.offset;
  rig.append(encode_record(list));
  EXPECT_FALSE(rig.second.core.overrides().standing().cordoned.contains("p1"));
}

TEST(AssignedOverrides, of_another_lane_are_none_of_this_one) {
  Pair rig;
  AssignmentRecord record;
  record.type = AssignmentType::override;
  record.lane = Lane{1};
  record.id = ProcessId{77};
  record.override = {cordon, "p1", {}, 0};
  rig.append(encode_record(record));
  rig.run_for(1000ms);
  EXPECT_FALSE(rig.first.core.overrides().used());
  EXPECT_EQ(rig.led_by(rig.first), 4u);
}

TEST(AssignedOverrides, one_that_does_not_fit_is_ignored_and_said_so) {
  Pair rig;
  PartitionRanges odd;
  for (std::uint32_t p = 1; p < kPartitionCountMax; p += 2) odd.insert(Partition{p});
  rig.order({pin, "p1", ranges("0-65535"), 0});
  const std::int64_t offset = rig.order({unpin, "", odd, 0});
  EXPECT_TRUE(rig.run_until([&] { return is_listed(rig, offset); }, 1000ms));
  EXPECT_EQ(rig.second.core.overrides().ignored(), 1u);
  bool said = false;
  for (const Notice& notice : rig.first.notices) {
    said = said || notice.text.find("an operator's override (unpin) is ignored") == 0;
  }
  EXPECT_TRUE(said);
}

// Its list would end overrides that it has not read.
TEST(AssignedOverrides, who_has_missed_some_lists_nothing) {
  for (const bool leaves : {false, true}) {
    Pair rig;
    rig.order({cordon, "p3", {}, 0});
    rig.run_for(kInterval + 1ms);
    const std::size_t before = lists(rig).size();
    ASSERT_GE(before, 1u);
    rig.first.hold = true;
    rig.order({pause_moves, "", {}, 0});
    rig.first.hold = false;
    rig.restart_tail(rig.first, rig.log(0).end());
    rig.run_for(3 * kInterval);
    ASSERT_TRUE(rig.first.core.assignment_status()->assigns);
    ASSERT_TRUE(rig.first.core.overrides().uncertain());
    if (leaves) rig.close(rig.first, 5000ms);
    const auto all = lists(rig);
    for (std::size_t i = before; i < all.size(); ++i) EXPECT_NE(all[i].id, ProcessId{1});
    EXPECT_TRUE(rig.second.core.overrides().standing().moves_paused);
  }
}

// Nobody else is there who could list more.
TEST(AssignedOverrides, after_a_lease_without_lists_what_was_read_is_all) {
  AssignedRig rig;
  const auto all = rig.start_all(1);
  rig.order({cordon, "p3", {}, 0});
  rig.restart_tail(*all[0], rig.log(0).end() - 1);
  ASSERT_TRUE(all[0]->core.overrides().uncertain());
  rig.run_for(2 * kLease);
  EXPECT_TRUE(all[0]->core.overrides().known());
}

// Who leaves waits for nobody that may own nothing.
TEST(AssignedOverrides, who_is_cordoned_is_no_successor) {
  Pair rig;
  EXPECT_EQ(rig.first.core.other_members(), 1u);
  rig.order({cordon, "p2", {}, 0});
  EXPECT_EQ(rig.first.core.other_members(), 0u);
}

}  // namespace
}  // namespace neliroute
