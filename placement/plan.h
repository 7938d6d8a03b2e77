// plan(): which member each partition should be designated to, for an assigner that knows weights,
// cordons and pins. Moves the least that these allow.
//
// In this order: a pinned partition goes to a member that it is pinned to, if one takes any; the
// rest is shared out by weight, and a member owns the floor or the ceiling of its share. What must
// be with a member by pins counts towards its share; if that exceeds its share, the others have
// less. Of several members of
// a pin, one that has the partition keeps it, else the one with the fewest pinned partitions for
// its weight gets it, even if another choice would move less of the rest.
//
// A designation that is being carried out stands until it is. What its partition should do then is
// planned already: who will get it takes nothing else instead, so nothing moves for the meantime.
//
// A limit defers moves: the result is the unlimited one without some of its moves. Carried out one
// after the other, planning again in between, these are no more than without a limit, unless pins
// overlap. Until then members may have more than their share.
//
// Memory: O(M + n).
// Cost: O(M + n), plus the size of its pin for each pinned partition; again O(n) for each time that
// pins exceed a share.
// Threads: pure, any.   Units: partitions, members.
// Errors: a member or a pin that does not exist aborts.
#pragma once

#include <cstdint>
#include <neliroute/ids.h>
#include <span>
#include <string_view>
#include <vector>

#include "placement/member.h"

namespace neliroute::placement {

/// A member that lives. Weight 0: it should own nothing (cordoned, or leaving).
struct PlanMember {
  std::uint32_t weight = 1;
};

struct PlanPartition {
  /// Who leads it: an index of the members; kNobody: none that lives.
  MemberId owner = kNobody;
  /// Whom the newest designation names; kNobody: none that lives. It is being carried out as long
  /// as it differs from the owner.
  MemberId designee = kNobody;
  /// An index of the pins; kNotPinned: it may go anywhere.
  std::uint32_t pinned_to = kNotPinned;
  static constexpr std::uint32_t kNotPinned = UINT32_MAX;
};

struct PlanLimits {
  /// How many partitions may be on the move at once away from owners that live and may own some,
  /// those under way included. What nobody owns, and what a member of weight 0 owns, moves at once.
  std::uint32_t moves_at_once = UINT32_MAX;
};

enum class Reason : std::uint8_t {
  unowned,  ///< no member that lives owns it
  pin,      ///< its owner is not one that it is pinned to
  cordon,   ///< its owner should own nothing
  weight,   ///< its owner has, or would have, more than its share, or another less than its share
  keep,     ///< no move: its designee is gone or should own nothing, so its owner is named instead
};
[[nodiscard]] std::string_view to_string(Reason reason) noexcept;

struct Designation {
  Partition partition;
  MemberId to = kNobody;
  Reason reason = Reason::unowned;
  friend bool operator==(const Designation&, const Designation&) = default;
};

/// What to designate, in the order of the partitions; those that stand already are left out. None
/// if no member may own anything. `pins`: sets of members.
[[nodiscard]] std::vector<Designation> plan(std::span<const PlanMember> members,
                                            std::span<const PlanPartition> partitions,
                                            std::span<const std::vector<MemberId>> pins = {},
                                            PlanLimits limits = {});

}  // namespace neliroute::placement
