// The port: what the protocol needs from a ledger, and no more.
//
// A ledger carries out a Ready and emits events. It decides nothing.
//
// Threads: all calls, and all events, on one strand.   Units: LocalTime.
// Errors: a ledger that cannot be reached is an event (WriteFailed, GapFound), never a failed call.
// Paper: "Overview" (a shared, partitioned ledger capable of atomic partition assignment).
#pragma once

#include <cstddef>
#include <functional>
#include <neliroute/error.h>
#include <neliroute/time.h>
#include <optional>

#include "neli_core/event.h"
#include "neli_core/ready.h"

namespace neliroute {

/// What happened, and a CLOCK_BOOTTIME reading taken after it.
using EventSink = std::function<void(const Event&, LocalTime now)>;
/// Something an operator should read.
using NoticeSink = std::function<void(const Notice&)>;

class Ledger {
 public:
  virtual ~Ledger() = default;
  Ledger() = default;
  Ledger(const Ledger&) = delete;
  Ledger& operator=(const Ledger&) = delete;

  /// Starts reading every log; events follow.
  virtual void start(EventSink events, NoticeSink notices) = 0;
  /// Called once if the broker refuses what this process cannot do without before it was ever
  /// granted: a right to write or to be in the group. Later refusals are notices, and may be fixed.
  virtual void on_refused(std::function<void(const Error&)> handler) { static_cast<void>(handler); }
  /// Appends; answered by WriteAcknowledged or WriteFailed. Never blocks.
  virtual void write(Write write) = 0;
  /// Appends a record without key and value to every partition; the outcome is not reported. A
  /// ledger that serves only `claimed` never gets this call.
  virtual void broadcast() {}
  /// Reads the log again, from far enough back; answered by TailStarted, whenever that is.
  virtual void restart_tail(Log log) = 0;
  /// Answered by Reread with the same `question`, once the log's leader answers.
  virtual void reread(const RereadRequest& request) = 0;
  /// Joins the group; GroupAssigned and GroupRevoked follow.
  virtual void subscribe() = 0;
  /// Sends the group a heartbeat after a random delay of at most `within`, instead of at the next
  /// interval: an assignment made by then is an event soon after.
  virtual void expedite(milliseconds within) { static_cast<void>(within); }
  /// Lets the oldest `count` assigned or revoked events proceed.
  virtual void finish_rebalances(std::uint32_t count) = 0;
  /// Leaves the group; what it had assigned is not revoked again.
  virtual void leave_group() = 0;
  /// Leaves the group, or does not join it, until it is told otherwise: then joins if it would
  /// have. What it had assigned is revoked.
  virtual void stay_away(bool away) { static_cast<void>(away); }
  /// How many members the group has now besides this process; no value if that cannot be found out.
  /// May answer at once.
  virtual void count_others(std::function<void(std::optional<std::size_t>)> answer) {
    answer(std::nullopt);
  }
  /// Releases everything, whatever state the ledger is in, and then calls `done`; at the
  /// deadline at the latest. No event comes after this call.
  virtual void close(LocalTime deadline, std::function<void()> done) = 0;
};

}  // namespace neliroute
