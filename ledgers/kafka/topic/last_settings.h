// How many partitions a lane runs with, where the topic's own number does not say it: with an
// assigner the records' settings do.
//
// Threads: blocking, any one; at start only.   Units: std::chrono.
// Errors: bad_option; what cannot be read leaves the default, and the facts get a notice.
#pragma once

#include "ledgers/kafka/kafka_options.h"
#include "ledgers/kafka/topic/topic_setup.h"

namespace neliroute {

/// Unless `partitions` is given: what the newest records of log 0 say, if they say anything. For a
/// watcher, which does not know who assigns, and for an owner with an assigner; nothing for others.
/// Refuses a watcher that is told another number than the topic has, where a group assigns.
[[nodiscard]] Result<void> learn_partitions(const KafkaOptions& options, TopicFacts& facts);

}  // namespace neliroute
