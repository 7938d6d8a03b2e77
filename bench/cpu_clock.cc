#include "bench/cpu_clock.h"

#include <time.h>

namespace neliroute::bench {

double thread_cpu_seconds() noexcept {
  timespec used{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) / 1e9;
}

double cpu_clock_cost() noexcept {
  static const double cost = [] {
    constexpr int kReadings = 10'000;
    const double before = thread_cpu_seconds();
    double last = before;
    for (int i = 0; i < kReadings; ++i) last = thread_cpu_seconds();
    return (last - before) / kReadings;
  }();
  return cost;
}

}  // namespace neliroute::bench
