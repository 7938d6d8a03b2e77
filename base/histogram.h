// A histogram of durations that one thread writes and any thread reads, without a lock.
//
// Threads: note(): one. read(): any.   Units: microseconds in, seconds in the bounds.
// Errors: none.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <neliroute/time.h>

namespace neliroute {

class Histogram {
 public:
  /// From the round trip to a broker on the same machine to the longest possible lease.
  static constexpr std::array kBounds{0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1,
                                      0.25,   0.5,   1.0,    2.5,   5.0,  10.0,  30.0, 60.0,
                                      120.0,  300.0, 600.0};
  struct Reading {
    /// Of each bucket, not cumulative; the last has no upper bound.
    std::array<std::uint64_t, kBounds.size() + 1> counts{};
    microseconds sum{0};
  };

  void note(microseconds duration) noexcept {
    const double seconds = std::chrono::duration<double>(duration).count();
    const auto bucket = std::lower_bound(kBounds.begin(), kBounds.end(), seconds);
    add(counts_[static_cast<std::size_t>(bucket - kBounds.begin())], 1);
    add(sum_, static_cast<std::uint64_t>(std::max<std::int64_t>(0, duration.count())));
  }
  [[nodiscard]] Reading read() const noexcept {
    Reading reading;
    for (std::size_t i = 0; i < counts_.size(); ++i) {
      reading.counts[i] = counts_[i].load(std::memory_order_relaxed);
    }
    reading.sum = microseconds{static_cast<std::int64_t>(sum_.load(std::memory_order_relaxed))};
    return reading;
  }

 private:
  static void add(std::atomic<std::uint64_t>& to, std::uint64_t count) noexcept {
    to.store(to.load(std::memory_order_relaxed) + count, std::memory_order_relaxed);
  }

  std::array<std::atomic<std::uint64_t>, kBounds.size() + 1> counts_{};
  std::atomic<std::uint64_t> sum_{0};
};

}  // namespace neliroute
