#include <neliroute/detail/assert.h>
#include <neliroute/ids.h>

namespace neliroute {

void SlotCount::abort_for(std::uint32_t value) noexcept {
  NELIROUTE_ASSERT(value >= 1, "a slot count must be at least 1");
  NELIROUTE_ASSERT(value <= kSlotCountMax, "a slot count must be at most 1048576");
  NELIROUTE_UNREACHABLE("this slot count is possible");
}

}  // namespace neliroute
