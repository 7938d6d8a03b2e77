// A ledger that voters keep (voter/). Any process may be one of them.
//
// Positions are indices of the quorum's log, of which some have no record. Stamps are the leader's.
//
// Threads: the strand.   Units: std::chrono.   Errors: those of the port.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <cstdint>
#include <neliroute/time.h>

#include "ledgers/ledger_address.h"
#include "ledgers/prepared_store.h"
#include "net/tls.h"

namespace neliroute {

struct QuorumLedgerOptions {
  std::uint32_t logs = 1;
  milliseconds lease{0};  ///< T
  milliseconds clock_error{0};
  /// It reads from the end.
  bool watcher = false;
};

/// `tls`: null, if the connection has none.
[[nodiscard]] OpenedLedger make_quorum_ledger(boost::asio::any_io_executor strand,
                                              const QuorumConnection& connection,
                                              TlsContextPtr tls,
                                              const QuorumLedgerOptions& options);

}  // namespace neliroute
