// Reads the records that a topic has now, from a time on, to their end, and stops: what an audit
// needs. In no group: READ and DESCRIBE on the topic suffice.
//
// Threads: one; blocking.   Units: offsets, BrokerTime.
// Errors: ledger_unreachable (no answer within options.timeout), ledger_refused, ledger_unfit (the
// topic does not exist), bad_option.
#pragma once

#include <neliroute/error.h>
#include <optional>
#include <vector>

#include "ledgers/kafka/kafka_options.h"
#include "ledgers/log_read.h"
#include "neli_core/ledger.h"

namespace neliroute {

struct LogReading {
  /// Without regard to `partitions` and `logs`: each of the topic's is read, most are empty.
  KafkaOptions kafka;
  /// No value: from the oldest record that is kept.
  std::optional<BrokerTime> since;
};

[[nodiscard]] Result<std::vector<LogRead>> read_logs(LogReading wanted, const RecordSink& record,
                                                     const NoticeSink& notices = {});

}  // namespace neliroute
