// Whether a PostgreSQL database keeps what it says that it stored.
//
// Threads: pure functions, any.   Units: none.   Errors: none.
#pragma once

#include <string>
#include <vector>

#include "ledgers/ledger_address.h"
#include "ledgers/postgres/postgres_client.h"

namespace neliroute {

[[nodiscard]] std::string promise_statement(const PostgresConnection& connection);
/// Of its answer: what may be lost, and how; each says what to do.
[[nodiscard]] std::vector<std::string> promise_doubts(const PostgresAnswer& answer);
/// Empty: notifications are read as they come.
[[nodiscard]] std::string queue_doubt(const PostgresAnswer& answer);

}  // namespace neliroute
