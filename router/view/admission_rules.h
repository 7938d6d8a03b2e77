// What becomes of a request, by what this process knows and what the caller knew. The rules alone,
// which the simulator tries: docs/routing.md has them as a table.
//
// Threads: pure functions.   Units: none.   Errors: none.
#pragma once

#include <cstdint>
#include <neliroute/admission.h>
#include <neliroute/settings.h>

#include "neli_core/mutation.h"

namespace neliroute {

/// What a request came with.
struct Asked {
  Epoch epoch = kNoEpoch;  ///< that sent it here
  std::uint32_t hops = 0;  ///< how often it has been sent on
};

/// Of a process that leads with `own`. Exclusive, or where its log is silent (`stale`): a greater
/// epoch may have superseded it.
[[nodiscard]] inline bool may_serve(Mode mode, bool stale, const Epoch& own,
                                    const Epoch& asked) noexcept {
  return (mode == Mode::non_exclusive && !stale) || asked <= own;
}

/// Of a process that does not lead, and knows `route`. A redirect carries a greater epoch than the
/// request came with, so it is never sent in a circle.
[[nodiscard]] inline Admit admit_elsewhere(const Route& route, const Asked& asked,
                                           std::uint32_t hop_limit) noexcept {
  // A lease that holds without a guard is one that begins or ends this moment.
  if (route.verdict != Verdict::remote) return Admit::wait;
  const bool known = mutated(Mutation::equal_epoch_redirects) ? route.epoch < asked.epoch
                                                              : route.epoch <= asked.epoch;
  if (known) return Admit::wait;
  const bool spent = asked.hops >= hop_limit && !mutated(Mutation::no_hop_limit);
  return spent ? Admit::refuse : Admit::redirect;
}

}  // namespace neliroute
