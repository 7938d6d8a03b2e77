// Whether what was read of a log is recent, and what a pause in reading excuses (rules A1 and A5).
//
// Threads: pure functions, any.   Units: LocalTime, std::chrono.   Errors: none.
#pragma once

#include <algorithm>
#include <neliroute/time.h>

namespace neliroute {

/// Nothing was read since `read` for 2.5 intervals, or ever (kLongAgo).
[[nodiscard]] constexpr bool is_stale(LocalTime read, LocalTime now,
                                      milliseconds interval) noexcept {
  return read == kLongAgo || now - read > interval * 5 / 2;
}

/// By how much longer others may be silent, once this process reads again: as long as it had not
/// read, at most a lease. Zero: it read all the time, or for the first time.
[[nodiscard]] constexpr microseconds excuse_for(LocalTime read, LocalTime now,
                                                milliseconds interval,
                                                milliseconds lease) noexcept {
  if (read == kLongAgo || !is_stale(read, now, interval)) return microseconds{0};
  return std::min<microseconds>(now - read, lease);
}

}  // namespace neliroute
