// What an assigner makes of operators' overrides.
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "placement/plan.h"
#include "tests/unit/neli_core/assigner/assigner_rig.h"
#include "tests/world/memory_log.h"

namespace neliroute {
namespace {

using namespace std::chrono_literals;
using told::AssignerRig;
using told::kLease;
using told::kSession;
using told::settled;
using enum OverrideVerb;

AssignmentRecord list(std::int64_t upto, StandingOverrides standing = {}) {
  AssignmentRecord record;
  record.type = AssignmentType::overrides;
  record.upto = upto;
  record.standing = std::move(standing);
  return record;
}

TEST(AssignerOverrides, a_cordoned_member_owns_nothing_until_it_is_uncordoned) {
  AssignerRig rig = settled(3, 9);
  rig.order(cordon, "p2");
  rig.run_for(200ms);
  EXPECT_EQ(rig.named_count(2), 0u);
  EXPECT_EQ(rig.named_count(1) + rig.named_count(3), 9u);
  rig.order(uncordon, "p2");
  rig.run_for(200ms);
  EXPECT_EQ(rig.named_count(2), 3u);
  rig.decisions.clear();
  rig.run_for(5000ms);
  EXPECT_TRUE(rig.decisions.empty());
}

// The assigner itself, too: it goes on assigning.
TEST(AssignerOverrides, the_assigner_can_be_cordoned) {
  AssignerRig rig = settled(2, 8);
  rig.order(cordon, "p1");
  rig.run_for(200ms);
  EXPECT_EQ(rig.named(), "2:0-7");
  rig.join(3);
  rig.run_for(200ms);
  EXPECT_EQ(rig.named_count(3), 4u);
}

TEST(AssignerOverrides, a_weight_override_counts) {
  AssignerRig rig = settled(2, 8);
  rig.order(weight, "p2", "", 3);
  rig.run_for(200ms);
  EXPECT_EQ(rig.named_count(2), 6u);
  rig.order(unweight, "p2");
  rig.run_for(200ms);
  EXPECT_EQ(rig.named_count(2), 4u);
}

TEST(AssignerOverrides, what_is_pinned_goes_there_and_stays) {
  AssignerRig rig = settled(2, 8);
  EXPECT_EQ(rig.named(), "1:0-3 2:4-7");
  rig.order(pin, "p2", "0,2");
  rig.run_for(200ms);
  EXPECT_EQ(rig.named_count(2), 4u) << "in exchange for others";
  EXPECT_EQ(rig.designations.at(Partition{0}).id, ProcessId{2});
  EXPECT_EQ(rig.designations.at(Partition{2}).id, ProcessId{2});
  rig.decisions.clear();
  rig.order(unpin, "", "0-7");
  rig.run_for(2000ms);
  EXPECT_TRUE(rig.decisions.empty()) << "nothing moves that need not";
}

TEST(AssignerOverrides, what_is_pinned_falls_to_others_while_its_member_is_away) {
  AssignerRig rig = settled(3, 6);
  rig.order(pin, "p2", "0-1");
  rig.run_for(200ms);
  EXPECT_EQ(rig.designations.at(Partition{0}).id, ProcessId{2});
  rig.kill(2);
  rig.run_for(2 * kSession);
  EXPECT_EQ(rig.named_count(2), 0u);
  rig.join(2);
  rig.members.leave(ProcessId{2}, told::seen(rig.now));
  rig.run_for(200ms);
  EXPECT_EQ(rig.named_count(2), 0u) << "it leaves";
  // Another process of that name.
  rig.kill(2);
  rig.join(4);
  rig.rename(4, "p2");
  rig.run_for(200ms);
  EXPECT_EQ(rig.designations.at(Partition{0}).id, ProcessId{4});
  EXPECT_EQ(rig.designations.at(Partition{1}).id, ProcessId{4});
  EXPECT_EQ(rig.named_count(4), 2u);
}

TEST(AssignerOverrides, a_name_that_several_share_is_a_set) {
  AssignerRig rig = settled(4, 8);
  for (const std::uint64_t id : {3U, 4U}) rig.rename(id, "rack");
  rig.order(pin, "rack", "0-3");
  rig.run_for(200ms);
  std::size_t within = 0;
  for (std::uint32_t p = 0; p < 4; ++p) {
    within += rig.designations.at(Partition{p}).id >= ProcessId{3};
  }
  EXPECT_EQ(within, 4u);
  EXPECT_EQ(rig.named_count(3), 2u);
  EXPECT_EQ(rig.named_count(4), 2u);
  rig.order(cordon, "rack");
  rig.run_for(200ms);
  EXPECT_EQ(rig.named_count(3) + rig.named_count(4), 0u) << "a cordon is more than a pin";
}

TEST(AssignerOverrides, who_cannot_lead_what_is_pinned_to_it_is_no_reason_for_a_gap) {
  AssignerRig rig = settled(2, 4);
  rig.idle = {{2, 0}};  // it does not obey any more
  rig.order(pin, "p2", "0");
  rig.run_for(200ms);
  EXPECT_EQ(rig.designations.at(Partition{0}).id, ProcessId{2});
  rig.run_for(2 * kLease + kSession + 500ms);
  EXPECT_EQ(rig.designations.at(Partition{0}).id, ProcessId{1});
  rig.decisions.clear();
  rig.run_for(20'000ms);
  EXPECT_TRUE(rig.decisions.empty()) << "it is not tried again before its ban ends";
}

TEST(AssignerOverrides, while_moves_are_paused_only_what_nobody_owns_moves) {
  AssignerRig rig = settled(2, 8);
  rig.order(pause_moves);
  rig.order(cordon, "p2");
  rig.order(pin, "p2", "0");
  rig.join(3);
  rig.run_for(3000ms);
  EXPECT_TRUE(rig.decisions.empty()) << AssignerRig::text(rig.decisions.front());
  // Deaths and leaves go on.
  rig.members.leave(ProcessId{2}, told::seen(rig.now));
  rig.run_for(200ms);
  EXPECT_EQ(rig.named_count(2), 0u);
  EXPECT_EQ(rig.named_count(1), 4u);
  rig.decisions.clear();
  rig.order(uncordon, "p2");
  rig.join(4);
  rig.run_for(3000ms);
  EXPECT_TRUE(rig.decisions.empty());
  rig.order(resume_moves);
  rig.run_for(3000ms);
  EXPECT_GE(rig.named_count(4), 2u);
}

// Otherwise it would drain for ever, as nobody else takes over (found by the simulator).
TEST(AssignerOverrides, while_moves_are_paused_who_leads_is_named_again_when_its_successor_dies) {
  AssignerRig rig = settled(3, 9);
  rig.join(4);
  rig.idle.insert({4, 0});
  rig.run_for(200ms);
  rig.order(pause_moves);
  std::map<Partition, ProcessId> leaders;
  for (std::uint32_t p = 0; p < rig.partitions; ++p) {
    if (rig.designations.at(Partition{p}).id != ProcessId{4}) continue;
    const ProcessId leader = rig.owners.at(Partition{p}, rig.now).id;
    leaders[Partition{p}] = leader;
    rig.order(cordon, "p" + std::to_string(leader.value()));
  }
  ASSERT_EQ(leaders.size(), 2u);
  rig.kill(4);
  rig.run_for(kSession + 300ms);
  for (const auto& [partition, leader] : leaders) {
    EXPECT_EQ(rig.designations.at(partition).id, leader) << partition.value();
  }
  rig.decisions.clear();
  rig.run_for(3000ms);
  EXPECT_TRUE(rig.decisions.empty()) << "once is enough";
}

// As between two claims of its own, or when its lease lapsed (found by the simulator).
TEST(AssignerOverrides, while_moves_are_paused_who_leads_no_more_keeps_it_until_it_failed) {
  AssignerRig rig = settled(2, 8, 2);
  rig.order(pause_moves);
  rig.order(cordon, "p2");
  ASSERT_EQ(rig.named_count(2), 4u);
  rig.idle = {{2, 0}, {2, 1}};
  rig.run_for(kLease + 200ms);
  EXPECT_EQ(rig.named_count(2), 4u);
  rig.idle = {{2, 0}};
  rig.run_for(2 * kLease + kSession + 500ms);
  EXPECT_EQ(rig.notices.size(), 1u) << "one log's worth of failure";
  for (std::uint32_t p = 0; p < rig.partitions; ++p) {
    if (rig.designations.at(Partition{p}).id != ProcessId{2}) continue;
    EXPECT_EQ(rig.owners.at(Partition{p}, rig.now).id, ProcessId{2}) << p;
  }
  EXPECT_GT(rig.named_count(2), 0u) << "what it leads again stays";
  EXPECT_LT(rig.named_count(2), 4u) << "what it does not lead is named for another";
}

// A ban is of one log, and so are the pins that it makes void.
TEST(AssignerOverrides, who_is_banned_in_one_log_gets_what_is_pinned_to_it_in_another) {
  AssignerRig rig = settled(3, 6, 2);
  rig.idle = {{2, 0}};
  rig.order(pin, "p2", "0");
  rig.order(pin, "p1", "1,3,5");
  rig.run_for(2 * kLease + kSession + 1700ms);
  ASSERT_NE(rig.designations.at(Partition{0}).id, ProcessId{2});
  for (const std::uint32_t p : {1u, 3u, 5u}) {
    ASSERT_EQ(rig.designations.at(Partition{p}).id, ProcessId{1});
  }
  rig.order(pin, "p2", "1,3,5");
  rig.run_for(500ms);
  EXPECT_NE(rig.designations.at(Partition{0}).id, ProcessId{2});
  for (const std::uint32_t p : {1u, 3u, 5u}) {
    EXPECT_EQ(rig.designations.at(Partition{p}).id, ProcessId{2}) << p;
  }
}

TEST(AssignerOverrides, an_assigner_that_may_not_know_all_yet_moves_nothing_that_is_led) {
  AssignerRig rig = settled(3, 9);
  rig.overrides.tail_started(tail_at(Log{0}, 100, 100), rig.now);
  rig.overrides.read(110, {cordon, "p1", {}, 0});
  rig.join(4);
  rig.kill(2);
  rig.run_for(kSession + 200ms);
  EXPECT_EQ(rig.named_count(2), 0u) << "deaths are healed at once";
  EXPECT_EQ(rig.named_count(1), 3u) << "there may be newer overrides that are not known";
  EXPECT_TRUE(rig.overrides.uncertain());
  StandingOverrides standing;
  standing.weights["p4"] = 0;
  rig.overrides.read_list(120, list(105, standing));
  rig.run_for(200ms);
  EXPECT_EQ(rig.named_count(1), 0u);
  EXPECT_EQ(rig.named_count(4), 0u);
  EXPECT_EQ(rig.named_count(3), 9u);
}

TEST(AssignerOverrides, what_would_move_is_told_without_moving_it) {
  AssignerRig rig = settled(2, 4);
  Overrides dry = rig.overrides;
  dry.read(0, {cordon, "p2", {}, 0});
  const auto moves = Assigner::would_move({rig.members, rig.owners, rig.designations, kLease, dry},
                                          rig.logs, rig.now);
  ASSERT_EQ(moves.size(), 2u);
  EXPECT_EQ(moves[0].partition, Partition{2});
  EXPECT_EQ(moves[0].from, ProcessId{2});
  EXPECT_EQ(moves[0].to, ProcessId{1});
  EXPECT_EQ(moves[0].why, placement::Reason::cordon);
  EXPECT_TRUE(
      Assigner::would_move({rig.members, rig.owners, rig.designations, kLease, rig.overrides},
                           rig.logs, rig.now)
          .empty());
  rig.run_for(1000ms);
  EXPECT_TRUE(rig.decisions.empty());
}

}  // namespace
}  // namespace neliroute
