// The port: what the protocol needs from an ordered log, and no more. What a consumer group does
// besides is group_port.h.
//
// A ledger carries out a Ready and emits events. It decides nothing.
//
// Threads: all calls, and all events, on one strand.   Units: LocalTime.
// Errors: a ledger that cannot be reached is an event (WriteFailed, GapFound), never a failed call.
// Paper: "Overview" (a shared, partitioned ledger).
#pragma once

#include <functional>
#include <neliroute/error.h>
#include <neliroute/time.h>

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
  /// Called once if the ledger refuses what this process cannot do without before it was ever
  /// granted, such as a right to write. Later refusals are notices, and may be fixed.
  virtual void on_refused(std::function<void(const Error&)> handler) = 0;
  /// Appends; answered by WriteAcknowledged or WriteFailed. Never blocks.
  virtual void write(Write write) = 0;
  /// Reads the log again, from far enough back; answered by TailStarted, whenever that is.
  virtual void restart_tail(Log log) = 0;
  /// Answered by Reread with the same `question`, once the log's leader answers.
  virtual void reread(const RereadRequest& request) = 0;
  /// Releases everything, whatever state the ledger is in, and then calls `done`; at the
  /// deadline at the latest. No event comes after this call.
  virtual void close(LocalTime deadline, std::function<void()> done) = 0;
};

}  // namespace neliroute
