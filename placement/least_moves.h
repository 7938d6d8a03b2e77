// The least that must move to balance a new set of members, and an assignment that attains it: for
// plan(), and what bench/placements measures every placement against.
//
// With bands L_b..U_b of how much each member may own (the floor and the ceiling of its share;
// wider with a tolerance), O orphans (items whose owner is gone, or that have none) and c_b items
// with member b now,
//
//     least = max( O + sum (c_b - U_b)+ ,  sum (L_b - c_b)+ )
//
// Either side is a lower bound: orphans and items above a ceiling must leave, and floors must be
// filled. The assignment here moves exactly that many, so the bound is exact.
//
// Memory: O(S + n).   Cost: O(S + n log n).   Promise: balance, and the least moves from any start.
// Which member keeps a ceiling matters for the next change, so over a run of changes this is the
// least of each step, not of the run.
// Source: hashing.md section 2; derived there, and checked by brute force here.
//
// Threads: pure, any.   Units: items.
// Errors: no members, an owner that is no id of the roster, or a tolerance outside 0..1 aborts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "placement/member.h"

namespace neliroute::placement {

struct Share {
  MemberId member = 0;
  std::uint32_t weight = 1;
};

/// How much a member may own.
struct Band {
  std::uint64_t least = 0;
  std::uint64_t most = 0;
};

/// The bands of the shares, in their order; tolerance 0.05 lets each be 5 % off.
[[nodiscard]] std::vector<Band> bands_of(std::uint64_t items, std::span<const Share> shares,
                                         double tolerance);

struct LeastCount {
  std::uint64_t moves = 0;
  /// The orphans among them, which must move in any case.
  std::uint64_t unavoidable = 0;
};

/// The formula alone. `held`: what each of the shares' members owns now.
[[nodiscard]] LeastCount least_count(std::uint64_t items, std::span<const std::uint64_t> held,
                                     std::span<const Band> bands);

struct LeastMoves {
  LeastCount count;
  std::vector<MemberId> owners;
};

/// Ties go by item and by the order of the shares, so that all callers get one answer. `roster`:
/// how many member ids there are.
[[nodiscard]] LeastMoves least_moves(std::span<const MemberId> current,
                                     std::span<const Share> shares, double tolerance,
                                     std::size_t roster);

/// The same within bands that are given, one for each of `members`, which must leave room for all
/// items and ask for no more than there are.
[[nodiscard]] LeastMoves least_moves_within(std::span<const MemberId> current,
                                            std::span<const MemberId> members,
                                            std::span<const Band> bands, std::size_t roster);

}  // namespace neliroute::placement
