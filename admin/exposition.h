// What is counted: /metrics, neliroute's and the application's, as text for Prometheus; and
// /v1/requests, what becomes of requests in this process, for the slot page and `watch`.
//
// Threads: one (the server's strand).   Units: in the names.   Errors: none.
#pragma once

#include <neliroute/admin.h>
#include <neliroute/metrics.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace neliroute::admin {

using Collectables = std::vector<std::weak_ptr<prometheus::Collectable>>;

/// These families, and what is collected, as text for Prometheus. Throws what a Collectable throws.
[[nodiscard]] std::string exposed(std::vector<prometheus::MetricFamily> families,
                                  const Collectables& collectables);

class Exposition {
 public:
  using Proxied = std::function<ProxiedRequests()>;

  Exposition(const Observable& observable, MetricsOptions options, Collectables others,
             Proxied proxied = {})
      : observable_(observable),
        own_(Metrics::make(observable, options)),
        others_(std::move(others)),
        proxied_(std::move(proxied)) {}

  [[nodiscard]] std::string metrics() const;
  /// Counts since the process started, as openapi.json describes them: of a proxy, if there is one,
  /// or else of admit(). A watcher without a proxy counts none.
  [[nodiscard]] std::string requests(LocalTime now) const;

 private:
  Observable observable_;
  std::shared_ptr<Metrics> own_;
  Collectables others_;
  Proxied proxied_;
};

}  // namespace neliroute::admin
