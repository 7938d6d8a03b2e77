// The one place that reads CLOCK_BOOTTIME, and CLOCK_REALTIME for variation `broadcast`.
//
// Threads: any.   Units: microseconds.   Errors: none.
// Paper: "Exclusivity of role assignment" (CTime).
#pragma once

#include <neliroute/time.h>

namespace neliroute {

/// Time since this machine booted, suspends included.
[[nodiscard]] LocalTime boot_now() noexcept;

/// This machine's time of day, which is compared with a broker's.
[[nodiscard]] WallTime wall_now() noexcept;

/// What to add to a LocalTime to get Unix time, by this machine's time of day.
[[nodiscard]] microseconds unix_minus_boot_now() noexcept;

}  // namespace neliroute
