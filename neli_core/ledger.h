// The port: what the protocol needs from an ordered log, and no more. What a consumer group does
// besides is group_port.h.
//
// A ledger carries out a Ready and emits events. It decides nothing. What it promises:
// P1  The records of a log have one order. A record's position is at least 0 and below 2^53, rises
//     along that order and never changes. Positions need not be dense.
// P2  From `TailStarted::start` on, each record is delivered once, in that order. A LogPosition is
//     an end: all records below it were delivered.
// P3  WriteAcknowledged names the position at which every reader finds the record. After
//     WriteFailed, or without an answer, it may still appear, late, once or twice.
// P4  What was acknowledged or delivered to anybody is not lost while the store's own assumptions
//     hold; else it is a gap for whoever had read it.
// P5  A stamp that is said to be the store's was made by the store, after its predecessor's append
//     and before the own acknowledgement.
// P6  TailStarted says what the tail leaves out, and comes with a time read after `end` was known.
// P7  It knows whether it reads the same log. If not: GapFound. Reread is answered by whoever may
//     append, never from memory.
// P8  Each request has a bound; nothing blocks the strand. A refusal is reported once, and what was
//     refused is tried again.
// P9  Records are kept for at least ten times the longest lease, and 10 min.
// P10 The writes of one Ready may share a request; each keeps its position and its answer.
// tests/unit/ledgers tries that on every ledger.
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
