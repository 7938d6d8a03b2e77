// The stores in this program's memory, each by a name: whoever opens one first makes it, and it
// ends with the last ledger on it.
//
// Threads: any.   Units: std::chrono.
// Errors: bad_option (a group, or another number of logs than it has), ledger_unfit (a watcher
// before the first owner; a lease that it does not keep records for).
#pragma once

#include <functional>
#include <memory>
#include <neliroute/error.h>
#include <optional>
#include <string>
#include <vector>

#include "ledgers/ledger_needs.h"
#include "ledgers/log_read.h"
#include "ledgers/prepared_store.h"

namespace neliroute {

[[nodiscard]] Result<std::unique_ptr<PreparedStore>> prepare_memory(
    const std::string& name, const LedgerNeeds& needs,
    const BeforeCreation& before_creation);

[[nodiscard]] Result<std::vector<LogRead>> read_memory(const std::string& name,
                                                       std::optional<BrokerTime> since,
                                                       const RecordSink& record);

}  // namespace neliroute
