// A voter's metrics, for Prometheus: the series neliroute_voter_ of docs/metrics.md.
//
// Threads: Collect(): any; it takes no lock.   Units: seconds, bytes, entries.   Errors: none.
#pragma once

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <memory>
#include <vector>

#include "voter/statistics/voter_statistics.h"

namespace neliroute {

class VoterMetrics : public prometheus::Collectable {
 public:
  explicit VoterMetrics(std::shared_ptr<const VoterStatistics> voter) : voter_(std::move(voter)) {}

  [[nodiscard]] std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  std::shared_ptr<const VoterStatistics> voter_;
};

}  // namespace neliroute
