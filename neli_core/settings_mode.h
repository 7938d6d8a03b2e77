// The mode that settings name. They carry it as text, as records do.
//
// Threads: pure functions, any.   Units: none.   Errors: none.
#pragma once

#include <neliroute/settings.h>

namespace neliroute {

/// Any other text than those two counts as non_exclusive.
[[nodiscard]] inline Mode mode_of(const Settings& settings) noexcept {
  return settings.mode == to_string(Mode::exclusive) ? Mode::exclusive : Mode::non_exclusive;
}

}  // namespace neliroute
