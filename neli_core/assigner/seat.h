// The seat: the right to assign, one a lane (rules A2 and A3). The newest seat claim in log 0 holds
// it, without lease and grace: two processes that both believe to hold it do no harm, since an
// assignment counts only under the newest claim before it in the log.
//
// Threads: one (inside AssignedCore).   Units: LocalTime, offsets.   Errors: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <neliroute/ids.h>
#include <neliroute/time.h>
#include <optional>

#include "neli_core/assigner/members.h"
#include "neli_core/event.h"

namespace neliroute {

struct SeatOptions {
  ProcessId own = kNobody;
  milliseconds interval{0};
  /// A holder that has not said for so long that it assigns has lost the seat.
  milliseconds lease{0};
};

class Seat {
 public:
  explicit Seat(SeatOptions options) : options_(options) {}

  void tail_started(const TailStarted& event, LocalTime now);
  /// What lies between is not known: the holder is unknown until somebody tells it.
  void tail_lost() noexcept { known_ = false; }
  /// Log 0 was not read for that long: nobody's silence counts.
  void excuse(microseconds stretch) noexcept;

  void claimed(ProcessId id, const Epoch& seat, LocalTime now);
  /// A member's renewal: who holds the seat as its writer knows, or that its writer assigns.
  void renewed(const Record& record, LocalTime now);

  /// Whether an assignment that was just read counts (A3).
  [[nodiscard]] bool is_valid(const AssignmentRecord& assign) const noexcept;
  [[nodiscard]] bool known() const noexcept { return known_; }
  /// kNobody: nobody, as far as is known.
  [[nodiscard]] ProcessId holder() const noexcept { return holder_; }
  [[nodiscard]] const Epoch& epoch() const noexcept { return seat_; }
  /// Who held it before, as far as is known.
  [[nodiscard]] ProcessId predecessor() const noexcept { return predecessor_; }
  [[nodiscard]] bool held_by_own() const noexcept {
    return known_ && holder_ == options_.own;
  }

  /// Finds out whether the seat is free.
  void look(const Members& members, LocalTime now);
  [[nodiscard]] bool is_free() const noexcept { return vacant_since_ != kNever; }
  /// When the member of that rank may claim it; kNever: it is taken.
  [[nodiscard]] LocalTime claim_at(std::size_t rank) const noexcept;
  /// When to look again.
  [[nodiscard]] LocalTime next_deadline() const noexcept;

 private:
  [[nodiscard]] bool is_vacant(const Members& members, LocalTime now) const;
  [[nodiscard]] LocalTime heard_until() const noexcept {
    return later(heard_, with_drift(options_.lease));
  }

  SeatOptions options_;
  std::int64_t start_ = 0;  ///< of the tail of log 0
  bool started_ = false;
  bool known_ = false;
  ProcessId holder_ = kNobody;
  ProcessId predecessor_ = kNobody;
  Epoch seat_ = kNoEpoch;
  /// When the holder last said that it assigns; where it is not known, when the tail started.
  LocalTime heard_ = kLongAgo;
  LocalTime vacant_since_ = kNever;
};

}  // namespace neliroute
