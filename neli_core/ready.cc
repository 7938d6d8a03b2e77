#include "neli_core/ready.h"

namespace neliroute {

const char* to_string(TransitionKind kind) noexcept {
  switch (kind) {
    case TransitionKind::acquired:
      return "acquired";
    case TransitionKind::draining:
      return "draining";
    case TransitionKind::stopped:
      return "stopped";
    case TransitionKind::barrier_overdue:
      return "barrier_overdue";
    case TransitionKind::released:
      return "released";
  }
  return "";
}

const char* to_string(Ending ending) noexcept {
  switch (ending) {
    case Ending::none:
      return "none";
    case Ending::superseded:
      return "superseded";
    case Ending::released:
      return "released";
    case Ending::expired:
      return "expired";
  }
  return "";
}

const char* to_string(StopReason reason) noexcept {
  switch (reason) {
    case StopReason::none:
      return "";
    case StopReason::superseded:
      return "superseded";
    case StopReason::closed:
      return "closed";
    case StopReason::lapsed:
      return "lapsed";
    case StopReason::gap:
      return "gap";
    case StopReason::conflict:
      return "conflict";
  }
  return "";
}

}  // namespace neliroute
