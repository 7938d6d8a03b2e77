#include "router/route.h"

namespace neliroute {

std::string_view to_string(Verdict verdict) noexcept {
  switch (verdict) {
    case Verdict::local:
      return "local";
    case Verdict::remote:
      return "remote";
    case Verdict::unowned:
      return "unowned";
    case Verdict::unknown:
      return "unknown";
  }
  return "";
}

RouteCopy Route::copy() const {
  return {slot,
          partition,
          verdict,
          std::string(owner()),
          std::string(endpoint()),
          std::string(next_owner()),
          std::string(next_endpoint()),
          epoch,
          valid_for,
          unowned_since};
}

}  // namespace neliroute
