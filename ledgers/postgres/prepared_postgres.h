// What a process must know of a PostgreSQL database before it takes part.
//
// Threads: blocking, any one; at start only.   Units: std::chrono.
// Errors: bad_option, ledger_unfit, ledger_refused, ledger_unreachable; each says what to do.
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

/// Makes a topic's logs if they are missing, but for a watcher.
[[nodiscard]] Result<std::unique_ptr<PreparedStore>> prepare_postgres(
    const PostgresConnection& connection, const LedgerNeeds& needs, const NoticeSink& waiting,
    const BeforeCreation& before_creation);

/// All records of all lanes that are kept.
[[nodiscard]] Result<std::vector<LogRead>> read_postgres(const PostgresConnection& connection,
                                                         std::optional<BrokerTime> since,
                                                         const RecordSink& record);

}  // namespace neliroute
