#include <neliroute/route.h>

#include <ostream>

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

std::ostream& operator<<(std::ostream& out, Verdict verdict) { return out << to_string(verdict); }

RouteCopy Route::copy() const {
  return {slot,
          partition,
          verdict,
          suspected,
          stale,
          std::string(owner()),
          std::string(endpoint()),
          std::string(next_owner()),
          std::string(next_endpoint()),
          epoch,
          valid_for,
          unowned_since};
}

}  // namespace neliroute
