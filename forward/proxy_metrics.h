// What a proxy did with requests, for Prometheus: the series neliroute_proxy_ of docs/metrics.md.
//
// Threads: Collect(): any; it takes no lock.   Units: seconds.   Errors: none.
#pragma once

#include <prometheus/client_metric.h>
#include <prometheus/collectable.h>

#include <memory>
#include <neliroute/observable.h>
#include <vector>

#include "forward/proxy_counters.h"

namespace neliroute::forward {

class ProxyMetrics : public prometheus::Collectable {
 public:
  /// `observable`: of the Router or Watcher that the proxy asks; it labels the series.
  ProxyMetrics(const Observable& observable, std::shared_ptr<const ProxyCounters> counters);

  [[nodiscard]] std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  std::vector<prometheus::ClientMetric::Label> labels_;
  std::shared_ptr<const ProxyCounters> counters_;
};

}  // namespace neliroute::forward
