// The hashes that placements are made of: of two words, of an item, of a member's name.
//
// Threads: any.   Units: none.   Errors: none.
#pragma once

#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <neliroute/hash.h>
#include <string_view>

namespace neliroute::placement {

__extension__ using Uint128 = unsigned __int128;

/// The upper 64 bits of a * b, xor the lower ones.
[[nodiscard]] constexpr std::uint64_t folded_product(std::uint64_t a, std::uint64_t b) noexcept {
  const Uint128 product = Uint128{a} * b;
  return static_cast<std::uint64_t>(product >> 64) ^ static_cast<std::uint64_t>(product);
}

/// XXH3 of both, as 16 little-endian bytes.
[[nodiscard]] inline std::uint64_t hash_words(std::uint64_t a, std::uint64_t b) noexcept {
  if constexpr (std::endian::native != std::endian::little) {
    a = __builtin_bswap64(a);
    b = __builtin_bswap64(b);
  }
  std::array<char, 16> bytes;
  std::memcpy(bytes.data(), &a, sizeof a);
  std::memcpy(bytes.data() + sizeof a, &b, sizeof b);
  return xxh3({bytes.data(), bytes.size()});
}

[[nodiscard]] inline std::uint64_t item_hash(std::uint32_t item, std::uint64_t seed) noexcept {
  return hash_words(item, seed);
}

[[nodiscard]] inline std::uint64_t member_hash(std::string_view name, std::uint64_t seed) noexcept {
  return hash_words(xxh3(name), seed);
}

/// A number below `count` from all bits of the hash, without the bias and the cost of a division.
[[nodiscard]] constexpr std::uint32_t below(std::uint32_t count, std::uint64_t hash) noexcept {
  return static_cast<std::uint32_t>((Uint128{hash} * count) >> 64);
}

}  // namespace neliroute::placement
