#include <gtest/gtest.h>

#include <neliroute/slot_space.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace neliroute {
namespace {

constexpr HashScheme kXxh3Tags{Hash::xxh3, HashTags::on};
constexpr HashScheme kCrc16{Hash::crc16, HashTags::off};
constexpr HashScheme kCrc16Tags{Hash::crc16, HashTags::on};
constexpr HashScheme kMurmur2{Hash::murmur2, HashTags::off};
constexpr HashScheme kMurmur2Tags{Hash::murmur2, HashTags::on};
constexpr HashScheme kSchemes[] = {{}, kXxh3Tags, kCrc16, kCrc16Tags, kMurmur2, kMurmur2Tags};

struct SlotVector {
  std::string_view key;
  std::uint32_t of_1000;
  std::uint32_t of_1024;
  std::uint32_t of_16384;
};

constexpr SlotVector kXxh3Slots[] = {
    {"", 138, 194, 5314},
    {"a", 719, 543, 3615},
    {"abc", 104, 336, 14672},
    {"12345678", 838, 758, 12022},
    {"user:1000", 855, 159, 3231},
    {"0123456789abcdef", 149, 301, 8493},
    {"0123456789abcdef0123456789abcdef", 109, 85, 85},
};

TEST(SlotSpaceTest, GoldenSlotsOfXxh3) {
  constexpr SlotSpace kOf1000{SlotCount{1000}};
  constexpr SlotSpace kOf1024{SlotCount{1024}};
  constexpr SlotSpace kOf16384{SlotCount{16384}};
  for (const SlotVector& vector : kXxh3Slots) {
    EXPECT_EQ(kOf1000.slot_of(vector.key).value(), vector.of_1000) << vector.key;
    EXPECT_EQ(kOf1024.slot_of(vector.key).value(), vector.of_1024) << vector.key;
    EXPECT_EQ(kOf16384.slot_of(vector.key).value(), vector.of_16384) << vector.key;
  }
}

// The answers of CLUSTER KEYSLOT; the last four are of its page in the Redis documentation.
TEST(SlotSpaceTest, WithCrc16AndTagsItIsRedisCluster) {
  constexpr SlotSpace kRedis{SlotCount{16384}, kCrc16Tags};
  EXPECT_EQ(kRedis.slot_of("123456789").value(), 12739U);
  EXPECT_EQ(kRedis.slot_of("foo").value(), 12182U);
  EXPECT_EQ(kRedis.slot_of("bar").value(), 5061U);
  EXPECT_EQ(kRedis.slot_of("hello").value(), 866U);
  EXPECT_EQ(kRedis.slot_of("").value(), 0U);
  EXPECT_EQ(kRedis.slot_of("{user1000}.following").value(), 3443U);
  EXPECT_EQ(kRedis.slot_of("{user1000}.followers").value(), 3443U);
  EXPECT_EQ(kRedis.slot_of("somekey").value(), 11058U);
  EXPECT_EQ(kRedis.slot_of("foo{hash_tag}").value(), 2515U);
  EXPECT_EQ(kRedis.slot_of("bar{hash_tag}").value(), 2515U);
}

// Utils.toPositive(Utils.murmur2(key)) % count, computed with kafka-clients 4.1.1.
TEST(SlotSpaceTest, WithMurmur2ItIsKafkasDefaultPartitioner) {
  constexpr SlotSpace kOf1024{SlotCount{1024}, kMurmur2};
  constexpr SlotSpace kOf1000{SlotCount{1000}, kMurmur2};
  EXPECT_EQ(kOf1024.slot_of("").value(), 217U);
  EXPECT_EQ(kOf1000.slot_of("").value(), 681U);
  EXPECT_EQ(kOf1024.slot_of("a").value(), 636U);
  EXPECT_EQ(kOf1000.slot_of("a").value(), 524U);
  EXPECT_EQ(kOf1024.slot_of("foobar").value(), 958U);
  EXPECT_EQ(kOf1000.slot_of("foobar").value(), 166U);
  EXPECT_EQ(kOf1000.slot_of("21").value(), 340U);
  EXPECT_EQ(kOf1000.slot_of("user:1000").value(), 441U);
}

TEST(SlotSpaceTest, ASlotIsTheHashModuloTheCount) {
  std::mt19937_64 random{20240603};
  for (const HashScheme scheme : kSchemes) {
    for (const std::uint32_t count : {1U, 2U, 3U, 1000U, 1024U, 65537U, kSlotCountMax}) {
      const SlotSpace space{SlotCount{count}, scheme};
      for (int round = 0; round < 200; ++round) {
        std::string key(random() % 100, '\0');
        for (char& byte : key) {
          byte = static_cast<char>(random() & 0xff);
        }
        const std::string_view hashed = scheme.tags == HashTags::on ? hash_tag(key) : key;
        ASSERT_EQ(space.slot_of(key).value(), hash_value(scheme.hash, hashed) % count);
        ASSERT_TRUE(space.count().contains(space.slot_of(key)));
      }
    }
  }
}

TEST(SlotSpaceTest, TagsMatterOnlyWhenTheyAreOn) {
  for (const Hash hash : {Hash::xxh3, Hash::crc16, Hash::murmur2}) {
    const SlotSpace with{SlotCount{1U << 16}, HashScheme{hash, HashTags::on}};
    const SlotSpace without{SlotCount{1U << 16}, HashScheme{hash, HashTags::off}};
    EXPECT_EQ(with.slot_of("{a}x"), with.slot_of("y{a}"));
    EXPECT_EQ(with.slot_of("{a}x"), without.slot_of("a"));
    EXPECT_NE(without.slot_of("{a}x"), without.slot_of("y{a}"));
    EXPECT_EQ(with.slot_of("{}x"), without.slot_of("{}x"));
  }
}

TEST(SlotSpaceTest, ABatchGivesTheSameSlots) {
  const std::vector<std::string_view> keys = {"", "a", "abc", "user:1000", "{a}b",
                                              std::string_view("\0\xff", 2)};
  for (const HashScheme scheme : kSchemes) {
    const SlotSpace space{SlotCount{1000}, scheme};
    std::vector<Slot> slots(keys.size());
    space.slot_of(keys, slots);
    for (std::size_t index = 0; index < keys.size(); ++index) {
      EXPECT_EQ(slots[index], space.slot_of(keys[index]));
    }
    space.slot_of(std::span<const std::string_view>{}, std::span<Slot>{});
  }
}

TEST(SlotSpaceTest, EqualSpacesHaveEqualCountsAndSchemes) {
  constexpr SlotSpace kSpace{SlotCount{1024}, kCrc16Tags};
  static_assert(kSpace.count() == SlotCount{1024});
  static_assert(kSpace.scheme() == kCrc16Tags);
  static_assert(kSpace == SlotSpace{SlotCount{1024}, kCrc16Tags});
  static_assert(!(kSpace == SlotSpace{SlotCount{1000}, kCrc16Tags}));
  static_assert(!(kSpace == SlotSpace{SlotCount{1024}, kCrc16}));
  static_assert(SlotSpace{SlotCount{1}}.scheme() == HashScheme{Hash::xxh3, HashTags::off});
}

TEST(HashSchemeTest, EachHasItsNameOnTheWire) {
  constexpr std::array<std::string_view, 6> kNames = {"xxh3",       "xxh3+tags", "crc16",
                                                      "crc16+tags", "murmur2",   "murmur2+tags"};
  for (std::size_t index = 0; index < kNames.size(); ++index) {
    EXPECT_EQ(to_string(kSchemes[index]), kNames[index]);
  }
}

TEST(HashSchemeDeathTest, AValueThatIsNoHashAborts) {
  const HashScheme broken{static_cast<Hash>(99), HashTags::on};
  EXPECT_DEATH(static_cast<void>(to_string(broken)), "not a value of Hash");
}

TEST(SlotSpaceDeathTest, ABatchWithoutRoomForItsSlotsAborts) {
  const std::array<std::string_view, 2> keys = {"a", "b"};
  std::array<Slot, 1> slots;
  EXPECT_DEATH(SlotSpace{SlotCount{8}}.slot_of(keys, slots), "one slot for every key");
}

}  // namespace
}  // namespace neliroute
