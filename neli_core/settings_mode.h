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

/// By which mode a process serves requests. Epochs of `broadcast` order no owners, and those of its
/// hints are others than that by which it leads: a greater one is no sign of a successor there.
[[nodiscard]] inline Mode serving_mode(const Settings& settings) noexcept {
  return settings.variation == to_string(Variation::broadcast) ? Mode::non_exclusive
                                                               : mode_of(settings);
}

}  // namespace neliroute
