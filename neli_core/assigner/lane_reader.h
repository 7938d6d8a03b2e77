// A lane in which a member assigns, for a process that only reads its logs: what operators'
// commands and pages show of it, and what an override would change.
//
// Who lives is known an interval of theirs after the logs were read to their ends, and for certain
// a session later. It reads nothing of its own, so it takes a member for dead an interval later
// than members do.
//
// Threads: one.   Units: LocalTime, std::chrono, offsets.   Errors: none.
#pragma once

#include <cstdint>
#include <neliroute/ids.h>
#include <neliroute/time.h>
#include <vector>

#include "neli_core/assigner/planning/assigner.h"
#include "neli_core/assigner/known_lane.h"
#include "neli_core/log/log_progress.h"

namespace neliroute {

struct ShownMember {
  ProcessId id = kNobody;
  ProcessInfo process;
  MemberFields fields;  ///< as it says itself
  bool leaving = false;
};

/// What is known of a lane at one moment.
struct ShownLane {
  ProcessId assigner = kNobody;
  std::vector<ShownMember> members;  ///< those that live or leave, the most senior first
  StandingOverrides overrides;
  bool overrides_known = false;  ///< whether these are all
};
[[nodiscard]] ShownLane shown(const KnownLane& lane);

class LaneReader {
 public:
  explicit LaneReader(KnownLaneOptions options);

  void on(const TailStarted& event, LocalTime now);
  void on(const Received& event, LocalTime now);
  void on(const LogPosition& event, LocalTime now);
  void on(const GapFound& event, LocalTime now);
  /// Events of a process that takes part say nothing here.
  template <class Other>
  void on(const Other&, LocalTime) {}
  void tick(LocalTime now);
  /// When to call tick(), after that time; kNever: nothing changes by time alone.
  [[nodiscard]] LocalTime next_deadline(LocalTime now) const noexcept;

  /// Every log was read to where it ended when its tail started.
  [[nodiscard]] bool caught_up() const;
  [[nodiscard]] ShownLane lane() const { return shown(known_); }
  /// What is not as it should be now, and would be moved, under these overrides, too. Those that it
  /// knows are taken for all.
  [[nodiscard]] std::vector<WouldMove> would_move(const std::vector<Override>& overrides,
                                                  LocalTime now) const;
  [[nodiscard]] const KnownLane& known() const noexcept { return known_; }

 private:
  void learn_interval();

  KnownLane known_;
  std::vector<LogProgress> progress_;
  bool learns_interval_;
  std::uint64_t seen_ = 0;  ///< the members' version that the interval is from
};

}  // namespace neliroute
