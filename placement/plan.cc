#include "placement/plan.h"

#include <algorithm>
#include <neliroute/detail/assert.h>

#include "placement/least_moves.h"

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

  std::vector<Designation> designations(PlanLimits limits) {
    check();
    leave_what_pins_allow();
    place_what_is_pinned();
    share_the_rest();
    leave_what_is_under_way();
    defer_what_is_above(limits.moves_at_once);
    std::vector<Designation> made;
    for (std::size_t p = 0; p < partitions_.size(); ++p) {
      if (targets_[p] == kNobody || targets_[p] == partitions_[p].designee) continue;
      made.push_back({Partition{static_cast<std::uint32_t>(p)}, targets_[p], reason_for(p)});
    }
    return made;
  }

 private:
  void check() const {
    const auto known = [this](MemberId member) {
      return member == kNobody || member < members_.size();
    };
    for (const PlanPartition& partition : partitions_) {
      NELIROUTE_ASSERT(known(partition.owner) && known(partition.designee),
                       "an owner or a designee must be a member");
      NELIROUTE_ASSERT(partition.pinned_to == PlanPartition::kNotPinned ||
                           partition.pinned_to < pins_.size(),
                       "a pin must be one of those given");
    }
    for (const auto& pin : pins_) {
      for (const MemberId member : pin) {
        NELIROUTE_ASSERT(member < members_.size(), "a partition is pinned to members");
      }
    }
  }

  [[nodiscard]] bool takes(MemberId member) const {
    return member != kNobody && members_[member].weight > 0;
  }
  [[nodiscard]] bool is_under_way(const PlanPartition& partition) const {
    return takes(partition.designee) && partition.designee != partition.owner;
  }
  /// Where it stays unless there is a reason to move it.
  [[nodiscard]] MemberId current(const PlanPartition& partition) const {
    return takes(partition.designee) ? partition.designee : partition.owner;
  }
  [[nodiscard]] bool allows(const PlanPartition& partition, MemberId member) const {
    if (partition.pinned_to == PlanPartition::kNotPinned) return false;
    const auto& pin = pins_[partition.pinned_to];
    return std::find(pin.begin(), pin.end(), member) != pin.end();
  }

  void force(std::size_t p, MemberId member) {
    targets_[p] = member;
    ++forced_[member];
  }

  // All of these before any is placed, so that the others go to the members that have less.
  void leave_what_pins_allow() {
    for (std::size_t p = 0; p < partitions_.size(); ++p) {
      const MemberId at = current(partitions_[p]);
      if (targets_[p] == kNobody && takes(at) && allows(partitions_[p], at)) force(p, at);
    }
  }

  void place_what_is_pinned() {
    for (std::size_t p = 0; p < partitions_.size(); ++p) {
      const std::uint32_t pin = partitions_[p].pinned_to;
      if (targets_[p] != kNobody || pin == PlanPartition::kNotPinned) continue;
      MemberId best = kNobody;
      for (const MemberId member : pins_[pin]) {
        if (takes(member) && (best == kNobody || has_less(member, best))) best = member;
      }
      if (best != kNobody) force(p, best);
    }
  }

  // Of what is pinned only: with the rest, too, the choice would depend on which moves are made
  // first, and a limit could add moves.
  [[nodiscard]] bool has_less(MemberId left, MemberId right) const {
    return forced_[left] * members_[right].weight < forced_[right] * members_[left].weight;
  }

  // A member that must have more than its share takes nothing else, and the others share what that
  // leaves.
  void share_the_rest() {
    std::vector<Share> shares;
    for (MemberId b = 0; b < members_.size(); ++b) {
      if (takes(b)) shares.push_back({b, members_[b].weight});
    }
    std::uint64_t items = partitions_.size();
    while (!shares.empty()) {
      std::vector<Band> bands = bands_of(items, shares, 0);
      const std::vector<bool> full = which_are_full(items, shares, bands);
      std::vector<Share> rest;
      for (std::size_t i = 0; i < shares.size(); ++i) {
        if (full[i]) {
          items -= forced_[shares[i].member];
        } else {
          rest.push_back(shares[i]);
        }
      }
      if (rest.size() == shares.size()) return share(shares, bands);
      shares = std::move(rest);
    }
  }

  // Those that must have more than their ceilings. If there are none, but so many must have their
  // ceilings that the others could not have their floors, then these.
  [[nodiscard]] std::vector<bool> which_are_full(std::uint64_t items,
                                                 const std::vector<Share>& shares,
                                                 const std::vector<Band>& bands) const {
    std::vector<bool> above_most(shares.size());
    std::vector<bool> above_least(shares.size());
    bool any = false;
    std::uint64_t least = 0;
    for (std::size_t i = 0; i < shares.size(); ++i) {
      const std::uint64_t forced = forced_[shares[i].member];
      above_most[i] = forced > bands[i].most;
      above_least[i] = forced > bands[i].least;
      any = any || above_most[i];
      least += std::max(forced, bands[i].least);
    }
    return any || least <= items ? above_most : above_least;
  }

  void share(const std::vector<Share>& shares, std::vector<Band>& bands) {
    std::vector<MemberId> takers;
    for (std::size_t i = 0; i < shares.size(); ++i) {
      const std::uint64_t forced = forced_[shares[i].member];
      takers.push_back(shares[i].member);
      bands[i] = {std::max(bands[i].least, forced) - forced, bands[i].most - forced};
    }
    std::vector<std::size_t> free;
    std::vector<MemberId> owners;
    // A member keeps the first of its own: of two, one that it leads can leave at once.
    for (const bool under_way : {true, false}) {
      for (std::size_t p = 0; p < partitions_.size(); ++p) {
        if (targets_[p] != kNobody || is_under_way(partitions_[p]) != under_way) continue;
        free.push_back(p);
        owners.push_back(current(partitions_[p]));
      }
    }
    const auto found = least_moves_within(owners, takers, bands, members_.size());
    for (std::size_t i = 0; i < free.size(); ++i) targets_[free[i]] = found.owners[i];
  }

  // The places where these will go are kept for them.
  void leave_what_is_under_way() {
    for (std::size_t p = 0; p < partitions_.size(); ++p) {
      if (is_under_way(partitions_[p])) targets_[p] = partitions_[p].designee;
    }
  }

  // Pins first. What is deferred stays with its owner.
  void defer_what_is_above(std::uint32_t moves_at_once) {
    std::uint64_t moving = 0;
    for (const PlanPartition& partition : partitions_) {
      if (is_under_way(partition) && takes(partition.owner)) ++moving;
    }
    for (const bool pinned : {true, false}) {
      for (std::size_t p = 0; p < partitions_.size(); ++p) {
        const PlanPartition& partition = partitions_[p];
        const bool moves = targets_[p] != kNobody && targets_[p] != partition.owner;
        if (!moves || !takes(partition.owner) || is_under_way(partition)) continue;
        if ((reason_for(p) == Reason::pin) != pinned) continue;
        if (moving < moves_at_once) {
          ++moving;
        } else {
          targets_[p] = partition.owner;
        }
      }
    }
  }

  [[nodiscard]] Reason reason_for(std::size_t p) const {
    const PlanPartition& partition = partitions_[p];
    if (partition.owner == kNobody) return Reason::unowned;
    if (partition.owner == targets_[p]) return Reason::keep;
    if (allows(partition, targets_[p]) && !allows(partition, partition.owner)) return Reason::pin;
    return takes(partition.owner) ? Reason::weight : Reason::cordon;
  }

  std::span<const PlanMember> members_;
  std::span<const PlanPartition> partitions_;
  std::span<const std::vector<MemberId>> pins_;
  std::vector<MemberId> targets_;
  std::vector<std::uint64_t> forced_;  ///< how many partitions pins give to each member
};

}  // namespace

std::string_view to_string(Reason reason) noexcept {
  switch (reason) {
    case Reason::unowned:
      return "unowned";
    case Reason::pin:
      return "pin";
    case Reason::cordon:
      return "cordon";
    case Reason::weight:
      return "weight";
    case Reason::keep:
      return "keep";
  }
  return "";
}

std::vector<Designation> plan(std::span<const PlanMember> members,
                              std::span<const PlanPartition> partitions,
                              std::span<const std::vector<MemberId>> pins, PlanLimits limits) {
  return Planner(members, partitions, pins).designations(limits);
}

}  // namespace neliroute::placement
