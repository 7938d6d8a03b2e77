// Of librdkafka's own statistics what docs/metrics.md lists, neliroute_kafka_*. Private.
//
// Threads: as Metrics::Collect().   Units: seconds, bytes.   Errors: none.
#pragma once

#include "kafka/client/kafka_statistics.h"
#include "metrics/metric_families.h"

namespace neliroute {

/// As of when the clients last told.
void add_kafka_metrics(MetricFamilies& made, const KafkaStatistics& statistics, LocalTime now);
/// A member's only.
void add_withdrawals(MetricFamilies& made, const KafkaStatistics& statistics);

}  // namespace neliroute
