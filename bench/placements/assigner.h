// Assigner: what an assigner would designate, as a placement: plan() after each change, with all
// moves at once, and all carried out before the next.
//
// Who leaves and who crashes is the same to it: only the plan counts, and both own nothing in it.
//
// Memory: none besides the owners.   Cost: O(M + roster) per change.
// Promise: balance by weight, and the least moves from any start.
//
// Threads: one at a time.   Units: partitions.   Errors: see placement.h.
#pragma once

#include <span>

#include "bench/placements/placement.h"

namespace neliroute::placement {

class Assigner final : public Placement {
 public:
  explicit Assigner(const Setting& setting) : Placement(setting) {}

 private:
  void update(std::span<const MemberId> leaving, std::span<const MemberId> joining) override;
  [[nodiscard]] std::size_t own_memory() const override { return 0; }
};

}  // namespace neliroute::placement
