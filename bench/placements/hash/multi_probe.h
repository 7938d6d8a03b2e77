// Multi-probe: every member has one point, every item k probes; the smallest distance from a probe
// to the next point decides.
//
// Probe i of an item is h1 + i h2 on a circle of 2^64, h2 odd. Each item keeps its best distance,
// so a join of few costs k subtractions an item.
//
// Memory: 16 B per member, 24 B per item.   Cost: O(k S) per join, O(k S/P log P) per leave.
// Promise: excess 0; peak about (k+1)/k with enough items, but some members nearly idle (CV 15 %).
// Source: Appleton, O'Reilly, "Multi-Probe Consistent Hashing", 2015.
//
// Threads: one at a time.   Units: distances on a circle of 2^64.   Errors: see placement.h.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bench/placements/hash/ring.h"

namespace neliroute::placement {

class MultiProbe final : public OnCircle {
 public:
  MultiProbe(const Setting& setting, std::uint32_t probes);

 private:
  struct Probe {
    std::uint64_t start = 0;
    std::uint64_t step = 0;
  };

  void add_points(MemberId member, std::vector<Point>& points) const override;
  void update(std::span<const MemberId> leaving, std::span<const MemberId> joining) override;
  [[nodiscard]] std::size_t own_memory() const override;
  /// All points contend for it.
  void look_up(std::uint32_t item);
  /// Only these contend, against its owner.
  void contend(std::uint32_t item, std::span<const Point> newcomers);

  std::uint32_t probes_;
  std::vector<Probe> items_;
  std::vector<std::uint64_t> nearest_;  // by item: the owner's distance
};

}  // namespace neliroute::placement
