// What a member is told whom its group refuses for its protocol or assignors, and what follows from
// eager ones.
//
// Threads: pure functions, any.   Units: std::chrono.   Errors: none; texts say what to do.
#pragma once

#include <librdkafka/rdkafka.h>

#include <optional>
#include <string>

#include "kafka/kafka_options.h"
#include "neli_core/timing.h"

namespace neliroute {

/// Whether the group refuses this process because a member speaks another protocol, or shares no
/// assignor with it: INCONSISTENT_GROUP_PROTOCOL; and to a member of the consumer protocol that
/// there is no group, GROUP_ID_NOT_FOUND.
[[nodiscard]] bool is_inconsistent_group(rd_kafka_resp_err_t error) noexcept;
/// What is told then.
[[nodiscard]] std::string inconsistent_group(const KafkaOptions& options, GroupProtocol protocol,
                                             rd_kafka_resp_err_t error);

/// How long a process that never was in the group waits for such a member to go: one that was
/// killed is in it until its session is over.
[[nodiscard]] milliseconds inconsistent_group_bound(const Timing& timing) noexcept;

/// Exclusive `broadcast` with eager assignors is how goNELI's members are joined, which hear that
/// they were removed at their next heartbeat, 3 s by default. No value: the lease is above that.
[[nodiscard]] std::optional<std::string> eager_lease_warning(const KafkaOptions& options,
                                                             GroupProtocol protocol,
                                                             milliseconds lease);

}  // namespace neliroute
