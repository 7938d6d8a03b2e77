// /metrics: neliroute's metrics and the application's, as text for Prometheus.
//
// Threads: one (the server's strand).   Units: in the metrics' names.   Errors: none.
#pragma once

#include <memory>
#include <neliroute/metrics.h>
#include <string>
#include <utility>
#include <vector>

namespace neliroute::admin {

class Exposition {
 public:
  using Others = std::vector<std::weak_ptr<prometheus::Collectable>>;

  Exposition(Observable observable, MetricsOptions options, Others others)
      : own_(Metrics::make(std::move(observable), options)), others_(std::move(others)) {}

  [[nodiscard]] std::string text() const;

 private:
  std::shared_ptr<Metrics> own_;
  Others others_;
};

}  // namespace neliroute::admin
