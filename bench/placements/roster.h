// The roster: all members that a trace names, with their names and weights.
//
// Threads: values, any.   Units: members.   Errors: none.
#pragma once

#include <cstdint>
#include <string>

#include "placement/member.h"

namespace neliroute::placement {

/// Far above any group, and low enough that a ring of them fits into memory.
inline constexpr std::uint32_t kMembersMax = 100'000;
inline constexpr std::uint32_t kWeightMax = 1000;

struct Member {
  std::string name;
  /// Its fair share, relative to the others'; for placements that know weights.
  std::uint32_t weight = 1;
};

}  // namespace neliroute::placement
