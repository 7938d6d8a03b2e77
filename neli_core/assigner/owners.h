// Who leads each partition, as renewals show it: what an assigner plans from (rule A7).
//
// Threads: one (inside AssignedCore).   Units: LocalTime.   Errors: none.
#pragma once

#include <cstdint>
#include <neliroute/ids.h>
#include <neliroute/time.h>
#include <vector>

#include "neli_core/record/record.h"

namespace neliroute {

struct Owner {
  ProcessId id = kNobody;
  Epoch epoch = kNoEpoch;
  bool draining = false;
  LocalTime until = kLongAgo;  ///< unless it renews
};

class Owners {
 public:
  explicit Owners(std::uint32_t partitions) : owners_(partitions) {}

  /// A renewal or a release of this lane that was heeded. `lease`: the writer's.
  void read(const Record& record, const LogPlace& place, milliseconds lease, LocalTime now);
  /// What was read of a log need not hold any more.
  void forget(const LogPlace& place);

  /// kNobody inside: nobody leads it.
  [[nodiscard]] Owner at(Partition partition, LocalTime now) const noexcept {
    const Owner& owner = owners_[partition.value()];
    return now < owner.until ? owner : Owner{};
  }
  /// Bumped whenever an owner changes; not by leases that end.
  [[nodiscard]] std::uint64_t version() const noexcept { return version_; }

 private:
  void renewed(Partition partition, const Epoch& epoch, const Record& record,
               const LogPlace& place, milliseconds lease, LocalTime now);

  std::vector<Owner> owners_;
  std::uint64_t version_ = 0;
};

}  // namespace neliroute
