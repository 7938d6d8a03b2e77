// What `watch --once` prints for people.
//
// Threads: a pure function, any.   Units: partitions.   Errors: none.
#pragma once

#include <string>

#include "tool/watch/watch_model.h"

namespace neliroute::tool {

/// The screen's table of owners with the partitions of each, those that nobody owns, and who
/// assigns, where a member does. Without the last line's end.
[[nodiscard]] std::string once_text(const WatchModel& model);

}  // namespace neliroute::tool
