// Who leads each partition, as renewals show it: what an assigner plans from (rule A7), and judges
// its designees by (A5).
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
  /// The same; where it only drains, or is stale, until it began to.
  LocalTime led_until = kLongAgo;
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
  /// Until when it leads, or led last, if nobody else did since; to drain is not to lead, nor is
  /// to serve on.
  [[nodiscard]] LocalTime led_until(Partition partition, ProcessId id) const noexcept {
    const Owner& owner = owners_[partition.value()];
    return owner.id == id ? owner.led_until : kLongAgo;
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
