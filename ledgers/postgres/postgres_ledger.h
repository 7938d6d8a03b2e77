// A ledger in a PostgreSQL database, by libpq.
//
// Positions are dense from 0; stamps are the server's.
//
// Threads: the strand.   Units: std::chrono.   Errors: those of the port.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <neliroute/time.h>

#include "ledgers/ledger_address.h"
#include "ledgers/prepared_store.h"

namespace neliroute {

struct PostgresLedgerOptions {
  std::uint32_t logs = 1;
  milliseconds lease{0};  ///< T
  milliseconds interval{0};
  milliseconds clock_error{0};
  milliseconds kept{0};  ///< for how long records are kept, at least
  bool exclusive = false;
  /// It reads from the end.
  bool watcher = false;
};

[[nodiscard]] OpenedLedger make_postgres_ledger(boost::asio::any_io_executor strand,
                                                const PostgresConnection& connection,
                                                const PostgresLedgerOptions& options);

}  // namespace neliroute
