// RouterOptions taken apart: the part of each room below; and the id and the name that a process
// gives itself. Private; the command uses it, too.
//
// Threads: any; all but the last two are pure.   Units: std::chrono.   Errors: none.
#pragma once

#include <neliroute/options.h>
#include <string>

#include "kafka/kafka_options.h"
#include "neli_core/timing.h"

namespace neliroute {

[[nodiscard]] KafkaOptions kafka_options(const RouterOptions& options);
[[nodiscard]] TimingRequest timing_request(const RouterOptions& options);
/// What both have; a lease that was not given is the profile's.
[[nodiscard]] WatcherOptions watcher_options(const RouterOptions& options);

/// At random, and never kNobody.
[[nodiscard]] ProcessId draw_process_id();
/// host_pid_id of this process.
[[nodiscard]] std::string default_process_name(ProcessId id);

}  // namespace neliroute
