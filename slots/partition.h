// Which partition carries a slot: slot j lives on partition j mod M.
//
// Plain arithmetic over the number of partitions; this room knows nothing of what a partition is.
// Where M divides S every partition carries S / M slots; else the first S mod M carry one more,
// and where M > S the last M - S carry none.
//
// Threads: any.   Units: partitions, slots.   Errors: no partitions, or one that is not among
// them, aborts.
// Paper: "Protocol definition" (k = j mod size(M); the modulo makes R -> M total).
#pragma once

#include <cstdint>
#include <neliroute/detail/assert.h>
#include <neliroute/ids.h>

namespace neliroute {

/// The partition, 0..partition_count-1, that carries a slot.
[[nodiscard]] constexpr std::uint32_t partition_of(Slot slot,
                                                   std::uint32_t partition_count) noexcept {
  NELIROUTE_ASSERT(partition_count != 0, "there must be at least one partition");
  return slot.value() % partition_count;
}

/// How many of `slots` one partition carries.
[[nodiscard]] constexpr std::uint32_t slots_on_partition(std::uint32_t partition, SlotCount slots,
                                                         std::uint32_t partition_count) noexcept {
  NELIROUTE_ASSERT(partition < partition_count, "a partition must be below the partition count");
  const std::uint32_t each = slots.value() / partition_count;
  return partition < slots.value() % partition_count ? each + 1 : each;
}

/// Whether every partition carries the same number of slots, and at least one.
[[nodiscard]] constexpr bool partitions_are_even(SlotCount slots,
                                                 std::uint32_t partition_count) noexcept {
  NELIROUTE_ASSERT(partition_count != 0, "there must be at least one partition");
  return slots.value() % partition_count == 0;
}

}  // namespace neliroute
