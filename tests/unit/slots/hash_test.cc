#include <gtest/gtest.h>

#include <neliroute/hash.h>

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

namespace neliroute {
namespace {

struct Xxh3Vector {
  std::string_view bytes;
  std::uint64_t hash;
};

// An on-wire promise: if one of these has to change, no two versions can share a group.
constexpr Xxh3Vector kXxh3Vectors[] = {
    {"", 0x2d06800538d394c2},
    {"a", 0xe6c632b61e964e1f},
    {"abc", 0x78af5f94892f3950},
    {"12345678", 0x62e29b4cad9e2ef6},
    {"user:1000", 0xfb6841b2068c0c9f},
    {"0123456789abcdef", 0x64439946d8fa212d},
    {"0123456789abcdef0123456789abcdef", 0x01121d5b6c0ac055},
};

TEST(Xxh3VectorsTest, GoldenVectors) {
  for (const Xxh3Vector& vector : kXxh3Vectors) {
    EXPECT_EQ(xxh3(vector.bytes), vector.hash) << vector.bytes;
    EXPECT_EQ(hash_value(Hash::xxh3, vector.bytes), vector.hash) << vector.bytes;
  }
}

struct Crc16Vector {
  std::string_view bytes;
  std::uint16_t hash;
};

// The first is in Redis's cluster specification; the rest was computed with Python's
// binascii.crc_hqx, an implementation of its own.
constexpr Crc16Vector kCrc16Vectors[] = {
    {"123456789", 0x31c3}, {"", 0x0000},        {"a", 0x7c87},         {"foo", 0xaf96},
    {"bar", 0x93c5},       {"hello", 0xc362},   {"user:1000", 0x4671}, {"user1000", 0x4d73},
    {"somekey", 0x6b32},   {"hash_tag", 0x89d3}, {"\xff\xff", 0x1d0f},
};

TEST(HashTest, Xxh3DoesNotDependOnAlignment) {
  constexpr std::string_view kText = "................0123456789abcdef0123456789abcdef";
  for (std::size_t offset = 0; offset < 16; ++offset) {
    const std::string shifted = std::string(offset, '.') + std::string(kText.substr(16));
    EXPECT_EQ(xxh3(std::string_view(shifted).substr(offset)), 0x01121d5b6c0ac055U);
  }
}

TEST(Crc16Test, GoldenVectors) {
  for (const Crc16Vector& vector : kCrc16Vectors) {
    EXPECT_EQ(crc16(vector.bytes), vector.hash) << vector.bytes;
    EXPECT_EQ(hash_value(Hash::crc16, vector.bytes), vector.hash) << vector.bytes;
  }
}

struct Murmur2Vector {
  std::string_view bytes;
  std::int32_t hash;  // As Java prints it.
};

constexpr Murmur2Vector kMurmur2Vectors[] = {
    // Kafka's own, of UtilsTest.testMurmur2.
    {"21", -973932308},
    {"foobar", -790332482},
    {"a-little-bit-long-string", -985981536},
    {"a-little-bit-longer-string", -1486304829},
    {"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971},
    {"abc", 479470107},
    // Computed with kafka-clients 4.1.1: every length of the tail, and bytes above 127.
    {"", 275646681},
    {"a", -1563381124},
    {"ab", 316155434},
    {"user:1000", 1476113441},
    {"0123456789abcdef", 1438427052},
    {"\xe9\xff", -1376992806},
};

TEST(Murmur2Test, GoldenVectors) {
  for (const Murmur2Vector& vector : kMurmur2Vectors) {
    EXPECT_EQ(std::bit_cast<std::int32_t>(murmur2(vector.bytes)), vector.hash) << vector.bytes;
  }
}

TEST(Murmur2Test, ItsHashValueIsKafkasToPositive) {
  EXPECT_EQ(hash_value(Hash::murmur2, "foobar"), 1357151166U);
  EXPECT_EQ(hash_value(Hash::murmur2, "21"), 1173551340U);
  EXPECT_EQ(hash_value(Hash::murmur2, "abc"), 479470107U);
}

TEST(HashTest, NamesGoBothWays) {
  EXPECT_EQ(to_string(Hash::xxh3), "xxh3");
  EXPECT_EQ(to_string(Hash::crc16), "crc16");
  EXPECT_EQ(to_string(Hash::murmur2), "murmur2");
  for (const Hash hash : {Hash::xxh3, Hash::crc16, Hash::murmur2}) {
    EXPECT_EQ(parse_hash(to_string(hash)), hash);
  }
}

TEST(HashTest, OtherNamesAreRefused) {
  for (const std::string_view name :
       {"", "xxh", "xxh33", "XXH3", " xxh3", "xxh3 ", "crc", "crc32", "murmur", "xxh3+tags"}) {
    EXPECT_FALSE(parse_hash(name)) << name;
  }
  EXPECT_FALSE(parse_hash(std::string_view("xxh3\0", 5)));
}

TEST(HashTest, ANullViewIsTheEmptyKey) {
  for (const Hash hash : {Hash::xxh3, Hash::crc16, Hash::murmur2}) {
    EXPECT_EQ(hash_value(hash, std::string_view{}), hash_value(hash, ""));
  }
}

TEST(HashDeathTest, AValueThatIsNoHashAborts) {
  const Hash broken = static_cast<Hash>(7);
  EXPECT_DEATH(static_cast<void>(to_string(broken)), "not a value of Hash");
  EXPECT_DEATH(static_cast<void>(hash_value(broken, "key")), "not a value of Hash");
}

}  // namespace
}  // namespace neliroute
