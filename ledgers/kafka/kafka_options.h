// The options of the ledger on Kafka: how to reach it, and the part that this process takes.
//
// Threads: values, any.   Units: std::chrono.   Errors: see topic_setup.h and client_config.h.
#pragma once

#include <neliroute/options.h>
#include <string>

#include "ledgers/ledger_needs.h"

namespace neliroute {

struct KafkaOptions : KafkaConnection, LedgerNeeds {
  [[nodiscard]] std::string group_id() const { return neliroute::group_id(group, lane); }
};

}  // namespace neliroute
