// What the holder of the seat decides: who should claim what (rules A5 to A9). It plans from the
// members, owners and designations that were read, and never from what it remembers of its writes.
//
// Threads: one (inside AssignedCore).   Units: LocalTime.   Errors: none.
#pragma once

#include <cstdint>
#include <neliroute/ids.h>
#include <neliroute/time.h>
#include <string>
#include <vector>

#include "neli_core/assigner/bans.h"
#include "neli_core/assigner/designations.h"
#include "neli_core/assigner/members.h"
#include "neli_core/assigner/owners.h"
#include "neli_core/assigner/wishes.h"
#include "neli_core/ready.h"

namespace neliroute {

namespace placement {
enum class Reason : std::uint8_t;
}

struct AssignerOptions {
  std::uint32_t logs = 1;
  milliseconds interval{0};
  milliseconds session{0};
  milliseconds lease{0};
};

/// Everything that a decision rests on.
struct AssignerView {
  const Members& members;
  const Owners& owners;
  const Designations& designations;
  milliseconds longest_lease{0};  ///< T*: of all members
  const Wishes& wishes;
};

/// What a plan would change.
struct WouldMove {
  Partition partition;
  ProcessId from = kNobody;  ///< who leads it; kNobody: nobody that lives
  ProcessId to = kNobody;
  placement::Reason why{};
  friend bool operator==(const WouldMove&, const WouldMove&) = default;
};

class Assigner {
 public:
  explicit Assigner(AssignerOptions options)
      : options_(options), logs_(options.logs) {}

  /// It holds the seat from now on, or again. `predecessor`: who held it before, and may be dead.
  void begin(ProcessId predecessor, LocalTime now);
  void end() noexcept { active_ = false; }
  [[nodiscard]] bool active() const noexcept { return active_; }

  /// A record of its own was read in that log: what it read of the log is not old.
  void read_back(Log log, LocalTime now);
  /// That log is read anew, or has been read to its end: who leads what in it is to be heard first.
  void read_anew(Log log, LocalTime now);
  /// It has written to a log for longer than a designee may take, and read nothing of it; twice as
  /// long for each time that it yielded for this already.
  [[nodiscard]] bool is_cut(LocalTime now, std::uint32_t yields) const;
  [[nodiscard]] bool reads_every_log(LocalTime now) const;
  /// The assignment that was written last was read back: what it changed is planned from.
  void settled() noexcept { written_ = kLongAgo; }
  /// Plans anew with the next call, whatever is on its way.
  void plan_now() noexcept {
    written_ = kLongAgo;
    planned_ = kLongAgo;
    seen_ = UINT64_MAX;
  }
  /// It is known to be lost. An interval later it is decided again: a write may fail at once, as
  /// where the producer's queue is full, and would otherwise be written again without end.
  void lost(LocalTime now) noexcept {
    written_ = now - options_.interval;
    look_again(later(now, options_.interval));
  }

  /// Who should claim what, as far as nobody says so yet; empty: nothing is to be written now.
  [[nodiscard]] std::vector<Designation> decide(const AssignerView& view, LocalTime now);
  /// What an assigner that reads the same, and has banned nobody, would change at once.
  [[nodiscard]] static std::vector<WouldMove> would_move(const AssignerView& view,
                                                         std::uint32_t logs, LocalTime now);
  /// For people: many deaths, members that were given up.
  [[nodiscard]] std::vector<Notice> take_notices();
  [[nodiscard]] LocalTime next_deadline() const noexcept { return active_ ? next_ : kNever; }
  /// Times that it waited since many seemed dead at once (A9), and that it gave a designee up (A5).
  [[nodiscard]] std::uint64_t waits() const noexcept { return waits_; }
  [[nodiscard]] std::uint64_t given_up() const noexcept { return given_up_; }

 private:
  struct LogTrust {
    LocalTime read = kLongAgo;   ///< the newest own record there
    LocalTime since = kLongAgo;  ///< from when on its silence can be judged
    LocalTime started = kLongAgo;  ///< when its tail did, or was at the end
    LocalTime series = kLongAgo;   ///< the first of several starts
  };
  class Round;

  [[nodiscard]] bool may_decide(const AssignerView& view, LocalTime now);
  [[nodiscard]] bool waits_for_owners(const Members& members, LocalTime now);
  [[nodiscard]] bool waits_for_newcomers(const AssignerView& view, LocalTime now);
  [[nodiscard]] bool waits_for_the_dead(const Members& members, LocalTime now);
  /// When its designee has taken too long (A5).
  [[nodiscard]] LocalTime fails_at(const AssignerView& view, Partition partition) const;
  [[nodiscard]] bool has_failed(const AssignerView& view, Partition partition, LocalTime now) const;
  [[nodiscard]] bool repeats(LocalTime now) const noexcept;
  void note_who_leads(const AssignerView& view, LocalTime now);
  void look_again(LocalTime at) noexcept { next_ = next_ < at ? next_ : at; }

  AssignerOptions options_;
  std::vector<LogTrust> logs_;
  Bans bans_;
  std::vector<LocalTime> led_;  ///< when each partition's designee was last seen leading it
  bool active_ = false;
  LocalTime begun_ = kLongAgo;
  ProcessId predecessor_ = kNobody;
  LocalTime planned_ = kLongAgo;   ///< when it planned last
  bool told_cordoned_ = false;
  LocalTime written_ = kLongAgo;   ///< kLongAgo: nothing is on its way
  LocalTime repeated_ = kLongAgo;  ///< when what was not carried out was last said
  LocalTime patient_until_ = kLongAgo;  ///< many seem to have died at once
  LocalTime patient_from_ = kLongAgo;   ///< after this
  bool patient_ = false;
  std::uint64_t seen_ = 0;  ///< versions of all that it plans from
  LocalTime next_ = kNever;
  std::vector<Notice> notices_;
  std::uint64_t waits_ = 0;
  std::uint64_t given_up_ = 0;
};

}  // namespace neliroute
