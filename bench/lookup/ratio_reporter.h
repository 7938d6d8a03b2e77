// A table of Google Benchmark's figures as ratios to one of them, measured in the same run: on a
// shared or throttled machine nanoseconds vary, ratios much less.
//
// Threads: one.   Units: nanoseconds of CPU time per call, the minimum of all repetitions.
// Errors: a benchmark without its baseline is left out.
#pragma once

#include <benchmark/benchmark.h>

#include <map>
#include <string>
#include <vector>

namespace neliroute::bench {

/// Names are "what/condition": figures are compared with "<baseline>/<the same condition>",
/// ignoring the part of the condition from `/processes` on.
class RatioReporter : public benchmark::ConsoleReporter {
 public:
  explicit RatioReporter(std::string baseline) : baseline_(std::move(baseline)) {}
  void ReportRuns(const std::vector<Run>& runs) override;
  void Finalize() override;

 private:
  [[nodiscard]] std::string baseline_of(const std::string& name) const;

  std::string baseline_;
  std::vector<std::string> order_;
  std::map<std::string, double> least_;
};

}  // namespace neliroute::bench
