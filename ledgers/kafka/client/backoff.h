// Backoff before replacing a stalled client: longer each time, until it works.
//
// Threads: one.   Units: std::chrono.   Errors: none.
#pragma once

#include <algorithm>
#include <chrono>
#include <neliroute/time.h>

namespace neliroute {

class Backoff {
 public:
  explicit Backoff(milliseconds first = kFirst) : first_(first), now_(first) {}

  [[nodiscard]] bool is_over(microseconds waited) const noexcept { return waited > now_; }
  [[nodiscard]] milliseconds now() const noexcept { return now_; }
  void grow() noexcept { now_ = std::min(2 * now_, std::max(kMost, first_)); }
  void reset() noexcept { now_ = first_; }

  static constexpr milliseconds kFirst{5000};

 private:
  static constexpr milliseconds kMost{60'000};

  milliseconds first_;
  milliseconds now_;
};

}  // namespace neliroute
