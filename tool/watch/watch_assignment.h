// What `watch` says of members in words, where one of them assigns.
//
// Threads: pure functions, any.   Units: partitions.   Errors: none.
#pragma once

#include <string>

#include "tool/watch/watch_model.h"

namespace neliroute::tool {

/// What is special about it: "assigns, weight 2, 3 to come"; empty: nothing.
[[nodiscard]] std::string notes_of(const WatchModel& model, const OwnerRow& row);

/// Lines below the table of `watch --once`: who assigns, members that are special, and what is on
/// the way. Empty where a group assigns.
[[nodiscard]] std::string assignment_text(const WatchModel& model);

}  // namespace neliroute::tool
