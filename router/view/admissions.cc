#include "router/view/admissions.h"

#include <ostream>

namespace neliroute {

std::string_view to_string(Admit answer) noexcept {
  switch (answer) {
    case Admit::serve:
      return "serve";
    case Admit::redirect:
      return "redirect";
    case Admit::wait:
      return "wait";
    case Admit::refuse:
      return "refuse";
  }
  return "";
}

std::ostream& operator<<(std::ostream& out, Admit answer) { return out << to_string(answer); }

Admission Admissions::admit_anew(Slot slot, const Asked& asked, LocalTime now) const {
  const Route route = view_.look(slot, now);
  const Admit answer =
      view_.closed() ? Admit::refuse : admit_elsewhere(route, asked, hop_limit_);
  view_.count(answer);
  return Admission(answer, route);
}

}  // namespace neliroute
