// What the holder of the seat decides: who should claim what (rules A5 to A9). It plans from the
// members, owners and designations that were read, and never from what it remembers of its writes.
// Gates says whether it may plan now, Round what it plans.
//
// Threads: one (inside AssignedCore).   Units: LocalTime.   Errors: none.
#pragma once

#include <cstdint>
#include <neliroute/ids.h>
#include <neliroute/time.h>
#include <optional>
#include <string>
#include <vector>

#include "neli_core/assigner/planning/bans.h"
#include "neli_core/assigner/planning/gates.h"
#include "neli_core/assigner/planning/patience.h"
#include "neli_core/assigner/planning/round.h"
#include "neli_core/assigner/planning/view.h"
#include "neli_core/mutation.h"
#include "neli_core/ready.h"

namespace neliroute {

struct AssignerOptions {
  std::uint32_t logs = 1;
  std::uint32_t partitions = 1;
  Mode mode = Mode::non_exclusive;
  milliseconds interval{0};
  milliseconds session{0};
};

/// How long a designee may not lead what it is named for (A5). In exclusive mode it may have to
/// wait out the longest lease that is known, and its own claim.
[[nodiscard]] constexpr milliseconds patience_with_designees(Mode mode, milliseconds session,
                                                             milliseconds interval,
                                                             milliseconds longest_lease) {
  // It must claim, and show that it leads; each may take it two intervals.
  return mode == Mode::exclusive ? 2 * longest_lease + session : 2 * session + 4 * interval;
}

class Assigner {
 public:
  explicit Assigner(AssignerOptions options)
      : options_(options),
        gates_({options.logs, options.interval, options.session}),
        patience_(options.logs, options.partitions, options.session) {}

  /// It holds the seat from now on, or again. `predecessor`: who held it before, and may be dead.
  void begin(ProcessId predecessor, LocalTime now);
  void end() noexcept { active_ = false; }
  [[nodiscard]] bool active() const noexcept { return active_; }

  /// A record of the lane was read in that log, whose time was then `stamp`.
  void read(const Record& record, const LogPlace& place, microseconds stamp, LocalTime now) {
    if (!patience_.read(record, place, stamp) || mutated(Mutation::returns_unread)) return;
    gates_.read_anew(place.log, now);  // leases may be over that are renewed in a moment
  }
  /// That log is read anew, or has been read to its end: who leads what in it is to be heard first.
  void read_anew(Log log, LocalTime now);
  /// The assignment that was written last was read back: what it changed is planned from.
  void settled() noexcept { gates_.settled(); }
  /// Plans anew with the next call, whatever is on its way.
  void plan_now() noexcept {
    gates_.settled();
    planned_ = kLongAgo;
    seen_ = UINT64_MAX;
  }
  /// It is known to be lost. An interval later it is decided again: a write may fail at once, as
  /// where the producer's queue is full, and would otherwise be written again without end.
  void lost(LocalTime now) noexcept {
    gates_.lost(now);
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
  /// Why it does not plan now; no value: it may.
  [[nodiscard]] std::optional<Gates::Wait> waiting() const noexcept {
    return active_ ? waiting_ : std::nullopt;
  }
  /// Times that it waited since many seemed dead at once (A9), and that it gave a designee up (A5).
  [[nodiscard]] std::uint64_t waits() const noexcept { return gates_.waits_for_many(); }
  [[nodiscard]] std::uint64_t given_up() const noexcept { return given_up_; }

 private:
  [[nodiscard]] std::vector<Designation> plan(const AssignerView& view, LocalTime now);
  [[nodiscard]] microseconds patience_with(const AssignerView& view, ProcessId designee) const;
  [[nodiscard]] bool repeats(LocalTime now) const noexcept;
  void note_designees(const AssignerView& view, LocalTime now);
  void look_again(LocalTime at) noexcept { next_ = next_ < at ? next_ : at; }

  AssignerOptions options_;
  Gates gates_;
  Patience patience_;
  Bans bans_;
  bool active_ = false;
  std::optional<Gates::Wait> waiting_;
  LocalTime planned_ = kLongAgo;   ///< when it planned last
  bool told_cordoned_ = false;
  LocalTime repeated_ = kLongAgo;  ///< when what was not carried out was last said
  std::uint64_t seen_ = 0;  ///< versions of all that it plans from
  LocalTime next_ = kNever;
  std::vector<Notice> notices_;
  std::uint64_t given_up_ = 0;
};

}  // namespace neliroute
