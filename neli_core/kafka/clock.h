// The one place that reads CLOCK_BOOTTIME.
//
// Threads: any.   Units: microseconds.   Errors: none.
// Paper: "Exclusivity of role assignment" (CTime).
#pragma once

#include "neli_core/time.h"

namespace neliroute {

/// This machine's time since its start, suspends included.
[[nodiscard]] LocalTime boot_now() noexcept;

}  // namespace neliroute
