// Whom the newest valid assignment names for each partition (rules A3 and A4), and since when. A
// designation stands until another names somebody else.
//
// Threads: one (inside AssignedCore).   Units: LocalTime.   Errors: none; partitions that do not
// exist are left out.
#pragma once

#include <cstdint>
#include <map>
#include <neliroute/ids.h>
#include <neliroute/time.h>
#include <vector>

#include "neli_core/record/record.h"

namespace neliroute {

struct Designee {
  ProcessId id = kNobody;
  LocalTime since = kLongAgo;
};

class Designations {
 public:
  explicit Designations(std::uint32_t partitions) : designees_(partitions) {}

  /// What an assignment changed for one process.
  struct Change {
    PartitionRanges given;
    PartitionRanges taken;
  };
  /// A valid assignment was read.
  Change read(const AssignmentRecord& assign, ProcessId own, LocalTime now);

  [[nodiscard]] const Designee& at(Partition partition) const noexcept {
    return designees_[partition.value()];
  }
  /// Whether anything is still named for the process.
  [[nodiscard]] bool names(ProcessId id) const noexcept { return named_.contains(id); }
  [[nodiscard]] std::uint32_t count() const noexcept {
    return static_cast<std::uint32_t>(designees_.size());
  }
  /// Bumped by every designation that is new.
  [[nodiscard]] std::uint64_t version() const noexcept { return version_; }

 private:
  std::vector<Designee> designees_;
  std::map<ProcessId, std::uint32_t> named_;  ///< for how many, at least one
  std::uint64_t version_ = 0;
};

}  // namespace neliroute
