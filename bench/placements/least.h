// Least: each change moves the least, starting from the previous result (placement/least_moves.h).
//
// Memory: none besides the owners.   Cost: O(S + n log n) per change.
// Promise: balance, and the least moves from any start.
//
// Threads: one at a time.   Units: items.   Errors: see placement.h.
#pragma once

#include <span>

#include "bench/placements/placement.h"

namespace neliroute::placement {

class Least final : public Placement {
 public:
  Least(const Setting& setting, double tolerance) : Placement(setting), tolerance_(tolerance) {}

 private:
  void update(std::span<const MemberId> leaving, std::span<const MemberId> joining) override;
  [[nodiscard]] std::size_t own_memory() const override { return 0; }

  double tolerance_;
};

}  // namespace neliroute::placement
