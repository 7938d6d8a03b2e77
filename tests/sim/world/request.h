// A caller's request on its way, and what callers remember of owners: hints of any age.
//
// Threads: one.   Units: true time, microseconds.   Errors: none.
#pragma once

#include <cstdint>
#include <neliroute/ids.h>

#include "tests/sim/world/event_queue.h"

namespace neliroute::sim {

struct CallerRequest {
  std::uint8_t lane = 0;
  std::uint32_t partition = 0;
  std::uint8_t node = 0;   ///< where it is, or goes to
  Epoch asked = kNoEpoch;  ///< that sent it there
  std::uint32_t hops = 0;
  Time until = 0;          ///< then its caller gives up
  std::size_t caller = 0;
  bool waits = false;      ///< at the node, in its life then
  std::uint16_t life = 0;
  bool done = false;
};

/// Where a caller sends what is about a partition.
struct CallerHint {
  std::uint8_t node = 0;
  Epoch epoch = kNoEpoch;
};

}  // namespace neliroute::sim
