#include "forward/proxy_metrics.h"

#include <initializer_list>
#include <string>
#include <utility>

#include "metrics/metric_families.h"

namespace neliroute::forward {
namespace {

struct NamedCount {
  const char* name;
  std::uint64_t count;
};

void add_proxy_counts(MetricFamilies& made, const char* label,
                      std::initializer_list<NamedCount> all) {
  for (const NamedCount& one : all) {
    made.add(static_cast<double>(one.count), {{label, one.name}});
  }
}

}  // namespace

ProxyMetrics::ProxyMetrics(const Observable& observable,
                           std::shared_ptr<const ProxyCounters> counters)
    : labels_(common_labels(observable.facts())), counters_(std::move(counters)) {}

std::vector<prometheus::MetricFamily> ProxyMetrics::Collect() const {
  MetricFamilies made(labels_);
  const auto count = [this](ProxyCount what) { return counters_->count(what); };
  made.counter("proxy_requests_total", "Requests to the proxy, by how they ended");
  for (const ProxyCount result :
       {ProxyCount::served, ProxyCount::forwarded, ProxyCount::refused, ProxyCount::unowned,
        ProxyCount::unreached, ProxyCount::failed}) {
    made.add(static_cast<double>(count(result)), {{"result", std::string(result_of(result))}});
  }
  made.counter("proxy_broken_total", "Requests or answers that ended in the middle");
  made.add(static_cast<double>(count(ProxyCount::broken)));
  made.counter("proxy_resends_total", "Requests that had to be sent to a process once more");
  add_proxy_counts(made, "reason",
                   {{"misdirected", count(ProxyCount::misdirected)},
                    {"unreachable", count(ProxyCount::unreachable)},
                    {"reset", count(ProxyCount::resent)}});
  made.counter("proxy_waits_total", "Times that a request waited for an owner");
  made.add(static_cast<double>(count(ProxyCount::waited)));
  made.gauge("proxy_connections", "Clients that are connected to the proxy");
  made.add(static_cast<double>(counters_->connections()));
  made.histogram("proxy_answer_seconds",
                 "From a request's header to its answer's, of those that were passed on",
                 counters_->answers());
  return made.take();
}

}  // namespace neliroute::forward
