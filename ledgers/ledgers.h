// The stores that there are, by their addresses. Nothing above knows one of them.
//
// Threads: blocking, any one; at start only.   Units: std::chrono.
// Errors: bad_option, ledger_unfit, ledger_refused, ledger_unreachable (no answer within the
// connection's timeout); each says what to do.
#pragma once

#include <functional>
#include <memory>
#include <neliroute/error.h>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ledgers/ledger_address.h"
#include "ledgers/ledger_needs.h"
#include "ledgers/log_read.h"
#include "ledgers/prepared_store.h"

namespace neliroute {

/// Asks what a process must know before it takes part; makes the logs if they are missing.
/// `waiting` is notified when nobody answers at first, or a watcher finds no logs.
[[nodiscard]] Result<std::unique_ptr<PreparedStore>> prepare_store(
    const LedgerAddress& address, const LedgerNeeds& needs, const NoticeSink& waiting = {},
    const BeforeCreation& before_creation = {});

/// Reads all records of all lanes, from a time on (no value: the oldest that is kept) to where the
/// logs end now.
[[nodiscard]] Result<std::vector<LogRead>> read_store(const LedgerAddress& address,
                                                      const LedgerNeeds& needs,
                                                      std::optional<BrokerTime> since,
                                                      const RecordSink& record,
                                                      const NoticeSink& notices = {});

/// The SQL that PostgreSQL needs for its logs, in this schema; ends with a newline.
[[nodiscard]] Result<std::string> schema_text(std::string_view schema);

}  // namespace neliroute
