#include "neli_core/assigner/designations.h"

#include <set>

namespace neliroute {

Designations::Change Designations::read(const AssignmentRecord& assign, ProcessId own,
                                        LocalTime now) {
  std::set<Partition> given;
  std::set<Partition> taken;
  for (const Designation& designation : assign.designations) {
    designation.partitions.for_each(count(), [&](Partition partition) {
      Designee& designee = designees_[partition.value()];
      if (designee.id == designation.to) return;
      // Named twice, it is the last one's: what this process was given on the way is not its own.
      if (designation.to == own && taken.erase(partition) == 0) given.insert(partition);
      if (designee.id == own && given.erase(partition) == 0) taken.insert(partition);
      if (const auto at = named_.find(designee.id); at != named_.end() && --at->second == 0) {
        named_.erase(at);
      }
      ++named_[designation.to];
      designee = {designation.to, now};
      ++version_;
    });
  }
  return {PartitionRanges::of(std::vector(given.begin(), given.end())),
          PartitionRanges::of(std::vector(taken.begin(), taken.end()))};
}

}  // namespace neliroute
