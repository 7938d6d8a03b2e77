#include "metrics/metric_families.h"

#include <chrono>
#include <limits>
#include <utility>

#include "base/base64.h"
#include "router/text/json_text.h"

namespace neliroute {

using prometheus::ClientMetric;
using prometheus::MetricFamily;
using prometheus::MetricType;

double seconds_of(microseconds duration) {
  return std::chrono::duration<double>(duration).count();
}

std::string label_text(const std::string& text) { return is_utf8(text) ? text : base64(text); }

MetricLabels common_labels(const ObservedFacts& facts) {
  return {{"process", label_text(facts.process.name)},
          {"group", label_text(facts.settings.group)},
          {"topic", facts.topic},
          {"lane", std::to_string(facts.lane.value())}};
}

void MetricFamilies::begin(const char* name, MetricType type, const char* help) {
  MetricFamily family;
  family.name = std::string("neliroute_") + name;
  family.help = help;
  family.type = type;
  made_.push_back(std::move(family));
}

void MetricFamilies::counter(const char* name, const char* help) {
  begin(name, MetricType::Counter, help);
}

void MetricFamilies::gauge(const char* name, const char* help) {
  begin(name, MetricType::Gauge, help);
}

void MetricFamilies::histogram(const char* name, const char* help, const Histogram& timings) {
  begin(name, MetricType::Histogram, help);
  const Histogram::Reading reading = timings.read();
  ClientMetric metric;
  metric.label = common_;
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < reading.counts.size(); ++i) {
    sum += reading.counts[i];
    const bool last = i == Histogram::kBounds.size();
    metric.histogram.bucket.push_back(
        {sum, last ? std::numeric_limits<double>::infinity() : Histogram::kBounds[i]});
  }
  metric.histogram.sample_count = sum;
  metric.histogram.sample_sum = seconds_of(reading.sum);
  made_.back().metric.push_back(std::move(metric));
}

void MetricFamilies::add(double value, MetricLabels labels) {
  add_to(common_, value, std::move(labels));
}

void MetricFamilies::add_of(const std::string& process, double value) {
  MetricLabels labels = common_;
  labels.front().value = process;
  add_to(std::move(labels), value, {});
}

void MetricFamilies::add_to(MetricLabels all, double value, MetricLabels labels) {
  ClientMetric metric;
  metric.label = std::move(all);
  metric.label.insert(metric.label.end(), labels.begin(), labels.end());
  if (made_.back().type == MetricType::Counter) {
    metric.counter.value = value;
  } else {
    metric.gauge.value = value;
  }
  made_.back().metric.push_back(std::move(metric));
}

}  // namespace neliroute
