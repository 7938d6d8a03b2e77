// plan(): which member should own each partition, for an assigner that knows weights, cordons and
// pins. Moves the least that these allow.
//
// In this order: a partition whose change is being carried out stays with its designee; a pinned
// one goes to a member that it is pinned to, if one takes any; what is left is shared out by
// weight. A member owns the floor or the ceiling of its share. What pins give a member beyond its
// share, the others have less of.
//
// Memory: O(M + n).   Cost: O(M + n log n).
// Threads: pure, any.   Units: partitions, members.
// Errors: a member or a set of members that does not exist aborts.
#pragma once

#include <cstdint>
#include <neliroute/ids.h>
#include <span>
#include <string_view>
#include <vector>

#include "placement/least_moves.h"
#include "placement/member.h"

namespace neliroute::placement {

/// A member that lives. Weight 0: it is to own nothing (cordoned, or leaving).
struct PlanMember {
  std::uint32_t weight = 1;
};

struct PlanPartition {
  /// Who owns it, or is to own it: an index of the members; kNobody: none that lives.
  MemberId current = kNobody;
  /// Its designee has not led it yet: no other is named meanwhile.
  bool under_way = false;
  /// An index of the sets of members that it may go to; kNotPinned: any.
  std::uint32_t pinned_to = kNotPinned;
  static constexpr std::uint32_t kNotPinned = UINT32_MAX;
};

enum class MoveReason {
  unowned,  ///< nobody that lives owns it
  pin,
  cordon,   ///< its owner is to own nothing
  weight,   ///< its owner has more than its share
};
[[nodiscard]] std::string_view to_string(MoveReason reason) noexcept;

struct Move {
  Partition partition;
  MemberId to = kNobody;
  MoveReason reason = MoveReason::unowned;
  friend bool operator==(const Move&, const Move&) = default;
};

/// The changes, in the order of the partitions. None if no member takes anything.
[[nodiscard]] std::vector<Move> plan(std::span<const PlanMember> members,
                                     std::span<const PlanPartition> partitions,
                                     std::span<const std::vector<MemberId>> pins = {});

}  // namespace neliroute::placement
