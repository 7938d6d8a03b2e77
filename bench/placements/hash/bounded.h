// Bounded loads: a ring on which no member may own more than c times its fair share.
//
// Items are placed in the order of their numbers, each walking clockwise from its place past the
// points of members that are full. So the result depends on the set of members only.
//
// Memory: 16 B per point and per item; while it works, another 4 B for each.
// Cost: O(S + VP) per change; full members are skipped by links that shorten as they are used.
// Promise: load at most ceil(c S w / W); excess small, but above 0 (O(1/(c-1)^2) moves per change).
// Source: Mirrokni, Thorup, Zadimoghaddam, "Consistent Hashing with Bounded Loads", 2016.
//
// Threads: one at a time.   Units: places on a circle of 2^64.   Errors: see placement.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "bench/placements/hash/ring.h"

namespace neliroute::placement {

class Bounded final : public OnCircle {
 public:
  /// `factor` is c, above 1.
  Bounded(const Setting& setting, double factor);

 private:
  void add_points(MemberId member, std::vector<Point>& points) const override;
  void update(std::span<const MemberId> leaving, std::span<const MemberId> joining) override;
  [[nodiscard]] std::size_t own_memory() const override;
  [[nodiscard]] std::vector<std::uint64_t> room() const;
  /// By item: the point that is next to it.
  [[nodiscard]] std::vector<std::uint32_t> next_points() const;

  double factor_;
  std::vector<Place> places_;  // sorted
};

/// How many points each has: enough for the ring's own spread to be small against the bound.
inline constexpr std::uint32_t kBoundedPoints = 160;

}  // namespace neliroute::placement
