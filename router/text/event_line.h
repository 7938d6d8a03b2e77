// A transition as one line of JSON: what `run --events` writes and /v1/events sends.
//
// Threads: pure functions, any.
// Units: `at` is Unix seconds, `boot` CLOCK_BOOTTIME seconds, to the microsecond: both of the
// instant at which the answer changed, not of the writing. `prepare_ms`, `warm_up_ms` and
// `barrier_ms` are milliseconds, to the microsecond, and left out if they are 0.
// Errors: none.
#pragma once

#include <neliroute/ids.h>
#include <neliroute/settings.h>
#include <neliroute/time.h>
#include <neliroute/transition.h>
#include <string>

namespace neliroute {

/// The process whose events they are.
struct EventSource {
  std::string process;
  ProcessId id;
  Lane lane;
  Mode mode = Mode::non_exclusive;
};

/// The line of a transition, without its end.
/// `unix_minus_boot`: what to add to LocalTime for Unix time.
[[nodiscard]] std::string event_line(const EventSource& source, const Transition& transition,
                                     microseconds unix_minus_boot);

}  // namespace neliroute
