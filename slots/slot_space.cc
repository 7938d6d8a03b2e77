#include <neliroute/slot_space.h>

#include <cstddef>
#include <neliroute/detail/assert.h>
#include <type_traits>

#include "slots/xxh3.h"

namespace neliroute {
namespace {

// Copied into every thread and snapshot that routes.
static_assert(std::is_trivially_copyable_v<SlotSpace>);
static_assert(sizeof(SlotSpace) <= 24);

}  // namespace

std::string_view to_string(HashScheme scheme) noexcept {
  if (scheme.tags == HashTags::off) {
    return to_string(scheme.hash);
  }
  switch (scheme.hash) {
    case Hash::xxh3:
      return "xxh3+tags";
    case Hash::crc16:
      return "crc16+tags";
    case Hash::murmur2:
      return "murmur2+tags";
  }
  NELIROUTE_UNREACHABLE("not a value of Hash");
}

Slot SlotSpace::slot_of(std::string_view key) const noexcept {
  if (plain_) [[likely]] {
    return slot_of_hash(XXH3_64bits(key.data(), key.size()));
  }
  const std::string_view hashed = scheme_.tags == HashTags::on ? hash_tag(key) : key;
  return slot_of_hash(hash_value(scheme_.hash, hashed));
}

void SlotSpace::slot_of(std::span<const std::string_view> keys,
                        std::span<Slot> slots) const noexcept {
  NELIROUTE_ASSERT(keys.size() == slots.size(), "a batch needs one slot for every key");
  for (std::size_t index = 0; index < keys.size(); ++index) {
    slots[index] = slot_of(keys[index]);
  }
}

}  // namespace neliroute
