// Everything the state machine knows about one log: how far its tail has read, whether that still
// holds, and what is in flight to it.
//
// Threads: one (inside ClaimProtocol).   Units: offsets, LocalTime.   Errors: none.
#pragma once

#include <cstdint>
#include <map>
#include <neliroute/ids.h>
#include <neliroute/time.h>
#include <optional>
#include <vector>

#include "neli_core/event.h"
#include "neli_core/log/log_progress.h"

namespace neliroute {

/// An epoch that was dropped; others wait for it until they read its release.
struct PendingRelease {
  Epoch epoch;
  Partition partition;
  std::uint32_t attempts = 0;
};

/// A claim that the log's leader stored, and that was not read there yet.
struct StoredClaim {
  std::uint64_t seq = 0;
  std::vector<Partition> partitions;
};

struct LogState : LogProgress {
  // The tail.
  LocalTime started_at = kLongAgo;  ///< L0
  /// The stamp of the first record that was read with a believed one: the horizon of what may be
  /// below.
  std::optional<BrokerTime> first_stamp;
  /// T* of the records before the tail's start is known: the history says it, or there are none.
  bool history_bound_known = false;
  /// Its stamps say how old what lies below at least is; else only L0 does.
  bool dates_history = true;
  std::int64_t last_offset = -1;  ///< -1: no record was read since the tail started
  RecordIdentity last;

  // Whether the log is still the one that was read.
  LocalTime last_answer = kLongAgo;
  /// No own record extends a lease, and no claim is written, until the last record was read again.
  bool check_pending = false;
  bool reread_requested = false;
  std::uint64_t question = 0;
  LocalTime reread_at = kLongAgo;
  std::int64_t reread_offset = -1;  ///< while a check is pending: the last before the silence
  RecordIdentity reread_expected;

  // What is written.
  std::int64_t greatest_incarnation = 0;  ///< 0: none known
  LocalTime next_renewal = kNever;
  bool renewal_due = false;    ///< the periodic one
  bool state_changed = false;  ///< one at once, apart from the periodic one
  std::uint32_t renewals_in_flight = 0;
  std::uint32_t held_count = 0;  ///< own epochs here
  std::uint32_t stale_count = 0;  ///< of these, as the last beat found them
  /// When the oldest record whose fate is not known was sent; kNever: there is none.
  LocalTime unanswered_since = kNever;
  /// When it had been so for two intervals and was no more: the log's last return from a silence.
  LocalTime returned_at = kLongAgo;
  /// Partitions whose claim may be due; claim_time() decides when the record is made.
  std::vector<Partition> claims_due;
  std::map<std::int64_t, StoredClaim> stored_claims;  ///< by offset
  std::vector<PendingRelease> releases;
};

}  // namespace neliroute
