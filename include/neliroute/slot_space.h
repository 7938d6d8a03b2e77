// SlotSpace: key -> slot, for a fixed number of slots and a fixed way to hash.
//
// slot = hash(key) % slots, exactly: not a multiply-and-shift, which would use other bits and
// give other slots. All processes of a group must have equal slot spaces. The number of slots
// never changes while a group runs, and that is why so little moves when processes come and go.
//
// If the number of slots is a power of two, the slot is the low bits of the hash, so all keys
// of one slot share them: hash again (or use the high half) for a table inside a slot.
//
// Threads: immutable, any.   Units: slots.   Errors: an unknown name is nothing.
// Paper: "Consistent hashing" ("the hash of a given key, modulo the number of hash slots").
#pragma once

#include <cstdint>
#include <neliroute/detail/fast_mod.h>
#include <neliroute/hash.h>
#include <neliroute/ids.h>
#include <neliroute/settings.h>
#include <span>
#include <string_view>

namespace neliroute {

class SlotSpace {
 public:
  constexpr explicit SlotSpace(SlotCount count, HashScheme scheme = HashScheme{}) noexcept
      : modulo_(count.value()), scheme_(scheme), plain_(scheme == HashScheme{}) {}

  /// The slot of a key. A key is bytes: it may be empty, hold zeros, or not be UTF-8.
  [[nodiscard]] Slot slot_of(std::string_view key) const noexcept;

  /// slots[i] = slot_of(keys[i]). Aborts unless both have the same length. The hashes do not depend
  /// on each other, so a batch takes less time than as many dependent lookups.
  void slot_of(std::span<const std::string_view> keys, std::span<Slot> slots) const noexcept;

  [[nodiscard]] constexpr SlotCount count() const noexcept {
    return SlotCount{static_cast<std::uint32_t>(modulo_.divisor())};
  }
  [[nodiscard]] constexpr HashScheme scheme() const noexcept { return scheme_; }

  [[nodiscard]] friend constexpr bool operator==(SlotSpace left, SlotSpace right) noexcept {
    return left.count() == right.count() && left.scheme_ == right.scheme_;
  }

 private:
  [[nodiscard]] constexpr Slot slot_of_hash(std::uint64_t hash) const noexcept {
    return Slot{static_cast<std::uint32_t>(modulo_(hash))};
  }

  FastMod modulo_;
  HashScheme scheme_;
  // Whether scheme_ is the default, in one comparison: two would be noticeable in a hash of 2 ns.
  bool plain_;
};

}  // namespace neliroute
