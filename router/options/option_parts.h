// RouterOptions taken apart: the part of each room below; and the id that a process gives itself.
// Private; the command uses it, too.
//
// Threads: any; all but draw_process_id() are pure.   Units: std::chrono.   Errors: none.
#pragma once

#include <neliroute/options.h>

#include "kafka/kafka_options.h"
#include "neli_core/timing.h"

namespace neliroute {

[[nodiscard]] KafkaOptions kafka_options(const RouterOptions& options);
[[nodiscard]] TimingRequest timing_request(const RouterOptions& options);
/// What both have; a lease that was not given is the profile's.
[[nodiscard]] WatcherOptions watcher_options(const RouterOptions& options);

/// At random, and never kNobody.
[[nodiscard]] ProcessId draw_process_id();

}  // namespace neliroute
