// How far the tail of one log has read, in terms of TailStarted, Received and LogPosition.
//
// Threads: one.   Units: offsets.   Errors: none.
#pragma once

#include <algorithm>
#include <cstdint>
#include <neliroute/time.h>

#include "neli_core/event.h"

namespace neliroute {

struct LogProgress {
  bool started = false;           ///< the tail runs, as far as is known
  std::int64_t end_at_start = 0;  ///< where the log ended when its tail last started
  std::int64_t next = 0;          ///< offset of the next record

  void start(const TailStarted& event) noexcept {
    started = true;
    end_at_start = event.end;
    next = event.start;
  }
  void stop() noexcept { started = false; }
  /// A tail that starts there goes on where this one was. Elsewhere it may read another log.
  [[nodiscard]] bool goes_on(const TailStarted& event) const noexcept {
    return started && event.start == next;
  }

  /// The record there is the next one. False: it was read before, or no tail runs.
  bool read(std::int64_t offset) noexcept {
    if (!started || offset < next) return false;
    next = offset + 1;
    return true;
  }
  /// No record lies between what was read and there.
  void reach(std::int64_t end) noexcept { next = std::max(next, end); }

  /// It has read all records that existed when it started.
  [[nodiscard]] bool caught_up() const noexcept { return started && next >= end_at_start; }
  /// Existed when the tail started: its writer may be long gone.
  [[nodiscard]] bool is_history(std::int64_t offset) const noexcept {
    return offset < end_at_start;
  }
};

/// A process that has not read the history of every log by then takes part all the same: the rest
/// comes later.
inline constexpr milliseconds kHistoryBound{3000};

/// The history of each of these logs was read.
template <class Logs>
[[nodiscard]] bool all_caught_up(const Logs& logs) {
  return std::all_of(logs.begin(), logs.end(),
                     [](const LogProgress& log) { return log.caught_up(); });
}

}  // namespace neliroute
