// plan(), behaviour by behaviour; plan_property_test.cc has its promises over random cases.
#include "placement/plan.h"

#include <gmock/gmock.h>

#include <vector>

#include "tests/unit/placement/plan_rig.h"

namespace neliroute::placement {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(Plan, gives_what_nobody_owns_to_those_who_have_least) {
  const std::vector<PlanMember> members(3);
  const auto partitions = owned({0, 0, 1, kNobody, kNobody, kNobody});
  const auto made = plan(members, partitions);
  EXPECT_THAT(counts(after(partitions, made), 3), ElementsAre(2, 2, 2));
  EXPECT_EQ(made.size(), 3u);
  for (const Designation& one : made) EXPECT_EQ(one.reason, Reason::unowned);
}

TEST(Plan, moves_nothing_that_is_within_the_weights) {
  const std::vector<PlanMember> members(3);
  EXPECT_THAT(plan(members, owned({0, 0, 1, 1, 2})), IsEmpty());
}

TEST(Plan, shares_out_by_weight) {
  const std::vector<PlanMember> members{{1}, {3}};
  const auto partitions = owned({0, 0, 0, 0, 1, 1, 1, 1});
  const auto made = plan(members, partitions);
  EXPECT_THAT(counts(after(partitions, made), 2), ElementsAre(2, 6));
  ASSERT_EQ(made.size(), 2u);
  EXPECT_EQ(made[0].reason, Reason::weight);
}

TEST(Plan, empties_a_cordoned_member) {
  const std::vector<PlanMember> members{{0}, {1}, {1}};
  const auto partitions = owned({0, 0, 1, 2});
  const auto made = plan(members, partitions);
  EXPECT_THAT(counts(after(partitions, made), 3), ElementsAre(0, 2, 2));
  ASSERT_EQ(made.size(), 2u);
  EXPECT_EQ(made[0].reason, Reason::cordon);
}

TEST(Plan, leaves_everything_where_it_is_if_nobody_takes_anything) {
  const std::vector<PlanMember> members{{0}, {0}};
  EXPECT_THAT(plan(members, owned({0, 1, kNobody})), IsEmpty());
  EXPECT_THAT(plan({}, owned({kNobody})), IsEmpty());
}

TEST(Plan, changes_no_designation_that_is_being_carried_out) {
  const std::vector<PlanMember> members(2);
  std::vector<PlanPartition> partitions = owned({1, 1, 1, 1});
  for (PlanPartition& partition : partitions) partition.designee = 0;
  EXPECT_THAT(plan(members, partitions), IsEmpty());
  partitions[1].owner = 0;
  const auto made = plan(members, partitions);
  ASSERT_EQ(made.size(), 1u);
  EXPECT_EQ(made[0], (Designation{Partition{1}, 1, Reason::weight}));
}

// Two joined, one right after the other. The first will give one of its six to the second: if
// another member gave it instead, it would have too few, and get one of the six in turn.
TEST(Plan, keeps_a_place_for_what_a_newcomer_will_give_away) {
  const std::vector<PlanMember> members(5);
  std::vector<PlanPartition> partitions;
  for (MemberId p = 0; p < 24; ++p) {
    const MemberId owner = p % 3;
    partitions.push_back({owner, p < 18 ? owner : 3, PlanPartition::kNotPinned});
  }
  const auto made = plan(members, partitions);
  EXPECT_THAT(counts(after(partitions, made), 5), ElementsAre(5, 5, 5, 6, 3));
  for (PlanPartition& partition : partitions) partition.owner = partition.designee;
  for (const Designation& one : made) {
    partitions[one.partition.value()] = {one.to, one.to, PlanPartition::kNotPinned};
  }
  const auto rest = plan(members, partitions);
  ASSERT_EQ(rest.size(), 1u);
  EXPECT_EQ(rest[0].to, 4u);
  EXPECT_EQ(partitions[rest[0].partition.value()].owner, 3u);
}

TEST(Plan, names_another_if_the_designee_is_cordoned_meanwhile) {
  const std::vector<PlanMember> members{{0}, {1}, {1}};
  std::vector<PlanPartition> partitions = owned({1, 1, 2});
  partitions.push_back({kNobody, 0, PlanPartition::kNotPinned});
  EXPECT_THAT(plan(members, partitions),
              ElementsAre(Designation{Partition{3}, 2, Reason::unowned}));
}

TEST(Plan, names_the_owner_again_if_its_successor_is_gone) {
  const std::vector<PlanMember> members{{0}, {1}, {1}};
  std::vector<PlanPartition> partitions = owned({1, 1, 2, 2});
  partitions[0].designee = 0;
  partitions[3].designee = kNobody;
  EXPECT_THAT(plan(members, partitions),
              ElementsAre(Designation{Partition{0}, 1, Reason::keep},
                          Designation{Partition{3}, 2, Reason::keep}))
      << "else they would drain for ever";
}

TEST(Plan, shares_what_is_pinned_to_several_by_their_weights) {
  const std::vector<PlanMember> members{{1}, {3}};
  std::vector<PlanPartition> partitions(4);
  for (PlanPartition& partition : partitions) partition.pinned_to = 0;
  const std::vector<std::vector<MemberId>> pins{{0, 1}};
  EXPECT_THAT(counts(after(partitions, plan(members, partitions, pins)), 2), ElementsAre(1, 3));
}

TEST(Plan, puts_a_pinned_partition_where_it_is_pinned_to) {
  const std::vector<PlanMember> members(3);
  std::vector<PlanPartition> partitions = owned({0, 0, 1, 1, 2, 2});
  partitions[0].pinned_to = 0;
  const std::vector<std::vector<MemberId>> pins{{2}};
  const auto made = plan(members, partitions, pins);
  const auto owners = after(partitions, made);
  EXPECT_EQ(owners[0], 2u);
  EXPECT_THAT(counts(owners, 3), ElementsAre(2, 2, 2)) << "another goes back for it";
  EXPECT_EQ(made[0].reason, Reason::pin);
  EXPECT_EQ(made.size(), 2u);
}

TEST(Plan, spreads_pins_over_the_members_of_their_set_and_leaves_those_that_fit) {
  const std::vector<PlanMember> members(4);
  std::vector<PlanPartition> partitions = owned({0, 1, 2, 3, 0, 1, 2, 3});
  for (std::size_t p = 0; p < 4; ++p) partitions[p].pinned_to = 0;
  const std::vector<std::vector<MemberId>> pins{{0, 1}};
  const auto owners = after(partitions, plan(members, partitions, pins));
  EXPECT_EQ(owners[0], 0u);
  EXPECT_EQ(owners[1], 1u);
  EXPECT_THAT(counts(owners, 4), ElementsAre(2, 2, 2, 2));
}

TEST(Plan, counts_what_stays_with_a_member_before_it_spreads_pins) {
  const std::vector<PlanMember> members(3);
  std::vector<PlanPartition> partitions = owned({2, 2, 0, 0});
  for (PlanPartition& partition : partitions) partition.pinned_to = 0;
  const std::vector<std::vector<MemberId>> pins{{0, 1}};
  EXPECT_THAT(after(partitions, plan(members, partitions, pins)), ElementsAre(1, 1, 0, 0));
}

TEST(Plan, lets_others_have_a_pinned_partition_while_its_member_takes_nothing) {
  const std::vector<PlanMember> members{{0}, {1}, {1}};
  std::vector<PlanPartition> partitions = owned({0, 1, 2});
  partitions[0].pinned_to = 0;
  const std::vector<std::vector<MemberId>> pins{{0}};
  const auto made = plan(members, partitions, pins);
  ASSERT_EQ(made.size(), 1u);
  EXPECT_EQ(made[0].reason, Reason::cordon);
}

TEST(Plan, says_cordon_if_a_pinned_partition_leaves_a_member_of_its_pin) {
  const std::vector<PlanMember> members{{0}, {1}, {1}};
  std::vector<PlanPartition> partitions = owned({0, 0, 2});
  partitions[0].pinned_to = 0;
  partitions[1].pinned_to = 1;
  const std::vector<std::vector<MemberId>> pins{{0, 1}, {1}};
  EXPECT_THAT(plan(members, partitions, pins),
              ElementsAre(Designation{Partition{0}, 1, Reason::cordon},
                          Designation{Partition{1}, 1, Reason::pin}));
}

TEST(Plan, of_more_pins_than_a_share_the_others_have_less) {
  const std::vector<PlanMember> members(3);
  std::vector<PlanPartition> partitions = owned(std::vector<MemberId>(9, kNobody));
  for (std::size_t p = 0; p < 7; ++p) partitions[p].pinned_to = 0;
  const std::vector<std::vector<MemberId>> pins{{1}};
  const auto owners = after(partitions, plan(members, partitions, pins));
  EXPECT_THAT(counts(owners, 3), ElementsAre(1, 7, 1));
}

/// Member 2 is new and should have two of six.
const std::vector<PlanMember> kThree(3);

TEST(PlanLimits, defer_moves_between_members_that_stay) {
  const auto partitions = owned({0, 0, 0, 1, 1, 1});
  EXPECT_EQ(plan(kThree, partitions).size(), 2u) << "all at once, if nothing is said";
  EXPECT_EQ(plan(kThree, partitions, {}, {1}).size(), 1u);
  EXPECT_THAT(plan(kThree, partitions, {}, {0}), IsEmpty());
}

TEST(PlanLimits, count_what_is_under_way) {
  std::vector<PlanPartition> partitions = owned({0, 0, 0, 1, 1, 1});
  partitions[0].designee = 2;
  EXPECT_THAT(plan(kThree, partitions, {}, {1}), IsEmpty());
  EXPECT_THAT(plan(kThree, partitions, {}, {2}),
              ElementsAre(Designation{Partition{5}, 2, Reason::weight}));
}

TEST(PlanLimits, hold_back_nothing_that_is_unowned_or_cordoned) {
  const std::vector<PlanMember> members{{0}, {1}, {1}};
  const auto partitions = owned({0, 0, 1, kNobody, kNobody});
  EXPECT_EQ(plan(members, partitions, {}, {0}).size(), 4u);
  std::vector<PlanPartition> on_its_way = owned({0, 1, 1, 1, 1});
  on_its_way[0].designee = 2;
  EXPECT_EQ(plan(members, on_its_way, {}, {1}).size(), 1u) << "what leaves 0 does not count";
}

TEST(PlanLimits, let_pins_go_first) {
  std::vector<PlanPartition> partitions = owned({0, 0, 0, 0, 0, 1});
  partitions[5].pinned_to = 0;
  const std::vector<std::vector<MemberId>> pins{{2}};
  EXPECT_THAT(plan(kThree, partitions, pins, {1}),
              ElementsAre(Designation{Partition{5}, 2, Reason::pin}));
}

TEST(PlanLimits, name_the_owner_again_if_they_leave_no_move_away_from_a_dead_successor) {
  std::vector<PlanPartition> partitions = owned({0, 0, 0, 1, 1, 1});
  partitions[2].designee = kNobody;
  EXPECT_THAT(plan(kThree, partitions, {}, {0}),
              ElementsAre(Designation{Partition{2}, 0, Reason::keep}));
}

TEST(Plan, of_10000_members_and_65536_partitions_moves_little) {
  std::vector<PlanMember> members(10'000);
  for (std::size_t b = 0; b < members.size(); ++b)
    members[b].weight = 1 + static_cast<std::uint32_t>(b % 3);
  std::vector<PlanPartition> partitions(65'536);
  const auto first = plan(members, partitions);
  for (const Designation& one : first) {
    partitions[one.partition.value()] = {one.to, one.to, PlanPartition::kNotPinned};
  }
  members[17].weight = 0;
  const auto made = plan(members, partitions);
  EXPECT_GT(made.size(), 0u);
  EXPECT_LT(made.size(), 65'536u / 100) << "what one member has, and little else";
}

}  // namespace
}  // namespace neliroute::placement
