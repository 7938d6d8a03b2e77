#include "neli_core/leaving/closing.h"

#include <utility>

namespace neliroute {

void ClosingState::ask(LocalTime until, LocalTime now) noexcept {
  drained_by_ = std::min(drained_by_, std::max(until, now));
  if (begun()) return;
  stage_ = ClosingStage::asked;
  asked_at_ = now;
}

void ClosingState::stop(LocalTime now) noexcept {
  stage_ = ClosingStage::stopping;
  closed_by_ = later(now, lease_);
}

void ClosingState::close(Ready& ready) noexcept {
  stage_ = ClosingStage::closed;
  ready.closed = true;
}

bool ClosingState::refuse(Error error, Ready& ready) {
  const bool conflict = error.code() == Errc::settings_conflict;
  // A leaving process hands over, but not by rules that are not the group's.
  if (begun() && !conflict) return false;
  ready.notices.push_back({Severity::error, error.message()});
  if (conflict) reason_ = StopReason::conflict;
  ready.refused = std::move(error);
  return true;
}

LocalTime ClosingState::until() const noexcept {
  switch (stage_) {
    case ClosingStage::asked:
      return std::min(later(asked_at_, lease_), drained_by_);
    case ClosingStage::draining:
      return drained_by_;
    case ClosingStage::stopping:
      return closed_by_;
    case ClosingStage::no:
    case ClosingStage::closed:
      break;
  }
  return kNever;
}

}  // namespace neliroute
