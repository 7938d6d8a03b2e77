// How a process leaves for good (rule 8): it is asked to, drains until nothing is held or the bound
// is over, stops, and is closed when its barriers have ended, or after T. When it goes on to the
// next stage, and what is done there, its variation decides.
//
// Threads: one (inside a Core).   Units: LocalTime.   Errors: none.
#pragma once

#include <algorithm>
#include <neliroute/error.h>
#include <neliroute/time.h>
#include <neliroute/transition.h>

#include "neli_core/ready.h"

namespace neliroute {

enum class ClosingStage {
  no,
  asked,     ///< `claimed`: claims that are on their way are awaited
  draining,  ///< the group was left; whoever comes next takes over
  stopping,  ///< nothing is led any more; barriers and releases are awaited
  closed,
};

class ClosingState {
 public:
  explicit ClosingState(milliseconds lease) noexcept : lease_(lease) {}

  /// The earliest bound stands.
  void ask(LocalTime until, LocalTime now) noexcept;
  void drain() noexcept { stage_ = ClosingStage::draining; }
  void stop(LocalTime now) noexcept;
  void close(Ready& ready) noexcept;
  /// The error ends this process's part in the group. False: it leaves anyway, in its own time.
  [[nodiscard]] bool refuse(Error error, Ready& ready);

  [[nodiscard]] ClosingStage stage() const noexcept { return stage_; }
  [[nodiscard]] bool begun() const noexcept { return stage_ != ClosingStage::no; }
  /// Why it stops what it still leads.
  [[nodiscard]] StopReason reason() const noexcept { return reason_; }
  /// When the stage ends, whatever is still awaited.
  [[nodiscard]] LocalTime until() const noexcept;
  /// It is in this stage, and the stage ends now: it waits for nothing more, or has waited long
  /// enough.
  template <class Done>
  [[nodiscard]] bool ends(ClosingStage stage, LocalTime now, Done&& nothing_is_awaited) const {
    return stage_ == stage && (now >= until() || nothing_is_awaited());
  }

 private:
  milliseconds lease_;
  ClosingStage stage_ = ClosingStage::no;
  LocalTime asked_at_ = kNever;
  LocalTime drained_by_ = kNever;
  LocalTime closed_by_ = kNever;
  StopReason reason_ = StopReason::closed;
};

}  // namespace neliroute
