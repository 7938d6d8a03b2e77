#include "bench/placements/assigner.h"

#include <vector>

#include "placement/plan.h"

namespace neliroute::placement {

void Assigner::update(std::span<const MemberId>, std::span<const MemberId>) {
  // Those of the roster that are not there have no weight.
  std::vector<PlanMember> planned(setting().roster.size(), PlanMember{0});
  for (const MemberId member : members()) planned[member].weight = weight_of(member);
  std::vector<PlanPartition> partitions;
  partitions.reserve(owners_.size());
  for (const MemberId owner : owners_) {
    partitions.push_back({owner, owner, PlanPartition::kNotPinned});
  }
  for (const Designation& one : plan(planned, partitions)) {
    owners_[one.partition.value()] = one.to;
  }
}

}  // namespace neliroute::placement
