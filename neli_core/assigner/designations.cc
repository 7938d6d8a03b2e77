#include "neli_core/assigner/designations.h"

#include <algorithm>

namespace neliroute {

Designations::Change Designations::read(const AssignmentRecord& assign, ProcessId own,
                                        LocalTime now) {
  std::vector<Partition> given;
  std::vector<Partition> taken;
  for (const Designation& designation : assign.designations) {
    designation.partitions.for_each(count(), [&](Partition partition) {
      Designee& designee = designees_[partition.value()];
      if (designee.id == designation.to) return;
      if (designation.to == own) given.push_back(partition);
      if (designee.id == own) taken.push_back(partition);
      designee = {designation.to, now};
      ++version_;
    });
  }
  return {PartitionRanges::of(given), PartitionRanges::of(taken)};
}

bool Designations::names(ProcessId id) const noexcept {
  return std::any_of(designees_.begin(), designees_.end(),
                     [id](const Designee& designee) { return designee.id == id; });
}

}  // namespace neliroute
