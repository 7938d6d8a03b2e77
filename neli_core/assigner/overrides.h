// Operators' overrides, as log 0 has them: one by one in the order of the log, and the list of
// those that stand, which the assigner repeats.
//
// A process that reads the log from its beginning knows every override. Others know all from the
// first list that speaks for all before the start of what they read; or, if there is none for a
// lease, they take what they read for all there is. A list never undoes a newer override: those
// behind its `upto` apply on top. And even a process that knows all believes it, so that members
// that lost a part of the log agree again.
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

enum class OverrideEffect : std::uint8_t {
  changes,      ///< what stands
  nothing_new,  ///< it stood already
  too_much,     ///< the list would not fit into a record: it is ignored, by everybody alike
};
/// Whether it would fit, and what it would change.
OverrideEffect apply(const Override& override, StandingOverrides& standing);

/// What a member should own beside the others: by the overrides of its name, or else its own
/// weight. 0: nothing.
[[nodiscard]] std::uint32_t effective_weight(const Member& member,
                                             const StandingOverrides& standing);
/// The same, but for cordons: what it has again when they are withdrawn.
[[nodiscard]] std::uint32_t uncordoned_weight(const Member& member,
                                              const StandingOverrides& standing);
/// Whether it is to own nothing, by itself or by an override.
[[nodiscard]] bool is_cordoned(const Member& member, const StandingOverrides& standing);

class Overrides {
 public:
  /// `lease`: a process that read for so long, and no list, knows what there is.
  explicit Overrides(milliseconds lease) : lease_(lease) {}

  /// Log 0 is read from there on, and what was read before need not hold.
  void tail_started(const TailStarted& event, LocalTime now);
  /// Log 0 was not read for that long.
  void excuse(microseconds stretch) noexcept;
  /// An override at that offset was read.
  OverrideEffect read(std::int64_t offset, const Override& override);
  /// A list was read. `certain`: its writer held the seat, so it has all overrides before it.
  void read_list(std::int64_t offset, const AssignmentRecord& list, bool certain = true);
  void tick(LocalTime now);
  /// Its reader has waited for long enough: what was read is all there is.
  void take_for_all() noexcept { known_ = true; }

  [[nodiscard]] const StandingOverrides& standing() const noexcept { return standing_; }
  /// Whether these are all.
  [[nodiscard]] bool known() const noexcept { return known_; }
  /// There was an override once, as far as was read: there are lists from then on.
  [[nodiscard]] bool used() const noexcept { return used_; }
  /// Perhaps there are more than were read: what a living member leads stays where it is.
  [[nodiscard]] bool uncertain() const noexcept { return used_ && !known_; }
  /// The newest list's; -1: none was read. An assigner has taken in the overrides before it.
  [[nodiscard]] std::int64_t listed_upto() const noexcept { return listed_upto_; }
  /// Whether there is an override that no list speaks for yet.
  [[nodiscard]] bool unlisted() const noexcept { return last_override_ >= listed_upto_ && used_; }
  /// Overrides that were ignored, as they did not fit.
  [[nodiscard]] std::uint64_t ignored() const noexcept { return ignored_; }
  /// Bumped by whatever may change a plan.
  [[nodiscard]] std::uint64_t version() const noexcept { return version_; }
  [[nodiscard]] LocalTime next_deadline() const noexcept {
    return uncertain() && started_ ? known_at() : kNever;
  }

 private:
  [[nodiscard]] LocalTime known_at() const noexcept { return later(since_, with_drift(lease_)); }
  void set(StandingOverrides standing);

  milliseconds lease_;
  StandingOverrides standing_;
  /// Overrides from there on: older lists say nothing new, and each newer one adds these again.
  std::int64_t later_from_ = 0;
  std::deque<std::pair<std::int64_t, Override>> later_;
  bool started_ = false;
  bool known_ = false;
  bool used_ = false;
  LocalTime since_ = kLongAgo;
  std::int64_t listed_upto_ = -1;
  std::int64_t last_override_ = -1;
  std::uint64_t ignored_ = 0;
  std::uint64_t version_ = 0;
};

}  // namespace neliroute
