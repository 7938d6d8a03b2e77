// Reads the records that a topic has now, from a time on, to their end, and stops: what an audit
// needs. In no group: READ and DESCRIBE on the topic suffice.
//
// Threads: one; blocking.   Units: offsets, BrokerTime.
// Errors: ledger_unreachable (no answer within options.timeout), ledger_refused, topic_unfit (the
// topic does not exist), bad_option.
#pragma once

#include <cstdint>
#include <functional>
#include <neliroute/error.h>
#include <optional>
#include <vector>

#include "kafka/kafka_options.h"
#include "neli_core/event.h"
#include "neli_core/ledger.h"

namespace neliroute {

struct LogReading {
  /// Without regard to `partitions` and `logs`: each of the topic's is read, most are empty.
  KafkaOptions kafka;
  /// No value: from the oldest record that is kept.
  std::optional<BrokerTime> since;
};

/// What was read of one log. Logs that never had a record are left out.
struct LogRead {
  Log log;
  std::int64_t low = 0;    ///< the oldest record that is kept
  std::int64_t start = 0;  ///< where reading began
  std::int64_t end = 0;    ///< the end offset when it began
  /// Stamps of the first and the last record; no value: there was none.
  std::optional<BrokerTime> first;
  std::optional<BrokerTime> last;
  /// Requested records are gone, or may be.
  bool cut_short = false;
};

[[nodiscard]] Result<std::vector<LogRead>> read_logs(
    LogReading wanted, const std::function<void(const Received&)>& record,
    const NoticeSink& notices = {});

}  // namespace neliroute
