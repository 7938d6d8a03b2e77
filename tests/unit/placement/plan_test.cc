#include "placement/plan.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

namespace neliroute::placement {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::vector<PlanPartition> owned(const std::vector<MemberId>& owners) {
  std::vector<PlanPartition> partitions;
  for (const MemberId owner : owners)
    partitions.push_back({owner, false, PlanPartition::kNotPinned});
  return partitions;
}

std::vector<MemberId> after(const std::vector<PlanPartition>& partitions,
                            const std::vector<Move>& moves) {
  std::vector<MemberId> owners;
  for (const PlanPartition& partition : partitions) owners.push_back(partition.current);
  for (const Move& move : moves) owners[move.partition.value()] = move.to;
  return owners;
}

std::vector<std::size_t> counts(const std::vector<MemberId>& owners, std::size_t members) {
  std::vector<std::size_t> counts(members);
  for (const MemberId owner : owners) {
    if (owner != kNobody) ++counts[owner];
  }
  return counts;
}

TEST(Plan, gives_what_nobody_owns_to_those_who_have_least) {
  const std::vector<PlanMember> members(3);
  const auto partitions = owned({0, 0, 1, kNobody, kNobody, kNobody});
  const auto moves = plan(members, partitions);
  EXPECT_THAT(counts(after(partitions, moves), 3), ElementsAre(2, 2, 2));
  EXPECT_EQ(moves.size(), 3u);
  for (const Move& move : moves) EXPECT_EQ(move.reason, MoveReason::unowned);
}

TEST(Plan, moves_nothing_that_is_within_the_weights) {
  const std::vector<PlanMember> members(3);
  EXPECT_THAT(plan(members, owned({0, 0, 1, 1, 2})), IsEmpty());
}

TEST(Plan, shares_out_by_weight) {
  const std::vector<PlanMember> members{{1}, {3}};
  const auto partitions = owned({0, 0, 0, 0, 1, 1, 1, 1});
  const auto moves = plan(members, partitions);
  EXPECT_THAT(counts(after(partitions, moves), 2), ElementsAre(2, 6));
  ASSERT_EQ(moves.size(), 2u);
  EXPECT_EQ(moves[0].reason, MoveReason::weight);
}

TEST(Plan, empties_a_cordoned_member) {
  const std::vector<PlanMember> members{{0}, {1}, {1}};
  const auto partitions = owned({0, 0, 1, 2});
  const auto moves = plan(members, partitions);
  EXPECT_THAT(counts(after(partitions, moves), 3), ElementsAre(0, 2, 2));
  ASSERT_EQ(moves.size(), 2u);
  EXPECT_EQ(moves[0].reason, MoveReason::cordon);
}

TEST(Plan, leaves_everything_where_it_is_if_nobody_takes_anything) {
  const std::vector<PlanMember> members{{0}, {0}};
  EXPECT_THAT(plan(members, owned({0, 1, kNobody})), IsEmpty());
  EXPECT_THAT(plan({}, owned({kNobody})), IsEmpty());
}

TEST(Plan, changes_no_designation_that_is_being_carried_out) {
  const std::vector<PlanMember> members(2);
  std::vector<PlanPartition> partitions = owned({0, 0, 0, 0});
  for (PlanPartition& partition : partitions) partition.under_way = true;
  EXPECT_THAT(plan(members, partitions), IsEmpty());
  partitions[1].under_way = false;
  const auto moves = plan(members, partitions);
  ASSERT_EQ(moves.size(), 1u);
  EXPECT_EQ(moves[0].partition, Partition{1});
}

TEST(Plan, puts_a_pinned_partition_where_it_is_pinned_to) {
  const std::vector<PlanMember> members(3);
  std::vector<PlanPartition> partitions = owned({0, 0, 1, 1, 2, 2});
  partitions[0].pinned_to = 0;
  const std::vector<std::vector<MemberId>> pins{{2}};
  const auto moves = plan(members, partitions, pins);
  const auto owners = after(partitions, moves);
  EXPECT_EQ(owners[0], 2u);
  EXPECT_THAT(counts(owners, 3), ElementsAre(2, 2, 2)) << "another goes back for it";
  EXPECT_EQ(moves[0].reason, MoveReason::pin);
  EXPECT_EQ(moves.size(), 2u);
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

TEST(Plan, lets_others_have_a_pinned_partition_while_its_member_takes_nothing) {
  const std::vector<PlanMember> members{{0}, {1}, {1}};
  std::vector<PlanPartition> partitions = owned({0, 1, 2});
  partitions[0].pinned_to = 0;
  const std::vector<std::vector<MemberId>> pins{{0}};
  const auto moves = plan(members, partitions, pins);
  ASSERT_EQ(moves.size(), 1u);
  EXPECT_EQ(moves[0].reason, MoveReason::cordon);
}

TEST(Plan, of_more_pins_than_a_share_the_others_have_less) {
  const std::vector<PlanMember> members(3);
  std::vector<PlanPartition> partitions = owned(std::vector<MemberId>(9, kNobody));
  for (std::size_t p = 0; p < 7; ++p) partitions[p].pinned_to = 0;
  const std::vector<std::vector<MemberId>> pins{{1}};
  const auto owners = after(partitions, plan(members, partitions, pins));
  EXPECT_THAT(counts(owners, 3), ElementsAre(1, 7, 1));
}

/// A case small enough for every assignment to be tried.
struct Small {
  std::vector<PlanMember> members;
  std::vector<PlanPartition> partitions;
  std::vector<std::vector<MemberId>> pins;
};

Small draw(std::mt19937& random) {
  const auto below = [&](unsigned most) { return random() % most; };
  Small small;
  small.members.resize(1 + below(4));
  for (PlanMember& member : small.members) member.weight = static_cast<std::uint32_t>(below(4));
  small.pins.resize(below(3));
  for (auto& pin : small.pins) {
    for (MemberId b = 0; b < small.members.size(); ++b) {
      if (below(2) == 0) pin.push_back(b);
    }
  }
  small.partitions.resize(1 + below(6));
  for (PlanPartition& partition : small.partitions) {
    const auto owner = below(static_cast<unsigned>(small.members.size()) + 1);
    partition.current = owner == small.members.size() ? kNobody : static_cast<MemberId>(owner);
    const bool takes = partition.current != kNobody && small.members[partition.current].weight > 0;
    partition.under_way = takes && below(5) == 0;
    if (!small.pins.empty() && below(4) == 0) {
      partition.pinned_to = static_cast<std::uint32_t>(below(
          static_cast<unsigned>(small.pins.size())));
    }
  }
  return small;
}

/// Whether each member that takes anything has the floor or the ceiling of its share, or what it
/// must have if that is more.
bool is_fair(const Small& small, const std::vector<MemberId>& owners,
             const std::vector<std::uint64_t>& forced) {
  std::vector<std::size_t> have = counts(owners, small.members.size());
  std::vector<bool> saturated(small.members.size(), false);
  std::uint64_t items = owners.size();
  for (bool again = true; again;) {
    again = false;
    std::uint64_t weights = 0;
    for (std::size_t b = 0; b < have.size(); ++b) {
      if (!saturated[b]) weights += small.members[b].weight;
    }
    std::uint64_t taken = 0;
    for (std::size_t b = 0; b < have.size(); ++b) {
      if (saturated[b] || small.members[b].weight == 0) continue;
      if (forced[b] <= items * small.members[b].weight / weights) continue;
      saturated[b] = again = true;
      taken += forced[b];
    }
    items -= taken;
  }
  std::uint64_t weights = 0;
  for (std::size_t b = 0; b < have.size(); ++b) {
    if (!saturated[b]) weights += small.members[b].weight;
  }
  for (std::size_t b = 0; b < have.size(); ++b) {
    const std::uint64_t weight = small.members[b].weight;
    if (weight == 0) {
      if (have[b] > 0) return false;
    } else if (saturated[b]) {
      if (have[b] != forced[b]) return false;
    } else if (have[b] < items * weight / weights ||
               have[b] > (items * weight + weights - 1) / weights) {
      return false;
    }
  }
  return true;
}

TEST(Plan, is_fair_and_moves_the_least_of_all_fair_assignments) {
  std::mt19937 random(14);
  std::size_t judged = 0;
  for (int i = 0; i < 4000; ++i) {
    const Small small = draw(random);
    const auto moves = plan(small.members, small.partitions, small.pins);
    const auto owners = after(small.partitions, moves);
    const bool nobody_takes = std::all_of(small.members.begin(), small.members.end(),
                                          [](const PlanMember& m) { return m.weight == 0; });
    if (nobody_takes) {
      EXPECT_THAT(moves, IsEmpty());
      continue;
    }
    ++judged;
    // What must stay, and what a pin says, as the plan chose among the pin's members.
    std::vector<std::uint64_t> forced(small.members.size());
    std::vector<bool> is_forced(owners.size(), false);
    for (std::size_t p = 0; p < owners.size(); ++p) {
      const PlanPartition& partition = small.partitions[p];
      bool pinned = false;
      if (partition.pinned_to != PlanPartition::kNotPinned) {
        for (const MemberId b : small.pins[partition.pinned_to]) {
          pinned = pinned || small.members[b].weight > 0;
        }
        if (pinned && !partition.under_way) {
          const auto& pin = small.pins[partition.pinned_to];
          ASSERT_TRUE(std::find(pin.begin(), pin.end(), owners[p]) != pin.end());
          const bool fits = partition.current != kNobody &&
                            small.members[partition.current].weight > 0 &&
                            std::find(pin.begin(), pin.end(), partition.current) != pin.end();
          if (fits) {
            ASSERT_EQ(owners[p], partition.current) << "it need not move";
          }
        }
      }
      if (partition.under_way) {
        ASSERT_EQ(owners[p], partition.current);
      }
      is_forced[p] = pinned || partition.under_way;
      if (is_forced[p]) ++forced[owners[p]];
    }
    ASSERT_TRUE(is_fair(small, owners, forced)) << "case " << i;
    // Every assignment of the others.
    std::size_t least = std::numeric_limits<std::size_t>::max();
    std::vector<MemberId> tried = owners;
    std::vector<std::size_t> free;
    for (std::size_t p = 0; p < owners.size(); ++p) {
      if (!is_forced[p]) free.push_back(p);
    }
    std::size_t all = 1;
    for (std::size_t n = 0; n < free.size(); ++n) all *= small.members.size();
    for (std::size_t code = 0; code < all; ++code) {
      std::size_t rest = code;
      std::size_t cost = 0;
      for (const std::size_t p : free) {
        tried[p] = static_cast<MemberId>(rest % small.members.size());
        rest /= small.members.size();
        cost += tried[p] != small.partitions[p].current ? 1U : 0U;
      }
      if (cost < least && is_fair(small, tried, forced)) least = cost;
    }
    std::size_t cost = 0;
    for (const std::size_t p : free) cost += owners[p] != small.partitions[p].current ? 1U : 0U;
    ASSERT_EQ(cost, least) << "case " << i;
  }
  EXPECT_GT(judged, 3000u);
}

TEST(Plan, moves_nothing_when_it_is_asked_again) {
  std::mt19937 random(15);
  for (int i = 0; i < 2000; ++i) {
    Small small = draw(random);
    const auto owners = after(small.partitions, plan(small.members, small.partitions, small.pins));
    for (std::size_t p = 0; p < owners.size(); ++p) {
      small.partitions[p].current = owners[p];
      small.partitions[p].under_way = false;
    }
    const auto again = plan(small.members, small.partitions, small.pins);
    // A designation that was under way may have held more than the share; nothing else moves.
    const auto settled = after(small.partitions, again);
    for (std::size_t p = 0; p < owners.size(); ++p) small.partitions[p].current = settled[p];
    EXPECT_THAT(plan(small.members, small.partitions, small.pins), IsEmpty()) << "case " << i;
  }
}

TEST(Plan, of_10000_members_and_65536_partitions_is_made_soon) {
  std::vector<PlanMember> members(10'000);
  for (std::size_t b = 0; b < members.size(); ++b)
    members[b].weight = 1 + static_cast<std::uint32_t>(b % 3);
  std::vector<PlanPartition> partitions(65'536);
  const auto first = plan(members, partitions);
  for (const Move& move : first) partitions[move.partition.value()].current = move.to;
  members[17].weight = 0;
  const auto moves = plan(members, partitions);
  EXPECT_GT(moves.size(), 0u);
  EXPECT_LT(moves.size(), 65'536u / 100) << "what one member has, and little else";
}

}  // namespace
}  // namespace neliroute::placement
