#include <gtest/gtest.h>
#include <xxhash.h>

#include <neliroute/detail/xxh3.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <random>
#include <string>
#include <string_view>

namespace neliroute {
namespace {

TEST(Xxh3Test, AgreesWithTheLibraryAtEveryLength) {
  std::mt19937_64 random{20240602};
  for (std::size_t length = 0; length <= 300; ++length) {
    for (int round = 0; round < 200; ++round) {
      // A block of exactly this length, so that a sanitizer sees a read beyond it.
      const auto bytes = std::make_unique<char[]>(length);
      for (std::size_t index = 0; index < length; ++index) {
        bytes[index] = static_cast<char>(random() & 0xff);
      }
      ASSERT_EQ(xxh3(std::string_view(bytes.get(), length)), XXH3_64bits(bytes.get(), length))
          << "length " << length;
    }
  }
}

TEST(Xxh3Test, AgreesWithTheLibraryOnBytesThatAreAllEqual) {
  for (const int byte : {0x00, 0x7f, 0x80, 0xff}) {
    for (std::size_t length = 0; length <= 300; ++length) {
      const std::string bytes(length, static_cast<char>(byte));
      ASSERT_EQ(xxh3(bytes), XXH3_64bits(bytes.data(), length)) << "length " << length;
    }
  }
}

TEST(Xxh3Test, DoesNotDependOnAlignment) {
  constexpr std::string_view kText = "................0123456789abcdef0123456789abcdef";
  for (std::size_t offset = 0; offset < 16; ++offset) {
    const std::string shifted = std::string(offset, '.') + std::string(kText.substr(16));
    EXPECT_EQ(xxh3(std::string_view(shifted).substr(offset)), 0x01121d5b6c0ac055U);
  }
}

}  // namespace
}  // namespace neliroute
