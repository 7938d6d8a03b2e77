// The 128-bit product of two 64-bit numbers, on which the fast modulo and XXH3 are built.
//
// Threads: any.   Units: none.   Errors: none.
#pragma once

#include <cstdint>

namespace neliroute::detail {

// ISO C++ has no 128-bit integer; both supported compilers have one, on every 64-bit target.
__extension__ using Uint128 = unsigned __int128;

/// The upper 64 bits of a * b.
[[nodiscard]] constexpr std::uint64_t high_product(std::uint64_t a, std::uint64_t b) noexcept {
  return static_cast<std::uint64_t>((static_cast<Uint128>(a) * b) >> 64);
}

/// The upper 64 bits of a * b, xor the lower ones.
[[nodiscard]] constexpr std::uint64_t folded_product(std::uint64_t a, std::uint64_t b) noexcept {
  // One multiplication: GCC 12 would make two of high_product(a, b) ^ (a * b).
  const Uint128 product = static_cast<Uint128>(a) * b;
  return static_cast<std::uint64_t>(product >> 64) ^ static_cast<std::uint64_t>(product);
}

}  // namespace neliroute::detail
