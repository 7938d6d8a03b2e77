#include "neli_core/leaving/closing.h"

#include <utility>

namespace neliroute {

void Closing::ask(LocalTime until, LocalTime now) noexcept {
  drained_by_ = std::min(drained_by_, std::max(until, now));
  if (begun()) return;
  stage_ = Stage::asked;
  asked_at_ = now;
}

void Closing::stop(LocalTime now) noexcept {
  stage_ = Stage::stopping;
  closed_by_ = later(now, lease_);
}

void Closing::close(Ready& ready) noexcept {
  stage_ = Stage::closed;
  ready.closed = true;
}

bool Closing::refuse(Error error, Ready& ready) {
  const bool conflict = error.code() == Errc::settings_conflict;
  // Who leaves hands over, but not by rules that are not the group's.
  if (begun() && !conflict) return false;
  ready.notices.push_back({Severity::error, error.message()});
  if (conflict) reason_ = StopReason::conflict;
  ready.refused = std::move(error);
  return true;
}

LocalTime Closing::until() const noexcept {
  switch (stage_) {
    case Stage::asked:
      return std::min(later(asked_at_, lease_), drained_by_);
    case Stage::draining:
      return drained_by_;
    case Stage::stopping:
      return closed_by_;
    case Stage::no:
    case Stage::closed:
      break;
  }
  return kNever;
}

}  // namespace neliroute
