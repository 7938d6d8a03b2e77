// The one place that reads CLOCK_BOOTTIME, and CLOCK_REALTIME for variation `broadcast`.
//
// Threads: any.   Units: microseconds.   Errors: none.
// Paper: "Exclusivity of role assignment" (CTime).
#pragma once

#include <neliroute/time.h>

namespace neliroute {

/// This machine's time since its start, suspends included.
[[nodiscard]] LocalTime boot_now() noexcept;

/// This machine's idea of the time of day, which a broker's is compared with.
[[nodiscard]] WallTime wall_now() noexcept;

/// What to add to a LocalTime for Unix time, by this machine's idea of the time of day.
[[nodiscard]] microseconds unix_minus_boot_now() noexcept;

}  // namespace neliroute
