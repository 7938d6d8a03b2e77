// Everything the state machine knows about one partition.
//
// Threads: one (inside a Core).   Units: LocalTime.   Errors: none.
#pragma once

#include <algorithm>
#include <cstdint>
#include <neliroute/error.h>
#include <neliroute/ids.h>
#include <neliroute/time.h>
#include <optional>
#include <string>

#include "neli_core/epoch_history.h"

namespace neliroute {

/// An epoch of one's own, from the reading of its claim until it is dropped.
struct OwnEpoch {
  Epoch epoch;
  LocalTime lease_until = kLongAgo;
  LocalTime claim_read;
  /// Broker time of the claim, if broker time is believed.
  std::optional<BrokerTime> claim_stamp;
  /// A foreign claim was read behind it: it is not the newest any more.
  bool superseded = false;
  /// An own claim that could not be taken was read behind it: what is left of the lease stands,
  /// and nothing makes it longer until the next claim is read.
  bool outlived = false;
  /// A store knows a greater one, so it is claimed over.
  bool refused = false;
  /// leads() answers yes until lease_until.
  bool leading = false;
  /// Handing over: revoked, or superseded in non-exclusive mode.
  bool draining = false;
};

/// The application is finishing what it did under an epoch.
struct Barrier {
  Epoch epoch;
  LocalTime deadline;  ///< the end of the lease
  /// Later than the deadline for who was stopped and noticed the lapse on waking up.
  LocalTime started;
  bool overdue_told = false;
  bool release_after = false;

  /// When it has outlasted its lease by T, too, and the process gives up.
  [[nodiscard]] LocalTime stuck_at(milliseconds lease) const noexcept {
    return later(std::max(deadline, started), lease);
  }
  [[nodiscard]] static Error stuck(Partition partition, milliseconds lease) {
    return {Errc::barrier_stuck, "the barrier of partition " + std::to_string(partition.value()) +
                                     " still runs " + std::to_string(lease.count()) +
                                     " ms after its lease ended; leaving the group"};
  }
};

struct ClaimUnderWay {
  std::uint64_t seq = 0;
  LocalTime written;
};

struct PartitionState {
  bool assigned = false;
  std::optional<OwnEpoch> own;
  std::optional<Barrier> barrier;
  std::optional<ClaimUnderWay> claim;
  /// A claim is due whatever others do: assigned anew, failed, after a gap.
  bool claim_due = false;
  /// Given up by the newest epoch's owner, and nobody has claimed it since.
  bool vacant = false;
  bool claim_listed = false;  ///< in LogState::claims_due
  LocalTime last_claim_written = kLongAgo;
  std::int64_t unbelieved_incarnation = -1;  ///< the greatest that a store told and nobody believes
  /// Bumped whenever the epoch behind the lease word changes.
  std::uint16_t generation = 0;
  EpochHistory history;
};

/// The role states, in the words of the leader-and-followers seed.
enum class RoleState { following, looking, leading, draining };

}  // namespace neliroute
