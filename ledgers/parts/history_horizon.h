// How far back reading must start, by the newest records: the newest that contains a lease says
// so, or else the newest of all. A malformed record contains none.
//
// Threads: one.   Units: std::chrono.   Errors: none.
#pragma once

#include <neliroute/time.h>
#include <optional>
#include <variant>

#include "neli_core/record/record.h"

namespace neliroute {

class HistoryHorizon {
 public:
  /// Records come newest first.
  void note(const Decoded& value, BrokerTime stamped, milliseconds own_lease) {
    const auto* record = std::get_if<Record>(&value);
    const bool has_lease = record != nullptr && record->max_lease;
    if (last_ && (lease_seen_ || !has_lease)) return;
    if (!last_) last_ = stamped;
    lease_seen_ = has_lease;
    at_ = history_horizon(has_lease ? record : nullptr, *last_, own_lease);
  }
  [[nodiscard]] BrokerTime at() const noexcept { return at_; }
  /// Whether a record said so: older ones change nothing.
  [[nodiscard]] bool is_known() const noexcept { return lease_seen_; }

 private:
  std::optional<BrokerTime> last_;  ///< the stamp of the log's last record
  bool lease_seen_ = false;
  BrokerTime at_;
};

}  // namespace neliroute
