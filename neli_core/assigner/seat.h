// The seat: the right to assign, one a lane (rules A2 and A3). The newest seat claim in log 0 that
// counts holds it, without lease and grace: two processes that both believe to hold it do no harm,
// since an assignment counts only under the newest claim before it in the log. Its holder loses it
// by its death, and where it does not read what it writes while another member does: silence is
// measured in the flow of log 0, as a member's.
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
  milliseconds lease{0};
};

class Seat {
 public:
  explicit Seat(SeatOptions options) : options_(options) {}

  void tail_started(const TailStarted& event, Members& members);
  /// What lies between is not known: the holder is unknown until somebody tells it.
  void tail_lost() noexcept { known_ = false; }

  /// A seat claim was read, which stands at `at`.
  void claimed(const AssignmentRecord& claim, const Epoch& at, Members& members);
  /// A member's renewal: who holds the seat as its writer knows, or that its writer assigns.
  void renewed(const Record& record, Members& members);

  /// Whether an assignment that was just read counts (A3), or that its writer yields.
  [[nodiscard]] bool is_valid(const AssignmentRecord& record) const noexcept;
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
  /// `step`: how much later than the one before it.
  [[nodiscard]] LocalTime claim_at(std::size_t rank, microseconds step) const noexcept;
 private:
  void take(ProcessId id, const Epoch& seat, Members& members);
  [[nodiscard]] bool is_vacant(const Members& members) const;
  void hear(milliseconds silence, Members& members);

  SeatOptions options_;
  std::int64_t start_ = 0;  ///< of the tail of log 0
  bool started_ = false;
  bool known_ = false;
  ProcessId holder_ = kNobody;
  ProcessId predecessor_ = kNobody;
  Epoch seat_ = kNoEpoch;
  /// Where the holder last said that it assigns; where it is not known, where the tail started.
  Flow::Mark heard_;
  milliseconds silence_{0};  ///< so long after it, the seat is free
  LocalTime vacant_since_ = kNever;
};

}  // namespace neliroute
