// Members and items: who gets something, and what is shared out.
//
// Members are named by strings and known by a number that is theirs for the whole run, so that an
// owner is 4 bytes. Items are slots, or the partitions that carry them; both are plain numbers.
//
// Threads: values, any.   Units: items, members.   Errors: none.
#pragma once

#include <cstdint>
#include <string>

namespace neliroute::placement {

/// Which of the roster's members: its index.
using MemberId = std::uint32_t;
/// The owner of what nobody owns.
inline constexpr MemberId kNobody = UINT32_MAX;
/// Far above any group, and low enough that a ring of them fits into memory.
inline constexpr std::uint32_t kMembersMax = 100'000;
inline constexpr std::uint32_t kWeightMax = 1000;

struct Member {
  std::string name;
  /// Its fair share, beside the others'; for placements that know weights.
  std::uint32_t weight = 1;
};

}  // namespace neliroute::placement
