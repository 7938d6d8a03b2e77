// The tables of docs/metrics.md, and what a Collectable has of them.
#pragma once

#include <gtest/gtest.h>
#include <prometheus/metric_family.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace neliroute::testing_admin {

/// Label -> values; none where they are not bounded.
using LabelValues = std::map<std::string, std::set<std::string>>;

/// As docs/metrics.md has it: one row of its tables.
struct DocumentedMetric {
  std::string type;
  LabelValues labels;
};

inline std::string trimmed(const std::string& text) {
  const auto begin = text.find_first_not_of(" `");
  if (begin == std::string::npos) return {};
  return text.substr(begin, text.find_last_not_of(" `") + 1 - begin);
}

inline std::vector<std::string> split(const std::string& text, char by) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, by);) parts.push_back(trimmed(part));
  return parts;
}

/// By name.
inline std::map<std::string, DocumentedMetric> documented_metrics() {
  std::ifstream file(NELIROUTE_METRICS_DOC);
  EXPECT_TRUE(file.is_open()) << NELIROUTE_METRICS_DOC;
  std::map<std::string, DocumentedMetric> all;
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("| `neliroute_")) continue;
    const auto cells = split(line, '|');
    DocumentedMetric& one = all[cells.at(1)];
    one.type = cells.at(2);
    const std::string& labels = cells.at(3);
    if (labels.starts_with("(")) continue;  // a remark on a common label
    const auto colon = labels.find(':');
    if (colon != std::string::npos) {
      const auto values = split(labels.substr(colon + 1), ',');
      one.labels[labels.substr(0, colon)] = {values.begin(), values.end()};
    } else {
      for (const std::string& name : split(labels, ',')) one.labels[name] = {};
    }
  }
  return all;
}

inline std::string name_of(prometheus::MetricType type) {
  using prometheus::MetricType;
  return type == MetricType::Counter     ? "counter"
         : type == MetricType::Gauge     ? "gauge"
         : type == MetricType::Histogram ? "histogram"
                                         : "?";
}

/// Beside the `common` ones, which all its series must have.
inline LabelValues labels_of(const prometheus::MetricFamily& family,
                             const std::set<std::string>& common) {
  LabelValues all;
  for (const prometheus::ClientMetric& metric : family.metric) {
    std::set<std::string> names;
    for (const auto& label : metric.label) {
      EXPECT_TRUE(names.insert(label.name).second) << family.name << " has it twice";
      if (!common.contains(label.name)) all[label.name].insert(label.value);
    }
    EXPECT_TRUE(std::includes(names.begin(), names.end(), common.begin(), common.end()))
        << family.name;
  }
  return all;
}

/// These are all whose names begin like that, but for those that begin like one of `but`.
inline void expect_documented(const std::vector<prometheus::MetricFamily>& families,
                              const std::set<std::string>& common, const std::string& prefix,
                              const std::vector<std::string>& but = {}) {
  auto docs = documented_metrics();
  std::erase_if(docs, [&](const auto& one) {
    return !one.first.starts_with(prefix) ||
           std::ranges::any_of(
               but, [&](const auto& other) { return one.first.starts_with(other); });
  });
  ASSERT_GT(docs.size(), 10u);
  std::set<std::string> exported;
  for (const prometheus::MetricFamily& family : families) {
    exported.insert(family.name);
    const auto found = docs.find(family.name);
    ASSERT_TRUE(found != docs.end()) << family.name << " is not in docs/metrics.md";
    EXPECT_EQ(name_of(family.type), found->second.type) << family.name;
    EXPECT_FALSE(family.help.empty()) << family.name;
    const bool counts = family.name.ends_with("_total");
    EXPECT_EQ(counts, family.type == prometheus::MetricType::Counter) << family.name;
    if (family.metric.empty()) continue;  // of members where a member assigns
    const LabelValues labels = labels_of(family, common);
    for (const auto& [name, values] : found->second.labels) {
      ASSERT_TRUE(labels.contains(name)) << family.name << " has no label " << name;
      if (values.empty()) continue;
      EXPECT_EQ(labels.at(name), values) << family.name;
    }
    EXPECT_EQ(labels.size(), found->second.labels.size())
        << family.name << " has a label that is not documented";
  }
  for (const auto& [name, one] : docs) {
    EXPECT_TRUE(exported.contains(name)) << name << " is documented, and not exported";
  }
}

}  // namespace neliroute::testing_admin
