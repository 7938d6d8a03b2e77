// The metrics neliroute_ledger_* of docs/metrics.md, of a store that is no Kafka. Private.
//
// Threads: as Metrics::Collect().   Units: seconds.   Errors: none.
#pragma once

#include "ledgers/ledger_statistics.h"
#include "metrics/metric_families.h"

namespace neliroute {

void add_store_metrics(MetricFamilies& made, const LedgerStatistics& statistics, LocalTime now);

}  // namespace neliroute
