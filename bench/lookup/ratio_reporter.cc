#include "bench/lookup/ratio_reporter.h"

#include <algorithm>
#include <iomanip>
#include <ostream>

namespace neliroute::bench {

void RatioReporter::ReportRuns(const std::vector<Run>& runs) {
  for (const Run& run : runs) {
    if (run.run_type != Run::RT_Iteration || run.error_occurred) continue;
    const std::string name = run.run_name.function_name + "/" + run.run_name.threads;
    const double time = run.GetAdjustedCPUTime();
    const auto [at, added] = least_.emplace(name, time);
    if (added) order_.push_back(name);
    at->second = std::min(at->second, time);
  }
}

std::string RatioReporter::baseline_of(const std::string& name) const {
  const std::size_t condition = name.find('/');
  const std::size_t processes = name.find("/processes");
  const std::size_t threads = name.find("/threads");
  return baseline_ + name.substr(condition, std::min(processes, threads) - condition) +
         name.substr(threads);
}

void RatioReporter::Finalize() {
  auto& out = GetOutputStream();
  out << std::left << std::setw(50) << "per call" << std::right << std::setw(9) << "ns"
      << std::setw(9) << "+ns" << std::setw(9) << "x hash" << '\n'
      << std::fixed;
  for (const std::string& name : order_) {
    const auto base = least_.find(baseline_of(name));
    if (base == least_.end()) continue;
    const double time = least_.at(name);
    out << std::left << std::setw(50) << name << std::right << std::setprecision(2)
        << std::setw(9) << time << std::setw(9) << time - base->second << std::setw(9)
        << time / base->second << '\n';
  }
}

}  // namespace neliroute::bench
