// How long what stands behind an owner may take to finish, once that one has left: its front, what
// is still to be notified, and its program, one after the other.
//
// Threads: one.   Units: milliseconds.   Errors: none.
#pragma once

#include <algorithm>
#include <chrono>
#include <neliroute/time.h>
#include <optional>

namespace neliroute::tool {

class FinishTime {
 public:
  using Clock = std::chrono::steady_clock;

  explicit FinishTime(milliseconds all) : all_(all) {}

  /// For all that is still to come. Its time begins with the first call.
  [[nodiscard]] milliseconds left(Clock::time_point now = Clock::now()) {
    if (!end_) end_ = now + all_;
    const auto left = std::chrono::duration_cast<milliseconds>(*end_ - now);
    return std::max(left, milliseconds{0});
  }
  /// For a program that is the last, and has only now been told to end: a second at least, unless
  /// all of it is less.
  [[nodiscard]] milliseconds last(Clock::time_point now = Clock::now()) {
    return std::max(left(now), std::min(all_, milliseconds{1000}));
  }

 private:
  milliseconds all_;
  std::optional<Clock::time_point> end_;
};

}  // namespace neliroute::tool
