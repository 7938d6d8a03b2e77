// For how long a store keeps records (P9): as long as anything that was said may matter.
//
// Threads: pure, any.   Units: std::chrono.   Errors: none.
#pragma once

#include <algorithm>
#include <neliroute/time.h>

#include "neli_core/timing.h"

namespace neliroute {

[[nodiscard]] inline milliseconds kept_for(const Timing& timing) {
  constexpr milliseconds kLeast{600'000};
  return std::max(kLeast, 10 * timing.lease + timing.serve_stale);
}

}  // namespace neliroute
