// How the members among which items are divided are named: by numbers, so that an owner takes 4
// bytes. Items are slots, or the partitions that carry them; both are plain numbers.
//
// Threads: values, any.   Units: items, members.   Errors: none.
#pragma once

#include <cstdint>

namespace neliroute::placement {

/// A member: its index among those that the caller knows.
using MemberId = std::uint32_t;
/// The owner of an unowned item.
inline constexpr MemberId kNobody = UINT32_MAX;

}  // namespace neliroute::placement
