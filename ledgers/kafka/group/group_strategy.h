// The error when a group refuses a member for its protocol or assignors, and what follows from
// eager assignors.
//
// Threads: pure functions, any.   Units: std::chrono.   Errors: none; texts say what to do.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "ledgers/kafka/kafka_options.h"
#include "neli_core/timing.h"

namespace neliroute {

/// The text for an error that is_inconsistent_group(), by its name.
[[nodiscard]] std::string inconsistent_group(const KafkaOptions& options, GroupProtocol protocol,
                                             std::string_view error);

/// How long a process that never was in the group waits for such a member to go: a killed one is in
/// it until its session ends.
[[nodiscard]] milliseconds inconsistent_group_bound(const Timing& timing) noexcept;

/// Exclusive `broadcast` with eager assignors is how to join goNELI's members, which learn that
/// they were removed at their next heartbeat, 3 s by default. No value: the lease is above that.
[[nodiscard]] std::optional<std::string> eager_lease_warning(const KafkaOptions& options,
                                                             GroupProtocol protocol,
                                                             milliseconds lease);

}  // namespace neliroute
