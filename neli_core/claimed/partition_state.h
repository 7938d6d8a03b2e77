// Everything the state machine knows about one partition.
//
// Threads: one (inside ClaimProtocol).   Units: LocalTime.   Errors: none.
#pragma once

#include <cstdint>
#include <neliroute/ids.h>
#include <neliroute/time.h>
#include <optional>

#include "neli_core/claimed/epoch_history.h"
#include "neli_core/log/flow.h"

namespace neliroute {

/// An own epoch, from when its claim is read until it is dropped.
struct OwnEpoch {
  Epoch epoch;
  LocalTime lease_until = kLongAgo;
  /// leads() answers yes until then: the lease's end, or later where it may be served on.
  LocalTime serves_until = kLongAgo;
  LocalTime claim_read;
  /// Broker time of the claim, if broker time is believed.
  std::optional<BrokerTime> claim_stamp;
  /// A foreign claim was read after it: it is not the newest any more.
  bool superseded = false;
  /// An own claim that could not be taken was read after it: the rest of the lease stands, and
  /// nothing extends it until the next claim is read.
  bool outlived = false;
  /// A store knows a greater one, so the partition is claimed again.
  bool refused = false;
  /// Nothing keeps it from leading until lease_until, but warming up.
  bool leading = false;
  /// Handing over: revoked, or superseded in non-exclusive mode.
  bool draining = false;
  /// It leads on beyond its lease, as its log is silent, or is lost.
  bool stale = false;
  /// A gap was found in its log since. It is served on, and nothing is renewed under it.
  bool log_lost = false;
  /// Where log 0 was when another process was last named for it while it was stale, or could not
  /// be.
  std::optional<Flow::Mark> another_named;
};

struct ClaimUnderWay {
  std::uint64_t seq = 0;
  LocalTime written;
};

/// What the application does for a partition that this process is to lead, before the claim.
enum class Preparation : std::uint8_t { none, running, done };

struct PartitionState {
  bool assigned = false;
  std::optional<OwnEpoch> own;
  std::optional<ClaimUnderWay> claim;
  /// A claim is due whatever others do: newly assigned, failed, after a gap.
  bool claim_due = false;
  Preparation preparation = Preparation::none;
  /// While it runs: when the claim is written all the same.
  LocalTime prepare_until = kLongAgo;
  /// The own epoch leads, but the application warms up for it, and lookups do not say so yet: until
  /// when at the latest. kNever: it does not warm up.
  LocalTime warm_until = kNever;
  /// Where that stands in Ready::warm_ups, as long as nobody has taken it from there.
  std::optional<std::size_t> warm_up_untold;
  /// Given up by the newest epoch's owner, and nobody has claimed it since.
  bool vacant = false;
  bool claim_listed = false;  ///< in LogState::claims_due
  LocalTime last_claim_written = kLongAgo;
  std::int64_t unbelieved_incarnation = -1;  ///< the greatest that a store reported in vain
  /// Incremented whenever the epoch behind the lease word changes.
  std::uint16_t generation = 0;
  EpochHistory history;

  [[nodiscard]] bool warms_up() const noexcept { return warm_until != kNever; }
  /// leads() answers yes until the lease ends.
  [[nodiscard]] bool serves() const noexcept { return own && own->leading && !warms_up(); }
};

}  // namespace neliroute
