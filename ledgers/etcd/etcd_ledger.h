// A ledger on an etcd, by its JSON gateway.
//
// Positions are revisions, so they have gaps; stamps are the writers'. A tail reads the newest
// record of each kind first (`Below::unread`).
//
// Threads: the strand.   Units: std::chrono.   Errors: those of the port.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <neliroute/ids.h>
#include <neliroute/time.h>

#include "ledgers/ledger_address.h"
#include "ledgers/prepared_store.h"
#include "net/tls.h"

namespace neliroute {

struct EtcdLedgerOptions {
  ProcessId id = kNobody;  ///< drawn: of no other writer
  std::uint32_t logs = 1;
  milliseconds lease{0};  ///< T
  milliseconds kept{0};   ///< for how long records are kept, at least
  /// It reads from the end.
  bool watcher = false;
};

/// `tls`: null, if the connection has none.
[[nodiscard]] OpenedLedger make_etcd_ledger(boost::asio::any_io_executor strand,
                                            const EtcdConnection& connection, TlsContextPtr tls,
                                            const EtcdLedgerOptions& options);

}  // namespace neliroute
