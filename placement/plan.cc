#include "placement/plan.h"

#include <algorithm>
#include <neliroute/detail/assert.h>

namespace neliroute::placement {
namespace {

/// A plan in the making: where partitions must go, and how much else each member may have.
class Planner {
 public:
  Planner(std::span<const PlanMember> members, std::span<const PlanPartition> partitions,
          std::span<const std::vector<MemberId>> pins)
      : members_(members),
        partitions_(partitions),
        pins_(pins),
        targets_(partitions.size(), kNobody),
        forced_(members.size()) {}

  std::vector<Move> moves() {
    for (std::size_t p = 0; p < partitions_.size(); ++p) force_designee(p);
    for (std::size_t p = 0; p < partitions_.size(); ++p) force_pin(p);
    share_the_rest();
    std::vector<Move> moves;
    for (std::size_t p = 0; p < partitions_.size(); ++p) {
      const MemberId to = targets_[p];
      if (to == kNobody || to == partitions_[p].current) continue;
      moves.push_back({Partition{static_cast<std::uint32_t>(p)}, to, reason_for(p)});
    }
    return moves;
  }

 private:
  [[nodiscard]] bool takes(MemberId member) const { return members_[member].weight > 0; }

  void force(std::size_t p, MemberId member) {
    targets_[p] = member;
    ++forced_[member];
  }

  void force_designee(std::size_t p) {
    const PlanPartition& partition = partitions_[p];
    if (partition.current == kNobody) return;
    NELIROUTE_ASSERT(partition.current < members_.size(), "an owner must be a member");
    if (partition.under_way) force(p, partition.current);
  }

  // Where it is, if that is one of them; else to the one that has the least for its weight.
  void force_pin(std::size_t p) {
    const PlanPartition& partition = partitions_[p];
    if (targets_[p] != kNobody || partition.pinned_to == PlanPartition::kNotPinned) return;
    NELIROUTE_ASSERT(partition.pinned_to < pins_.size(), "a pin must be one of those given");
    MemberId best = kNobody;
    for (const MemberId member : pins_[partition.pinned_to]) {
      NELIROUTE_ASSERT(member < members_.size(), "a partition is pinned to members");
      if (!takes(member)) continue;
      if (member == partition.current) return force(p, member);
      if (best == kNobody || has_less(member, best)) best = member;
    }
    if (best != kNobody) force(p, best);
  }

  [[nodiscard]] bool has_less(MemberId left, MemberId right) const {
    return forced_[left] * members_[right].weight < forced_[right] * members_[left].weight;
  }

  // A member that was forced to take more than the floor of its share takes nothing else, and the
  // others share what that leaves.
  void share_the_rest() {
    std::vector<Share> shares;
    for (MemberId b = 0; b < members_.size(); ++b) {
      if (takes(b)) shares.push_back({b, members_[b].weight});
    }
    std::uint64_t items = partitions_.size();
    for (MemberId b = 0; b < members_.size(); ++b) {
      if (!takes(b)) items -= forced_[b];  // it is being handed some, and was cordoned since
    }
    std::vector<Band> bands;
    while (!shares.empty()) {
      bands = bands_of(items, shares, 0);
      std::uint64_t taken = 0;
      std::vector<Share> rest;
      for (std::size_t i = 0; i < shares.size(); ++i) {
        const std::uint64_t forced = forced_[shares[i].member];
        if (forced > bands[i].least) {
          taken += forced;
        } else {
          rest.push_back(shares[i]);
        }
      }
      if (rest.size() == shares.size()) break;
      items -= taken;
      shares = std::move(rest);
    }
    if (!shares.empty()) share(shares, bands);
  }

  void share(const std::vector<Share>& shares, std::vector<Band>& bands) {
    std::vector<MemberId> takers;
    for (std::size_t i = 0; i < shares.size(); ++i) {
      takers.push_back(shares[i].member);
      bands[i].least -= forced_[shares[i].member];
      bands[i].most -= forced_[shares[i].member];
    }
    std::vector<std::size_t> free;
    std::vector<MemberId> current;
    for (std::size_t p = 0; p < partitions_.size(); ++p) {
      if (targets_[p] != kNobody) continue;
      free.push_back(p);
      current.push_back(partitions_[p].current);
    }
    const auto found = least_moves_within(current, takers, bands, members_.size());
    for (std::size_t i = 0; i < free.size(); ++i) targets_[free[i]] = found.owners[i];
  }

  [[nodiscard]] MoveReason reason_for(std::size_t p) const {
    const PlanPartition& partition = partitions_[p];
    if (partition.current == kNobody) return MoveReason::unowned;
    if (partition.pinned_to != PlanPartition::kNotPinned) {
      const auto& pin = pins_[partition.pinned_to];
      if (std::find(pin.begin(), pin.end(), targets_[p]) != pin.end()) return MoveReason::pin;
    }
    return takes(partition.current) ? MoveReason::weight : MoveReason::cordon;
  }

  std::span<const PlanMember> members_;
  std::span<const PlanPartition> partitions_;
  std::span<const std::vector<MemberId>> pins_;
  std::vector<MemberId> targets_;
  std::vector<std::uint64_t> forced_;  ///< how many partitions must go to each member
};

}  // namespace

std::string_view to_string(MoveReason reason) noexcept {
  switch (reason) {
    case MoveReason::unowned:
      return "unowned";
    case MoveReason::pin:
      return "pin";
    case MoveReason::cordon:
      return "cordon";
    case MoveReason::weight:
      return "weight";
  }
  return "";
}

std::vector<Move> plan(std::span<const PlanMember> members,
                       std::span<const PlanPartition> partitions,
                       std::span<const std::vector<MemberId>> pins) {
  return Planner(members, partitions, pins).moves();
}

}  // namespace neliroute::placement
