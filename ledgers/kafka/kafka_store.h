// Kafka as a process finds it at start: topic, broker and group; and the ledger on it.
//
// Threads: as PreparedStore.   Units: std::chrono.   Errors: as prepare_topic() and
// learn_partitions().
#pragma once

#include <functional>
#include <memory>

#include "ledgers/kafka/kafka_options.h"
#include "ledgers/kafka/tail/log_reader.h"
#include "ledgers/prepared_store.h"

namespace neliroute {

[[nodiscard]] Result<std::unique_ptr<PreparedStore>> prepare_kafka(
    const KafkaOptions& options, const NoticeSink& waiting,
    const BeforeCreation& before_creation);

}  // namespace neliroute
