#include <gtest/gtest.h>

#include <neliroute/ids.h>

#include <cstdint>
#include <limits>
#include <type_traits>
#include <unordered_set>

namespace neliroute {
namespace {

static_assert(!std::is_convertible_v<std::uint32_t, Slot>);
static_assert(!std::is_convertible_v<Slot, std::uint32_t>);
static_assert(!std::is_convertible_v<std::uint32_t, SlotCount>);
static_assert(!std::is_convertible_v<SlotCount, std::uint32_t>);
static_assert(!std::is_constructible_v<Slot, SlotCount>);
static_assert(!std::is_constructible_v<SlotCount, Slot>);
static_assert(!std::is_default_constructible_v<SlotCount>);

TEST(SlotTest, IsOrderedByItsValue) {
  static_assert(Slot{3}.value() == 3);
  static_assert(Slot{} == Slot{0});
  static_assert(Slot{3} < Slot{4});
  static_assert(Slot{4} != Slot{3});
}

TEST(SlotTest, CanBeAKeyOfAHashedContainer) {
  const std::unordered_set<Slot> slots = {Slot{1}, Slot{1}, Slot{2}};
  EXPECT_EQ(slots.size(), 2U);
}

TEST(SlotCountTest, MakeTakesWhatIsInRangeOnly) {
  static_assert(kSlotCountMax == 1048576);
  EXPECT_EQ(SlotCount::make(1), SlotCount{1});
  EXPECT_EQ(SlotCount::make(kSlotCountMax), SlotCount{kSlotCountMax});
  EXPECT_FALSE(SlotCount::make(0));
  EXPECT_FALSE(SlotCount::make(std::uint64_t{kSlotCountMax} + 1));
  // Would be 1 if it were cut to 32 bits before it is checked.
  EXPECT_FALSE(SlotCount::make((std::uint64_t{1} << 32) + 1));
  EXPECT_FALSE(SlotCount::make(std::numeric_limits<std::uint64_t>::max()));
}

TEST(SlotCountTest, ContainsTheSlotsBelowIt) {
  constexpr SlotCount kCount{10};
  static_assert(kCount.contains(Slot{0}));
  static_assert(kCount.contains(Slot{9}));
  static_assert(!kCount.contains(Slot{10}));
  static_assert(SlotCount{9} < kCount);
}

TEST(SlotCountDeathTest, ACountThatCannotBeAborts) {
  EXPECT_DEATH(static_cast<void>(SlotCount{std::uint32_t{0}}), "a slot count must be at least 1");
  EXPECT_DEATH(static_cast<void>(SlotCount{kSlotCountMax + 1}), "at most 1048576");
}

}  // namespace
}  // namespace neliroute
