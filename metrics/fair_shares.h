// How much each member of a lane should lead, where a member assigns: as placement::plan() shares
// partitions out by weight, cordon and pin, but for the rounding to whole partitions.
//
// Threads: one at a time.   Units: partitions.   Errors: none.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <neliroute/ids.h>
#include <neliroute/observer.h>
#include <string>

namespace neliroute {

class FairShares {
 public:
  explicit FairShares(std::uint32_t partitions) : partitions_(partitions) {}

  void take(const AssignmentNews& news);
  /// Of one that does not live, or is not known: 0.
  [[nodiscard]] double of(ProcessId id) const;

 private:
  struct Share {
    double weight = 0;
    double pinned = 0;  ///< partitions that must be with it
  };
  [[nodiscard]] std::map<ProcessId, Share> takers() const;

  std::uint32_t partitions_;
  std::map<ProcessId, ObservedMember> members_;
  std::map<std::string, double> pins_;  ///< partitions by the name that they are pinned to
};

}  // namespace neliroute
