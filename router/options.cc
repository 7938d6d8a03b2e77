#include "router/options.h"

namespace neliroute {

Result<void> check_hash(SlotCount slots, HashScheme hash) {
  const std::uint64_t reached = slots_reached(hash.hash);
  if (slots.value() <= reached) return {};
  return Error{Errc::bad_option, "--slots " + std::to_string(slots.value()) + ": --hash " +
                                     std::string(to_string(hash.hash)) + " has " +
                                     std::to_string(reached) +
                                     " values only, so the rest would never get a key; lower "
                                     "--slots, or use --hash xxh3"};
}

}  // namespace neliroute
