// The metrics of a Router or Watcher, for Prometheus. docs/metrics.md describes every one.
//
//   auto metrics = neliroute::Metrics::make(router->observable());
//   exposer.RegisterCollectable(metrics);      // beside the application's own registry
//
// The AdminServer serves them at /metrics without further code.
//
// Threads: Collect(): any. It takes a lock that the strand takes when the view changes, and that no
// lookup takes.
// Units: seconds, slots.   Errors: none.
#pragma once

#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <memory>
#include <neliroute/observable.h>
#include <vector>

namespace neliroute {

struct MetricsOptions {
  /// neliroute_slot_led for each slot: as many series as there are slots.
  bool per_slot = false;
};

class Metrics : public prometheus::Collectable {
 public:
  [[nodiscard]] static std::shared_ptr<Metrics> make(Observable observable,
                                                     MetricsOptions options = {});

  [[nodiscard]] std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  struct View;
  class Seen;
  Metrics(Observable observable, MetricsOptions options);

  Observable observable_;
  MetricsOptions options_;
  std::shared_ptr<Seen> seen_;
};

}  // namespace neliroute
