// What was read of a log from a time on to its end, and where that was cut short: for an audit.
//
// Threads: a value, any.   Units: positions, BrokerTime.   Errors: none.
#pragma once

#include <cstdint>
#include <functional>
#include <neliroute/ids.h>
#include <neliroute/time.h>
#include <optional>

#include "neli_core/event.h"

namespace neliroute {

/// Logs that never had a record are left out.
struct LogRead {
  Log log;
  std::int64_t low = 0;    ///< the oldest record that is kept
  std::int64_t start = 0;  ///< where reading began
  std::int64_t end = 0;    ///< the end when it began
  /// Stamps of the first and the last record; no value: there was none.
  std::optional<BrokerTime> first;
  std::optional<BrokerTime> last;
  /// Requested records are gone, or may be.
  bool cut_short = false;
};

using RecordSink = std::function<void(const Received&)>;

}  // namespace neliroute
