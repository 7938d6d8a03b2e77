#include <gtest/gtest.h>

#include <neliroute/detail/fast_mod.h>

#include <array>
#include <cstdint>
#include <limits>
#include <random>

namespace neliroute {
namespace {

constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();

static_assert(FastMod{7}(50) == 1);
static_assert(FastMod{8}(50) == 2);
static_assert(sizeof(FastMod) == 16);

TEST(FastModTest, IsExactWhereItIsMostLikelyNotToBe) {
  constexpr std::array<std::uint64_t, 19> kDivisors = {
      1,    2,     3,       5,       7,                  10,       63,   64,
      65,   1000,  1024,    1000003, (1U << 20) - 1,     1U << 20, 16384, std::uint64_t{1} << 63,
      kMax, kMax - 1, (std::uint64_t{1} << 63) + 1};
  for (const std::uint64_t divisor : kDivisors) {
    const FastMod modulo{divisor};
    EXPECT_EQ(modulo.divisor(), divisor);
    // Around zero, the ends, and multiples of the divisor: there the quotient changes.
    const std::uint64_t greatest_multiple = kMax / divisor * divisor;
    const std::uint64_t middle_multiple = kMax / 2 / divisor * divisor;
    for (std::uint64_t offset = 0; offset < 3; ++offset) {
      for (const std::uint64_t base : {std::uint64_t{0}, divisor, divisor * 2, middle_multiple,
                                       greatest_multiple, std::uint64_t{1} << 32,
                                       std::uint64_t{1} << 63, kMax}) {
        ASSERT_EQ(modulo(base + offset), (base + offset) % divisor) << base << '+' << offset;
        ASSERT_EQ(modulo(base - offset), (base - offset) % divisor) << base << '-' << offset;
      }
    }
  }
}

TEST(FastModTest, IsExactForEverySlotCountOfTheFirstThousands) {
  for (std::uint64_t divisor = 1; divisor <= 5000; ++divisor) {
    const FastMod modulo{divisor};
    const std::uint64_t multiple = kMax / divisor * divisor;
    for (const std::uint64_t value : {multiple - 1, multiple, kMax - 1, kMax}) {
      ASSERT_EQ(modulo(value), value % divisor) << value << " % " << divisor;
    }
  }
}

TEST(FastModTest, AgreesWithTheOperatorOnRandomValues) {
  std::mt19937_64 random{20240601};
  for (int round = 0; round < 3000; ++round) {
    // Shifted by a random amount, so that divisors of every magnitude have their turn.
    const std::uint64_t divisor = (random() >> (random() % 64)) | 1;
    const std::uint64_t even_divisor = divisor == kMax ? divisor - 1 : divisor + 1;
    const FastMod modulo{divisor};
    const FastMod even_modulo{even_divisor};
    for (int sample = 0; sample < 500; ++sample) {
      const std::uint64_t value = random();
      ASSERT_EQ(modulo(value), value % divisor) << value << " % " << divisor;
      ASSERT_EQ(even_modulo(value), value % even_divisor) << value << " % " << even_divisor;
    }
  }
}

TEST(FastModDeathTest, ADivisorOfZeroAborts) {
  EXPECT_DEATH(static_cast<void>(FastMod{0}), "a divisor must not be zero");
}

}  // namespace
}  // namespace neliroute
