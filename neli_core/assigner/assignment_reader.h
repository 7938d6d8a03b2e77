// Members, seat and designations as a watcher reads them: a process that is no member, writes
// nothing and obeys nobody. It knows what it is to show, and nothing depends on it.
//
// It has no record of its own to read back, by which a member proves that another one is silent
// (rule A1). It takes whatever it has read for recent: so after a late record it may call a member
// silent a moment too early.
//
// Threads: one (the router's strand).   Units: LocalTime, std::chrono.   Errors: none.
#pragma once

#include <cstdint>
#include <neliroute/ids.h>
#include <neliroute/settings.h>
#include <neliroute/time.h>

#include "neli_core/assigner/designations.h"
#include "neli_core/assigner/members.h"
#include "neli_core/assigner/seat.h"
#include "neli_core/core.h"
#include "neli_core/event.h"
#include "neli_core/log_progress.h"

namespace neliroute {

class AssignmentReader {
 public:
  /// `settings`: the watcher's; it knows neither group nor mode of the lane.
  AssignmentReader(Lane lane, Settings settings);

  void on(const Event& event, LocalTime now);
  /// Due at next_deadline().
  void tick(LocalTime now);
  /// After `now` of the last call.
  [[nodiscard]] LocalTime next_deadline() const noexcept;

  [[nodiscard]] AssignmentReading reading() const noexcept {
    return {members_, seat_, designations_};
  }

 private:
  void receive(const Received& event, LocalTime now);
  [[nodiscard]] bool is_same(const Settings& theirs) const;

  Lane lane_;
  Settings settings_;
  LogProgress log_;  ///< of log 0
  Members members_;
  Seat seat_;
  Designations designations_;
  LocalTime now_ = kLongAgo;
  std::uint64_t seen_ = 0;  ///< the members' version that the interval is from
};

}  // namespace neliroute
