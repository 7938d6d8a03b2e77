// FastMod: exact `value % divisor` for a divisor that is known only at run time.
//
// A 64-bit division takes 20 to 90 cycles on many machines still in use; this takes two
// multiplications, and powers of two take a mask. It gives the same number as `%` for every
// value and every divisor >= 1, so the wire format may depend on it.
//
// Why it is exact: let m = floor((2^64 - 1) / d), so m >= 2^64 / d - 1. Then for h < 2^64
// the estimate q = floor(h * m / 2^64) lies above h / d - 2, is never above floor(h / d), and so
// is short by at most one: one conditional subtraction corrects the remainder.
//
// Threads: immutable, any.   Units: none.   Errors: a divisor of zero aborts.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <neliroute/detail/assert.h>

namespace neliroute {

class FastMod {
 public:
  constexpr explicit FastMod(std::uint64_t divisor) noexcept
      : divisor_(divisor), reciprocal_(reciprocal_of(divisor)) {}

  /// value % divisor().
  [[nodiscard]] constexpr std::uint64_t operator()(std::uint64_t value) const noexcept {
    // Likely: the usual slot counts are powers of two, and two jumps would cost more than the mask.
    if (reciprocal_ == kPowerOfTwo) [[likely]] {
      return value & (divisor_ - 1);
    }
    // ISO C++ has no 128-bit integer; both supported compilers have one, on every 64-bit target.
    __extension__ using Uint128 = unsigned __int128;
    const auto quotient = static_cast<std::uint64_t>((Uint128{value} * reciprocal_) >> 64);
    const std::uint64_t remainder = value - quotient * divisor_;
    return remainder >= divisor_ ? remainder - divisor_ : remainder;
  }

  [[nodiscard]] constexpr std::uint64_t divisor() const noexcept { return divisor_; }

 private:
  // No divisor has a reciprocal of 0, so the mask needs no flag beside it: two words in all.
  static constexpr std::uint64_t kPowerOfTwo = 0;

  [[nodiscard]] static constexpr std::uint64_t reciprocal_of(std::uint64_t divisor) noexcept {
    NELIROUTE_ASSERT(divisor != 0, "a divisor must not be zero");
    return std::has_single_bit(divisor) ? kPowerOfTwo
                                        : std::numeric_limits<std::uint64_t>::max() / divisor;
  }

  std::uint64_t divisor_;
  std::uint64_t reciprocal_;
};

}  // namespace neliroute
