// What a process must know of an etcd before it takes part.
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

/// Makes the logs if they are missing, but for a watcher.
[[nodiscard]] Result<std::unique_ptr<PreparedStore>> prepare_etcd(
    const EtcdConnection& connection, const LedgerNeeds& needs, const NoticeSink& waiting,
    const BeforeCreation& before_creation);

/// All records of all lanes that etcd's history still has, which is what was not compacted.
[[nodiscard]] Result<std::vector<LogRead>> read_etcd(const EtcdConnection& connection,
                                                     std::optional<BrokerTime> since,
                                                     const RecordSink& record);

}  // namespace neliroute
