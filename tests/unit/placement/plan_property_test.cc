// What plan() promises, over random cases that are small enough for every assignment to be tried.
#include <gmock/gmock.h>

#include <algorithm>
#include <limits>
#include <set>

#include "placement/plan.h"
#include "tests/unit/placement/plan_rig.h"

namespace neliroute::placement {
namespace {

using testing::IsEmpty;

/// What each member must have: `is_forced` says which partitions.
struct Forced {
  std::vector<bool> is_forced;
  std::vector<std::uint64_t> by_member;
};

/// Pins; who of a pin's members has it is the plan's choice.
Forced forced_in(const Small& small, const std::vector<MemberId>& owners) {
  Forced forced{std::vector<bool>(owners.size()),
                std::vector<std::uint64_t>(small.members.size())};
  for (std::size_t p = 0; p < owners.size(); ++p) {
    const PlanPartition& partition = small.partitions[p];
    forced.is_forced[p] = small.pin_binds(partition);
    if (forced.is_forced[p]) ++forced.by_member[owners[p]];
  }
  return forced;
}

/// The floor and the ceiling of a share. Members that must have more than their share have just
/// that, and the others share what it leaves.
struct Bounds {
  std::uint64_t least = 0;
  std::uint64_t most = 0;
};

std::vector<Bounds> bounds_of(const Small& small, const std::vector<std::uint64_t>& forced,
                              std::uint64_t items) {
  std::vector<Bounds> bounds(small.members.size());
  std::vector<bool> open(bounds.size());
  for (MemberId b = 0; b < bounds.size(); ++b) open[b] = small.takes(b);
  for (;;) {
    std::uint64_t weights = 0;
    for (std::size_t b = 0; b < open.size(); ++b) weights += open[b] ? small.members[b].weight : 0;
    std::uint64_t floors = 0;
    bool above = false;
    for (std::size_t b = 0; b < open.size(); ++b) {
      if (!open[b]) continue;
      const std::uint64_t product = items * small.members[b].weight;
      bounds[b] = {product / weights, (product + weights - 1) / weights};
      floors += std::max(bounds[b].least, forced[b]);
      above = above || forced[b] > bounds[b].most;
    }
    if (!above && floors <= items) return bounds;
    std::uint64_t taken = 0;
    for (std::size_t b = 0; b < open.size(); ++b) {
      if (!open[b] || forced[b] <= (above ? bounds[b].most : bounds[b].least)) continue;
      bounds[b] = {forced[b], forced[b]};
      open[b] = false;
      taken += forced[b];
    }
    items -= taken;
  }
}

bool is_fair(const std::vector<Bounds>& bounds, const std::vector<MemberId>& owners) {
  const auto have = counts(owners, bounds.size());
  for (std::size_t b = 0; b < have.size(); ++b) {
    if (have[b] < bounds[b].least || have[b] > bounds[b].most) return false;
  }
  return true;
}

/// How many partitions that need not be anywhere leave where they are.
std::size_t cost_of(const Small& small, const Forced& forced,
                    const std::vector<MemberId>& owners) {
  std::size_t cost = 0;
  for (std::size_t p = 0; p < owners.size(); ++p) {
    if (!forced.is_forced[p] && owners[p] != small.current(small.partitions[p])) ++cost;
  }
  return cost;
}

std::size_t least_by_brute_force(const Small& small, const Forced& forced,
                                 std::vector<MemberId> owners,
                                 const std::vector<Bounds>& bounds) {
  std::vector<std::size_t> free;
  for (std::size_t p = 0; p < owners.size(); ++p) {
    if (!forced.is_forced[p]) free.push_back(p);
  }
  std::size_t all = 1;
  for (std::size_t i = 0; i < free.size(); ++i) all *= small.members.size();
  std::size_t least = std::numeric_limits<std::size_t>::max();
  for (std::size_t code = 0; code < all; ++code) {
    std::size_t rest = code;
    for (const std::size_t p : free) {
      owners[p] = static_cast<MemberId>(rest % small.members.size());
      rest /= small.members.size();
    }
    if (is_fair(bounds, owners)) least = std::min(least, cost_of(small, forced, owners));
  }
  return least;
}

TEST(PlanProperties, it_is_fair_and_moves_the_least_of_all_fair_assignments) {
  std::mt19937 random(14);
  std::size_t judged = 0;
  for (int i = 0; i < 6000; ++i) {
    Small small = draw(random);
    small.carry_out_what_is_under_way();
    const auto made = small.planned();
    if (!small.any_takes()) {
      ASSERT_THAT(made, IsEmpty());
      continue;
    }
    ++judged;
    const auto owners = after(small.partitions, made);
    for (const MemberId owner : owners) ASSERT_TRUE(small.takes(owner)) << "case " << i;
    const Forced forced = forced_in(small, owners);
    const auto bounds = bounds_of(small, forced.by_member, owners.size());
    ASSERT_TRUE(is_fair(bounds, owners)) << "case " << i;
    ASSERT_EQ(cost_of(small, forced, owners), least_by_brute_force(small, forced, owners, bounds))
        << "case " << i;
  }
  EXPECT_GT(judged, 4500u);
}

TEST(PlanProperties, it_obeys_what_is_under_way_and_pins) {
  std::mt19937 random(16);
  std::size_t pinned = 0;
  for (int i = 0; i < 6000; ++i) {
    const Small small = draw(random);
    if (!small.any_takes()) continue;
    const auto owners = after(small.partitions, small.planned());
    for (std::size_t p = 0; p < owners.size(); ++p) {
      const PlanPartition& partition = small.partitions[p];
      const MemberId current = small.current(partition);
      if (small.under_way(partition)) {
        ASSERT_EQ(owners[p], partition.designee) << "case " << i;
      } else if (small.pin_binds(partition)) {
        ++pinned;
        ASSERT_TRUE(small.is_pinned_to(partition, owners[p])) << "case " << i;
        if (small.takes(current) && small.is_pinned_to(partition, current)) {
          ASSERT_EQ(owners[p], current) << "case " << i << ": it need not move";
        }
      }
    }
  }
  EXPECT_GT(pinned, 1000u);
}

TEST(PlanProperties, each_reason_is_true) {
  std::mt19937 random(17);
  std::set<Reason> seen;
  std::size_t deep = 0;
  for (int i = 0; i < 6000; ++i) {
    const Small small = draw(random);
    for (const PlanLimits limits : {PlanLimits{}, PlanLimits{1}}) {
      for (const Designation& one : small.planned(limits)) {
        const PlanPartition& partition = small.partitions[one.partition.value()];
        seen.insert(one.reason);
        ASSERT_NE(one.to, partition.designee) << "case " << i << ": it stands already";
        ASSERT_EQ(one.reason == Reason::unowned, partition.owner == kNobody);
        ASSERT_EQ(one.reason == Reason::keep, one.to == partition.owner);
        switch (one.reason) {
          case Reason::unowned:
            break;
          case Reason::keep:
            ASSERT_FALSE(small.takes(partition.designee));
            break;
          case Reason::pin:
            ASSERT_TRUE(small.is_pinned_to(partition, one.to));
            ASSERT_FALSE(small.is_pinned_to(partition, partition.owner));
            break;
          case Reason::cordon:
            ASSERT_FALSE(small.takes(partition.owner));
            break;
          case Reason::weight: {
            ASSERT_TRUE(small.takes(partition.owner));
            ASSERT_FALSE(small.pin_binds(partition));
            // While something is under way, it may be another one's share that is kept free.
            if (Small(small).carry_out_what_is_under_way() > 0) break;
            ++deep;
            auto owners = after(small.partitions, small.planned());
            const auto must = forced_in(small, owners).by_member;
            owners[one.partition.value()] = partition.owner;
            ASSERT_FALSE(is_fair(bounds_of(small, must, owners.size()), owners)) << "case " << i;
            break;
          }
        }
      }
    }
  }
  EXPECT_EQ(seen.size(), 5u);
  EXPECT_GT(deep, 500u);
}

TEST(PlanProperties, it_changes_nothing_when_it_is_asked_again) {
  std::mt19937 random(15);
  for (int i = 0; i < 4000; ++i) {
    Small small = draw(random);
    small.designate(small.planned());
    ASSERT_THAT(small.planned(), IsEmpty()) << "case " << i << ": designated, not carried out";
    // What was under way may have been against a pin, or more than a share: one more plan.
    small.carry_out_all();
    small.designate(small.planned());
    small.carry_out_all();
    ASSERT_THAT(small.planned(), IsEmpty()) << "case " << i;
  }
}

/// Whether a limit applies to the move of this partition.
bool is_limited(const Small& small, const PlanPartition& partition) {
  return small.takes(partition.owner);
}

TEST(PlanProperties, a_limit_defers_moves_and_adds_none) {
  std::mt19937 random(18);
  std::size_t deferred = 0;
  for (int i = 0; i < 6000; ++i) {
    const Small small = draw(random, 12);
    const PlanLimits limits{static_cast<std::uint32_t>(random() % 4)};
    const auto all = after(small.partitions, small.planned());
    const auto some = after(small.partitions, small.planned(limits));
    std::size_t moving = 0;
    std::size_t under_way = 0;
    std::size_t held_back = 0;
    for (std::size_t p = 0; p < all.size(); ++p) {
      const PlanPartition& partition = small.partitions[p];
      if (!is_limited(small, partition)) {
        ASSERT_EQ(some[p], all[p]) << "case " << i << ": what is unowned or cordoned goes at once";
        continue;
      }
      if (some[p] != partition.owner) ++moving;
      if (small.under_way(partition)) ++under_way;
      if (some[p] == all[p]) continue;
      ++held_back;
      ASSERT_EQ(some[p], partition.owner) << "case " << i << ": what is deferred stays";
    }
    ASSERT_LE(moving, std::max<std::size_t>(under_way, limits.moves_at_once)) << "case " << i;
    if (held_back > 0) {
      ASSERT_GE(moving, limits.moves_at_once) << "case " << i << ": nothing waits needlessly";
      ++deferred;
    }
  }
  EXPECT_GT(deferred, 500u);
}

/// How many of these change owners.
std::size_t moves_in(const Small& small, const std::vector<Designation>& made) {
  return static_cast<std::size_t>(
      std::count_if(made.begin(), made.end(), [&](const Designation& one) {
        return one.to != small.partitions[one.partition.value()].owner;
      }));
}

/// Plans again whenever one of the designations was carried out, until nothing is left to do; how
/// many partitions changed their owners.
std::size_t moved_in_the_end(Small& small, PlanLimits limits, std::mt19937& random) {
  std::size_t moved = 0;
  for (;;) {
    small.designate(small.planned(limits));
    std::vector<PlanPartition*> under_way;
    for (PlanPartition& partition : small.partitions) {
      if (small.under_way(partition)) under_way.push_back(&partition);
    }
    if (under_way.empty()) return moved;
    PlanPartition& next = *under_way[random() % under_way.size()];
    next.owner = next.designee;
    if (++moved > 10 * small.partitions.size()) return moved;
  }
}

TEST(PlanProperties, with_any_limit_as_many_partitions_move_in_the_end) {
  // With one pin at most: of pins that overlap, the order may decide which of their members is
  // named, and so what else has to move.
  std::mt19937 random(19);
  std::size_t moves = 0;
  for (int i = 0; i < 6000; ++i) {
    Small start = draw(random, 12, 1);
    // From a state in which nothing is under way.
    for (PlanPartition& partition : start.partitions) partition.designee = partition.owner;
    const std::size_t least = start.planned().size();
    for (const std::uint32_t limit : {1U, 2U, UINT32_MAX}) {
      Small small = start;
      ASSERT_EQ(moved_in_the_end(small, {limit}, random), least) << "case " << i;
      ASSERT_THAT(small.planned(), IsEmpty()) << "case " << i;
    }
    moves += least;
  }
  EXPECT_GT(moves, 10'000u);
}

// As when members join one soon after the other: whoever plans must not move something away from a
// third one because the first newcomer has too much for a while.
TEST(PlanProperties, what_is_under_way_adds_no_moves) {
  std::mt19937 random(21);
  std::size_t above = 0;
  for (int i = 0; i < 6000; ++i) {
    Small small = draw(random, 12, 1);
    Small carried_out = small;
    const std::size_t under_way = carried_out.carry_out_what_is_under_way();
    const std::size_t least = under_way + moves_in(carried_out, carried_out.planned());
    const std::size_t at_once = moves_in(small, small.planned());
    ASSERT_EQ(moved_in_the_end(small, {}, random), least) << "case " << i;
    ASSERT_THAT(small.planned(), IsEmpty()) << "case " << i;
    if (under_way + at_once < least) ++above;
  }
  EXPECT_GT(above, 100u) << "moves that had to wait for one under way";
}

TEST(PlanProperties, with_any_pins_and_limit_an_end_is_reached) {
  std::mt19937 random(20);
  for (int i = 0; i < 6000; ++i) {
    Small small = draw(random, 12, 3);
    if (!small.any_takes()) continue;
    ASSERT_LE(moved_in_the_end(small, {1 + static_cast<std::uint32_t>(i % 3)}, random),
              3 * small.partitions.size())
        << "case " << i;
    ASSERT_THAT(small.planned(), IsEmpty()) << "case " << i;
    const auto owners = after(small.partitions, {});
    const Forced forced = forced_in(small, owners);
    ASSERT_TRUE(is_fair(bounds_of(small, forced.by_member, owners.size()), owners))
        << "case " << i;
  }
}

}  // namespace
}  // namespace neliroute::placement
