#include <neliroute/listener.h>

#include "router/owner/listeners.h"

namespace neliroute {

void Subscription::cancel() noexcept {
  if (const auto slot = std::exchange(slot_, nullptr)) slot->cancel();
}

}  // namespace neliroute
