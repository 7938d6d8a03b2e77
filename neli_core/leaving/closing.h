// How a process leaves for good (rule 8): on request it drains until nothing is held or the bound
// has passed, stops, and is closed when its barriers have completed, or after T. Its variation
// decides when it enters the next stage, and what is done there.
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
  asked,     ///< `claimed`: claims in flight are awaited
  draining,  ///< the group was left; successors take over
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
  /// The error ends this process's part in the group. False: it is leaving already, in its own
  /// time.
  [[nodiscard]] bool refuse(Error error, Ready& ready);

  [[nodiscard]] ClosingStage stage() const noexcept { return stage_; }
  [[nodiscard]] bool begun() const noexcept { return stage_ != ClosingStage::no; }
  /// Why it stops what it still leads.
  [[nodiscard]] StopReason reason() const noexcept { return reason_; }
  /// When the stage ends, whatever is still awaited.
  [[nodiscard]] LocalTime until() const noexcept;
  /// It is in this stage, and the stage ends now: nothing is awaited any more, or it has waited
  /// long enough.
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
