// What a Lookup asks of its reader: to wait, and to heed what callers met. The rest reads its view.
#include <neliroute/lookup.h>
#include <utility>

#include "router/reader/completion.h"
#include "router/reader/reader.h"

namespace neliroute {

void Lookup::ready(Completion handler) { wait_until_ready(*reader_, std::move(handler)); }

void Lookup::wait_for_route(Slot slot, const Epoch& after, milliseconds limit,
                            RouteCompletion handler) {
  wait_until_routed(*reader_, slot, after, limit, std::move(handler));
}

void Lookup::suspect(std::string_view endpoint) { reader_->suspect(endpoint); }

void Lookup::reached(std::string_view endpoint) { reader_->reached(endpoint); }

void Lookup::redirected(Slot slot, std::string_view endpoint, const Epoch& epoch) {
  reader_->redirected(slot, endpoint, epoch);
}

}  // namespace neliroute
