// What a process must know of a quorum before it takes part.
//
// Threads: blocking, any one.   Units: std::chrono.
// Errors: bad_option, ledger_unfit, ledger_unreachable; each says what to do.
#pragma once

#include <memory>
#include <neliroute/error.h>
#include <optional>
#include <vector>

#include "ledgers/ledger_address.h"
#include "ledgers/ledger_needs.h"
#include "ledgers/log_read.h"
#include "ledgers/prepared_store.h"

namespace neliroute {

[[nodiscard]] Result<std::unique_ptr<PreparedStore>> prepare_quorum(
    const QuorumConnection& connection, const LedgerNeeds& needs, const NoticeSink& waiting,
    const BeforeCreation& before_creation);

/// All records of all logs, from a time on (no value: the oldest that is kept).
[[nodiscard]] Result<std::vector<LogRead>> read_quorum(const QuorumConnection& connection,
                                                       std::optional<BrokerTime> since,
                                                       const RecordSink& record);

}  // namespace neliroute
