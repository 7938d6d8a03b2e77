// Makes a failing run smaller while it goes on failing: fewer kinds of fault, a shorter time, fewer
// processes, partitions and logs.
//
// Threads: one.   Units: none.   Errors: none.
#pragma once

#include "tests/sim/plan.h"
#include "tests/sim/world/world.h"

namespace neliroute::sim {

struct Minimised {
  Request request;
  Outcome outcome;
  int runs = 0;
};

[[nodiscard]] Minimised minimise(const Request& failing, const Outcome& outcome);

}  // namespace neliroute::sim
