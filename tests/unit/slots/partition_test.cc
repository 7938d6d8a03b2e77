#include "slots/partition.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <vector>

namespace neliroute {
namespace {

constexpr std::uint32_t kSlotCounts[] = {1, 2, 7, 64, 100, 1000, 1024};
constexpr std::uint32_t kPartitionCounts[] = {1, 2, 3, 7, 64, 100, 1023, 1024, 1025};

TEST(PartitionTest, ASlotLivesOnItsRemainder) {
  static_assert(partition_of(Slot{0}, 64) == 0);
  static_assert(partition_of(Slot{63}, 64) == 63);
  static_assert(partition_of(Slot{64}, 64) == 0);
  static_assert(partition_of(Slot{1023}, 64) == 63);
  static_assert(partition_of(Slot{5}, 1) == 0);
  static_assert(partition_of(Slot{5}, std::numeric_limits<std::uint32_t>::max()) == 5);
}

TEST(PartitionTest, CountsAreThoseOfCountingOneByOne) {
  for (const std::uint32_t slots : kSlotCounts) {
    for (const std::uint32_t partitions : kPartitionCounts) {
      std::vector<std::uint32_t> counted(partitions);
      for (std::uint32_t slot = 0; slot < slots; ++slot) {
        ++counted[partition_of(Slot{slot}, partitions)];
      }
      bool even = true;
      for (std::uint32_t partition = 0; partition < partitions; ++partition) {
        EXPECT_EQ(slots_on_partition(partition, SlotCount{slots}, partitions), counted[partition]);
        even = even && counted[partition] == counted[0];
      }
      EXPECT_EQ(partitions_are_even(SlotCount{slots}, partitions), even)
          << slots << " slots, " << partitions << " partitions";
    }
  }
}

TEST(PartitionDeathTest, WhatCannotBeAborts) {
  EXPECT_DEATH(static_cast<void>(partition_of(Slot{1}, 0)), "at least one partition");
  EXPECT_DEATH(static_cast<void>(partitions_are_even(SlotCount{1}, 0)), "at least one partition");
  EXPECT_DEATH(static_cast<void>(slots_on_partition(0, SlotCount{1}, 0)), "below the partition");
  EXPECT_DEATH(static_cast<void>(slots_on_partition(4, SlotCount{8}, 4)), "below the partition");
}

}  // namespace
}  // namespace neliroute
