// The application of the benchmark: POST with Idempotency-Key increments the counter of X-Neli-Key
// in the store, under the epoch of the slot's owner; the answer is "CALL VALUE". An epoch that the
// store refuses means that another process owns the slot, so the answer is 421 with
// Neliroute-Slot, which says that nothing was done.
//
// Threads: one (an io_context's).   Units: none.
// Errors: 400 to a request that is no increment; what the store refuses.
#pragma once

#include <cstdint>
#include <memory>
#include <neliroute/ids.h>
#include <optional>
#include <string>

#include "bench/routing/programs/server.h"
#include "bench/routing/programs/store_link.h"

namespace neliroute::bench {

struct Increment {
  std::uint64_t call = 0;
  std::uint32_t key = 0;
  bool keyless = false;  ///< `call` only tells it from others: it may not be sent again
};
[[nodiscard]] std::optional<Increment> read_increment(const HttpRequest& request);

/// To a request that this process does not serve. `redirect`: under which another one does.
[[nodiscard]] HttpAnswer misdirected(Slot slot, const Epoch& redirect = kNoEpoch);

/// Answers `served` once the store did; `guard` lives until then.
void increment(StoreLink& store, const ServedPtr& served, const Increment& what, Slot slot,
               const Epoch& epoch, std::shared_ptr<void> guard);

}  // namespace neliroute::bench
