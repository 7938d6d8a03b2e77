// Builds families of metrics with prometheus-cpp's types. Private.
//
// Threads: one.   Units: seconds.   Errors: none.
#pragma once

#include <prometheus/metric_family.h>

#include <neliroute/observable.h>
#include <neliroute/time.h>
#include <string>
#include <vector>

#include "base/histogram.h"

namespace neliroute {

[[nodiscard]] double seconds_of(microseconds duration);

/// Prometheus accepts UTF-8 only.
[[nodiscard]] std::string label_text(const std::string& text);

using MetricLabels = std::vector<prometheus::ClientMetric::Label>;

/// What every series of a Router or Watcher has.
[[nodiscard]] MetricLabels common_labels(const ObservedFacts& facts);

/// begin(), counter(), gauge() or histogram() a family, then add() its series; every one of them
/// has the common labels, too.
class MetricFamilies {
 public:
  explicit MetricFamilies(MetricLabels common) : common_(std::move(common)) {}

  void counter(const char* name, const char* help);
  void gauge(const char* name, const char* help);
  void histogram(const char* name, const char* help, const Histogram& timings);
  void add(double value, MetricLabels labels = {});
  /// For a process that may be another one: its label, label_text() of its name, replaces this
  /// one's.
  void add_of(const std::string& process, double value);
  [[nodiscard]] std::vector<prometheus::MetricFamily> take() { return std::move(made_); }

 private:
  void begin(const char* name, prometheus::MetricType type, const char* help);
  void add_to(MetricLabels all, double value, MetricLabels labels);

  MetricLabels common_;
  std::vector<prometheus::MetricFamily> made_;
};

}  // namespace neliroute
