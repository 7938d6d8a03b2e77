// What one partition's records say about other processes' epochs: who claimed last, and until
// when each earlier epoch may still be led (rule 6 and "Valid" of docs/protocol.md).
//
// A record is valid unless this tail, since it last started, has read a newer claim before it.
// Only valid records make an epoch block others. What was known before a gap keeps blocking, judged
// by local time alone.
//
// If many processes claim within one lease, the oldest epochs are folded into one: the latest time
// until which any of them blocks. So a history costs the same however many claim.
//
// Threads: one.   Units: LocalTime, BrokerTime.   Errors: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <neliroute/ids.h>
#include <neliroute/time.h>
#include <optional>
#include <vector>

namespace neliroute {

/// One reading of a valid record: how it affects how long its epoch may be led.
struct Reading {
  LocalTime read;
  milliseconds lease{0};
  /// The broker's stamp, if it may be believed and the record was written before the tail started;
  /// then two brokers' clocks decide, which differ by at most clock_error.
  std::optional<BrokerTime> history_stamp;
  /// Its writer is in exclusive mode.
  bool exclusive = false;
};

class EpochHistory {
 public:
  /// Foreign epochs that are kept apart from each other.
  static constexpr std::size_t kKnownMax = 32;

  struct Known {
    Epoch epoch;
    ProcessId id = kNobody;
    LocalTime last_read = kLongAgo;
    /// Rule 6 (a): by this local time its lease has ended, whatever clocks do.
    LocalTime over_at = kLongAgo;
    /// Rule 6 (b): the same in broker time; no value once a valid record was not history.
    std::optional<BrokerTime> over_stamp;
    /// Since when the release is known; kNever: not released.
    LocalTime released_at = kNever;
    /// Since when its newest valid renewal says draining; kNever: it does not.
    LocalTime draining_since = kNever;
    bool claim_read = false;
    /// Nobody may lead beside it, in whatever mode.
    bool exclusive = false;
  };
  struct Newest {
    Epoch epoch;
    ProcessId id = kNobody;
    /// The process that held the epoch just before; kNobody: not known.
    ProcessId previous_id = kNobody;
  };

  /// The newest claim read since the tail last started.
  [[nodiscard]] const std::optional<Newest>& newest() const noexcept { return newest_; }
  /// Greater than or equal to every epoch ever seen here.
  [[nodiscard]] const Epoch& greatest() const noexcept { return greatest_; }
  [[nodiscard]] const std::vector<Known>& foreign() const noexcept { return foreign_; }
  [[nodiscard]] const Known* find(const Epoch& epoch) const noexcept;
  /// How the folded epochs block others, as if they were one epoch; null: they do not. A later
  /// release does not shorten it: waiting longer is safe.
  [[nodiscard]] const Known* folded() const noexcept { return folded_ ? &*folded_ : nullptr; }

  [[nodiscard]] bool is_valid(const Epoch& epoch) const noexcept {
    return !newest_ || epoch.offset >= newest_->epoch.offset;
  }
  /// Of folded claims only the first and the last are kept, so any claim between them counts as
  /// read.
  [[nodiscard]] bool claim_was_read(const Epoch& epoch) const noexcept;

  void own_claim(const Epoch& epoch, ProcessId own);
  void foreign_claim(const Epoch& epoch, ProcessId id, const Reading& reading);
  /// A valid renewal of a foreign epoch.
  void renewal(const Epoch& epoch, ProcessId id, bool draining, const Reading& reading);
  /// Final, wherever it is in the log, but only from the epoch's own id. False: not believed.
  bool release(const Epoch& epoch, ProcessId id, const Reading& reading);

  /// The tail restarts: order in the log is known from here on only.
  void gap() noexcept;
  /// Forgets epochs that block nobody, except the newest and those above `keep_above`.
  void forget(LocalTime now, const Epoch& keep_above);

 private:
  Known& entry(const Epoch& epoch, ProcessId id, const Reading& reading);
  void make_room();
  void fold(const Known& known);

  std::vector<Known> foreign_;
  std::optional<Known> folded_;  ///< its epoch is the greatest of them
  Epoch first_folded_claim_ = kNoEpoch;
  Epoch last_folded_claim_ = kNoEpoch;  ///< kNoEpoch: none since the tail last started
  std::optional<Newest> newest_;
  Epoch greatest_ = kNoEpoch;
};

}  // namespace neliroute
