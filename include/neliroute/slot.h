// Slot and SlotCount: the numbers that keys are mapped to, as types of their own.
//
// A slot is a role j of the protocol. Slots, partitions and counts are all small integers; they
// convert explicitly only, both ways, so that mixing them up does not compile.
//
// Threads: values, any.   Units: slots.   Errors: an impossible count aborts; use SlotCount::make
// for counts that come from outside.
// Paper: "Consistent hashing" (a fixed number of notional hash slots).
#pragma once

#include <compare>
#include <concepts>
#include <cstdint>
#include <functional>
#include <iosfwd>
#include <neliroute/detail/assert.h>
#include <optional>

// Clang 14 crashes on some calls of immediate functions; there a wrong constant aborts.
#if defined(__clang__) && __clang_major__ < 15
#define NELIROUTE_CONSTEVAL constexpr
#else
#define NELIROUTE_CONSTEVAL consteval
#endif

namespace neliroute {

/// Far above any useful number (Redis Cluster has 16384), and low enough that a table with an
/// entry for every slot stays cheap.
inline constexpr std::uint32_t kSlotCountMax = std::uint32_t{1} << 20;

/// One slot, 0..S-1. The SlotSpace knows S.
class Slot {
 public:
  constexpr Slot() noexcept = default;
  constexpr explicit Slot(std::uint32_t value) noexcept : value_(value) {}

  [[nodiscard]] constexpr std::uint32_t value() const noexcept { return value_; }
  [[nodiscard]] friend constexpr auto operator<=>(Slot, Slot) noexcept = default;

 private:
  std::uint32_t value_ = 0;
};

/// As a number.
std::ostream& operator<<(std::ostream& out, Slot slot);

/// How many slots there are: S, 1..kSlotCountMax. It has no default: every process of a group
/// must agree on it, so it must be chosen.
class SlotCount {
 public:
  /// A constant converts implicitly, as in `options.slots = 4096`; one that cannot be a slot count
  /// does not compile. Use make() for counts that come from outside.
  template <std::same_as<int> Constant>
  NELIROUTE_CONSTEVAL SlotCount(Constant value)  // NOLINT: implicit on purpose
      : SlotCount(static_cast<std::uint32_t>(value)) {}
  constexpr explicit SlotCount(std::uint32_t value) noexcept : value_(value) {
    NELIROUTE_ASSERT(value >= 1, "a slot count must be at least 1");
    NELIROUTE_ASSERT(value <= kSlotCountMax, "a slot count must be at most 1048576");
  }

  /// nullopt unless 1 <= value <= kSlotCountMax.
  [[nodiscard]] static constexpr std::optional<SlotCount> make(std::uint64_t value) noexcept {
    if (value < 1 || value > kSlotCountMax) {
      return std::nullopt;
    }
    return SlotCount{static_cast<std::uint32_t>(value)};
  }

  [[nodiscard]] constexpr std::uint32_t value() const noexcept { return value_; }
  [[nodiscard]] constexpr bool contains(Slot slot) const noexcept { return slot.value() < value_; }
  [[nodiscard]] friend constexpr auto operator<=>(SlotCount, SlotCount) noexcept = default;

 private:
  std::uint32_t value_;
};

}  // namespace neliroute

template <>
struct std::hash<neliroute::Slot> {
  std::size_t operator()(neliroute::Slot slot) const noexcept {
    return std::hash<std::uint32_t>{}(slot.value());
  }
};
