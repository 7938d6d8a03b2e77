// Carries one operator's override from the command line to its end: checks it against the lane,
// appends it to log 0, and waits until the assigner has taken it in and ownership follows.
//
// Threads: one.   Units: LocalTime is CLOCK_BOOTTIME.   Errors: printed on stderr; see output.h.
#pragma once

#include <optional>
#include <string>

#include "neli_core/record/override.h"
#include "tool/command_line/options.h"

namespace neliroute::tool {

struct OverrideRequest {
  CommonOptions common;
  Override override;
  std::string slots;  ///< of pin and unpin, as given
  bool whole = false;
  bool absent = false;
  bool dry_run = false;
};

/// The exit code.
[[nodiscard]] int run_override(const std::string& command, OverrideRequest request);
/// Prints all that stand.
[[nodiscard]] int list_overrides(const std::string& command, const CommonOptions& options);

}  // namespace neliroute::tool
