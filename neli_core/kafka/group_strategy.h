// What a member of a classic group says of its assignors, and what follows from eager ones.
//
// Threads: pure functions, any.   Units: std::chrono.   Errors: none; texts say what to do.
#pragma once

#include <optional>
#include <string>

#include "neli_core/kafka/kafka_options.h"
#include "neli_core/timing.h"

namespace neliroute {

/// What is told when the group refuses this process because a member speaks another protocol, or
/// shares no assignor with it (INCONSISTENT_GROUP_PROTOCOL).
[[nodiscard]] std::string inconsistent_group(const KafkaOptions& options, GroupProtocol protocol);

/// How long a process that never was in the group waits for such a member to go: one that was
/// killed is in it until its session is over.
[[nodiscard]] milliseconds inconsistent_group_bound(const Timing& timing) noexcept;

/// Exclusive `broadcast` with eager assignors is how goNELI's members are joined, which hear that
/// they were removed at their next heartbeat, 3 s by default. No value: the lease is above that.
[[nodiscard]] std::optional<std::string> eager_lease_warning(const KafkaOptions& options,
                                                             GroupProtocol protocol,
                                                             milliseconds lease);

}  // namespace neliroute
