// Whether another living process states this one's endpoint: callers then reach only one of the
// two, and each takes the other for itself.
//
// A process that was replaced at its endpoint may still be read of: what lay in the log before, or
// what it writes while it hands over. So it counts only when it is read again a lease later.
//
// Threads: one caller; no clock: the time is an argument.   Units: std::chrono.   Errors: none.
#pragma once

#include <map>
#include <neliroute/ids.h>
#include <neliroute/time.h>
#include <string>
#include <utility>

#include "neli_core/record/record.h"

namespace neliroute {

class SameEndpoint {
 public:
  SameEndpoint(ProcessId self, std::string endpoint, milliseconds lease)
      : self_(self), endpoint_(std::move(endpoint)), lease_(lease) {}

  /// A record of this lane that was written since this process reads. True: its writer has the same
  /// endpoint, and lives; once for each.
  [[nodiscard]] bool note(const Record& record, LocalTime now) {
    if (endpoint_.empty() || record.id == self_ || record.process.endpoint != endpoint_) {
      return false;
    }
    if (first_.size() >= kKept && !first_.contains(record.id)) return false;
    LocalTime& counts_from = first_.try_emplace(record.id, later(now, lease_)).first->second;
    if (now < counts_from) return false;
    counts_from = kNever;
    return true;
  }

 private:
  static constexpr std::size_t kKept = 100;  // more are not worth a line each

  ProcessId self_;
  std::string endpoint_;
  milliseconds lease_;
  std::map<ProcessId, LocalTime> first_;  ///< from when one counts; kNever: that was said
};

}  // namespace neliroute
