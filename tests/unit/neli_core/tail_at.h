// The start of a tail in a log of the tests, whose first record of all is at offset 0.
#pragma once

#include "neli_core/event.h"

namespace neliroute {

inline TailStarted tail_at(Log log, std::int64_t start, std::int64_t end) {
  return {log, start, end, start == 0 ? Below::nothing : Below::older};
}

}  // namespace neliroute
