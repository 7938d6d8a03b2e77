// The metrics neliroute_kafka_* of docs/metrics.md, from librdkafka's own statistics. Private.
//
// Threads: as Metrics::Collect().   Units: seconds, bytes.   Errors: none.
#pragma once

#include "ledgers/ledger_statistics.h"
#include "metrics/metric_families.h"

namespace neliroute {

/// As of the clients' last statistics.
void add_kafka_metrics(MetricFamilies& made, const LedgerStatistics& statistics, LocalTime now);
/// Only for a member.
void add_withdrawals(MetricFamilies& made, const LedgerStatistics& statistics);

}  // namespace neliroute
