// Members, and the items that are divided among them.
//
// Members are named by strings, and identified by a number that is theirs for the whole run, so
// that an owner takes 4 bytes. Items are slots, or the partitions that carry them; both are plain
// numbers.
//
// Threads: values, any.   Units: items, members.   Errors: none.
#pragma once

#include <cstdint>
#include <string>

namespace neliroute::placement {

/// A member: its index in the roster.
using MemberId = std::uint32_t;
/// The owner of an unowned item.
inline constexpr MemberId kNobody = UINT32_MAX;
/// Far above any group, and low enough that a ring of them fits into memory.
inline constexpr std::uint32_t kMembersMax = 100'000;
inline constexpr std::uint32_t kWeightMax = 1000;

struct Member {
  std::string name;
  /// Its fair share, relative to the others'; for placements that know weights.
  std::uint32_t weight = 1;
};

}  // namespace neliroute::placement
