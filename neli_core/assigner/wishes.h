// What operators wish, as log 0 says it: wishes in the order of the log, and the list of those that
// stand, which the assigner repeats.
//
// Who reads the log from its beginning knows all that is wished. Others know it from the first list
// that speaks for all before the start of what they read; or, if there is none for a lease, they
// take what they read for all there is. A list never undoes a newer wish: those behind its `upto`
// apply on top. And it is believed even by who knows all, so that members which lost a part of the
// log agree again.
//
// Threads: one (inside AssignedCore), or of its reader.   Units: LocalTime, offsets.   Errors:
// none.
#pragma once

#include <cstdint>
#include <deque>
#include <neliroute/time.h>
#include <utility>

#include "neli_core/assigner/members.h"
#include "neli_core/event.h"
#include "neli_core/record/record.h"

namespace neliroute {

enum class WishEffect : std::uint8_t {
  changes,      ///< what stands
  nothing_new,  ///< it stood already
  too_much,     ///< the list would not fit into a record: it is ignored, by everybody alike
};
/// Whether it would fit, and what it would change.
WishEffect apply(const Wish& wish, StandingWishes& standing);

/// What a member should own beside the others, as it says and as is wished for its name. 0:
/// nothing.
[[nodiscard]] std::uint32_t wished_weight(const Member& member, const StandingWishes& standing);
/// The same, but for cordons: what it has again when they are taken back.
[[nodiscard]] std::uint32_t uncordoned_weight(const Member& member, const StandingWishes& standing);
/// Whether it is to own nothing, as it says or as is wished.
[[nodiscard]] bool wished_cordoned(const Member& member, const StandingWishes& standing);

class Wishes {
 public:
  /// `lease`: who read for so long, and no list, knows what there is.
  explicit Wishes(milliseconds lease) : lease_(lease) {}

  /// Log 0 is read from there on, and what was read before need not hold.
  void tail_started(const TailStarted& event, LocalTime now);
  /// Log 0 was not read for that long.
  void excuse(microseconds stretch) noexcept;
  /// A wish at that offset was read.
  WishEffect read(std::int64_t offset, const Wish& wish);
  /// A list was read. `certain`: its writer held the seat, so it tells of all wishes before it.
  void read_list(std::int64_t offset, const AssignmentRecord& list, bool certain = true);
  void tick(LocalTime now);
  /// Its reader has waited for long enough: what was read is all there is.
  void take_for_all() noexcept { known_ = true; }

  [[nodiscard]] const StandingWishes& standing() const noexcept { return standing_; }
  /// Whether these are all.
  [[nodiscard]] bool known() const noexcept { return known_; }
  /// Somebody wished something once, as far as was read: there are lists from then on.
  [[nodiscard]] bool used() const noexcept { return used_; }
  /// Perhaps more is wished than was read: what a living member leads stays where it is.
  [[nodiscard]] bool uncertain() const noexcept { return used_ && !known_; }
  /// The newest list's; -1: none was read. An assigner has taken in the wishes before it.
  [[nodiscard]] std::int64_t listed_upto() const noexcept { return listed_upto_; }
  /// A wish that no list speaks for yet.
  [[nodiscard]] bool unlisted() const noexcept { return last_wish_ >= listed_upto_ && used_; }
  /// Wishes that were ignored, as they did not fit.
  [[nodiscard]] std::uint64_t ignored() const noexcept { return ignored_; }
  /// Bumped by whatever may change a plan.
  [[nodiscard]] std::uint64_t version() const noexcept { return version_; }
  [[nodiscard]] LocalTime next_deadline() const noexcept {
    return uncertain() && started_ ? known_at() : kNever;
  }

 private:
  [[nodiscard]] LocalTime known_at() const noexcept { return later(since_, with_drift(lease_)); }
  void set(StandingWishes standing);

  milliseconds lease_;
  StandingWishes standing_;
  /// What was wished from there on: older lists say nothing new, and each newer one adds it again.
  std::int64_t later_from_ = 0;
  std::deque<std::pair<std::int64_t, Wish>> later_;
  bool started_ = false;
  bool known_ = false;
  bool used_ = false;
  LocalTime since_ = kLongAgo;
  std::int64_t listed_upto_ = -1;
  std::int64_t last_wish_ = -1;
  std::uint64_t ignored_ = 0;
  std::uint64_t version_ = 0;
};

}  // namespace neliroute
