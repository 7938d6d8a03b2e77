// A store that a process may use: it was asked what must be known at start, and gives the ledger.
//
// Threads: any one; open()'s ledger is on its strand.   Units: std::chrono.
// Errors: bad_option, ledger_unfit, ledger_refused, ledger_unreachable; each says what to do.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <cstdint>
#include <functional>
#include <memory>
#include <neliroute/error.h>
#include <neliroute/ids.h>
#include <neliroute/options.h>
#include <vector>

#include "ledgers/ledger_statistics.h"
#include "neli_core/group_port.h"
#include "neli_core/ledger.h"
#include "neli_core/timing.h"

namespace neliroute {

struct LedgerFacts {
  /// M: with a group the topic's own number; with an assigner, any.
  std::uint32_t partitions = 0;
  std::uint32_t logs = 0;
  /// Whether stamps are known to be the store's.
  bool believe_broker_time = false;
  /// librdkafka's mock cluster: no admin requests, and no time but the writers' own.
  bool embedded_broker = false;
  /// Of a group, where there is one.
  SessionFacts session;
  std::vector<Notice> notices;
};

/// May refuse options that new logs would not fit: then none are made.
using BeforeCreation = std::function<Result<void>(const LedgerFacts& facts)>;

struct OpenedLedger {
  std::unique_ptr<Ledger> ledger;
  /// A part of the ledger; null: nobody needs a group, or the store has none.
  GroupPort* group = nullptr;
  std::shared_ptr<const LedgerStatistics> statistics;  ///< null: it tells none
};

class PreparedStore {
 public:
  virtual ~PreparedStore() = default;
  PreparedStore() = default;
  PreparedStore(const PreparedStore&) = delete;
  PreparedStore& operator=(const PreparedStore&) = delete;

  [[nodiscard]] virtual const LedgerFacts& facts() const noexcept = 0;
  /// Whether an owner's timing fits the store; if so, what operators should know of both.
  [[nodiscard]] virtual Result<std::vector<Notice>> check(const Timing& timing) const = 0;
  /// Once. `self`: whose records are this process's own; kNobody: a command's, which reads no
  /// statistics. What it returns is destroyed on the strand, but not from inside its own calls and
  /// events.
  [[nodiscard]] virtual Result<OpenedLedger> open(boost::asio::any_io_executor strand,
                                                  const Timing& timing, ProcessId self) = 0;
};

}  // namespace neliroute
