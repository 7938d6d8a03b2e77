// An id that no other process has.
//
// Threads: any.   Units: none.   Errors: none.
#pragma once

#include <neliroute/ids.h>

namespace neliroute {

/// At random, and never kNobody.
[[nodiscard]] ProcessId draw_process_id();

}  // namespace neliroute
