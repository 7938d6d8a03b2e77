// What the tests of plan() share: partitions in few words, what designations lead to, and random
// cases that are small enough for every assignment to be tried.
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "placement/plan.h"

namespace neliroute::placement {

inline std::vector<PlanPartition> owned(const std::vector<MemberId>& owners) {
  std::vector<PlanPartition> partitions;
  for (const MemberId owner : owners) {
    partitions.push_back({owner, owner, PlanPartition::kNotPinned});
  }
  return partitions;
}

/// Once all designations are carried out.
inline std::vector<MemberId> after(const std::vector<PlanPartition>& partitions,
                                   const std::vector<Designation>& designations) {
  std::vector<MemberId> owners;
  for (const PlanPartition& partition : partitions) {
    owners.push_back(partition.designee != kNobody ? partition.designee : partition.owner);
  }
  for (const Designation& one : designations) owners[one.partition.value()] = one.to;
  return owners;
}

inline std::vector<std::size_t> counts(const std::vector<MemberId>& owners, std::size_t members) {
  std::vector<std::size_t> counts(members);
  for (const MemberId owner : owners) {
    if (owner != kNobody) ++counts[owner];
  }
  return counts;
}

struct Small {
  std::vector<PlanMember> members;
  std::vector<PlanPartition> partitions;
  std::vector<std::vector<MemberId>> pins;

  [[nodiscard]] bool takes(MemberId member) const {
    return member != kNobody && members[member].weight > 0;
  }
  [[nodiscard]] bool any_takes() const {
    return std::any_of(members.begin(), members.end(),
                       [](const PlanMember& member) { return member.weight > 0; });
  }
  [[nodiscard]] bool under_way(const PlanPartition& partition) const {
    return takes(partition.designee) && partition.designee != partition.owner;
  }
  [[nodiscard]] MemberId current(const PlanPartition& partition) const {
    return takes(partition.designee) ? partition.designee : partition.owner;
  }
  [[nodiscard]] bool is_pinned_to(const PlanPartition& partition, MemberId member) const {
    if (partition.pinned_to == PlanPartition::kNotPinned) return false;
    const auto& pin = pins[partition.pinned_to];
    return std::find(pin.begin(), pin.end(), member) != pin.end();
  }
  /// Whether a member of its pin takes anything.
  [[nodiscard]] bool pin_binds(const PlanPartition& partition) const {
    for (MemberId b = 0; b < members.size(); ++b) {
      if (takes(b) && is_pinned_to(partition, b)) return true;
    }
    return false;
  }
  [[nodiscard]] std::vector<Designation> planned(PlanLimits limits = {}) const {
    return plan(members, partitions, pins, limits);
  }
  void designate(const std::vector<Designation>& designations) {
    for (const Designation& one : designations) {
      partitions[one.partition.value()].designee = one.to;
    }
  }
  /// How many that were.
  std::size_t carry_out_what_is_under_way() {
    std::size_t carried_out = 0;
    for (PlanPartition& partition : partitions) {
      if (!under_way(partition)) continue;
      partition.owner = partition.designee;
      ++carried_out;
    }
    return carried_out;
  }
  void carry_out_all() {
    for (PlanPartition& partition : partitions) {
      if (partition.designee != kNobody) partition.owner = partition.designee;
    }
  }
};

/// Any state, however it came about. `pins`: at most this many; at most four members.
inline Small draw(std::mt19937& random, unsigned most_partitions = 6, unsigned most_pins = 2) {
  const auto below = [&](std::size_t most) { return static_cast<std::uint32_t>(random() % most); };
  Small small;
  small.members.resize(1 + below(4));
  const auto n = small.members.size();
  const auto anybody = [&] {
    const MemberId member = below(n + 1);
    return member == n ? kNobody : member;
  };
  for (PlanMember& member : small.members) member.weight = below(4);
  small.pins.resize(below(most_pins + 1));
  for (auto& pin : small.pins) {
    for (MemberId b = 0; b < n; ++b) {
      if (below(2) == 0) pin.push_back(b);
    }
  }
  small.partitions.resize(1 + below(most_partitions));
  for (PlanPartition& partition : small.partitions) {
    partition.owner = anybody();
    partition.designee = below(4) == 0 ? anybody() : partition.owner;
    if (!small.pins.empty() && below(4) == 0) partition.pinned_to = below(small.pins.size());
  }
  return small;
}

}  // namespace neliroute::placement
