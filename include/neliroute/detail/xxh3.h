// xxh3: XXH3_64bits of xxHash with seed 0, inlined for keys of up to 64 bytes.
//
// Why not XXH_INLINE_ALL: in a public header it would put more than a hundred XXH_* macros into
// every file of every user, as well as static functions that our inline functions would call
// (which breaks the one-definition rule), and make xxHash's headers a dependency of theirs. Why
// not the library's function alone: the call through the PLT costs as much as hashing a short key.
// So the short forms are written out here: they are few lines, frozen by xxHash since 0.8.0
// (2020), and a test compares them with the library at every length. Keys of more than 64 bytes
// (a UUID has 36) go to the library, where the call is cheap compared with the work.
//
// Measured, GCC 12 -O2: as fast as XXH_INLINE_ALL within 3 % at 16 to 64 bytes.
//
// The algorithm and the secret are xxHash's, by Yann Collet (BSD 2-Clause licence).
//
// Threads: any.   Units: bytes.   Errors: none.
#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <neliroute/detail/wide_multiply.h>
#include <string_view>

namespace neliroute {
namespace detail {

/// The library's function.
[[nodiscard]] std::uint64_t xxh3_library(std::string_view bytes) noexcept;

/// Longest input that is hashed inline.
inline constexpr std::size_t kXxh3InlineMax = 64;

/// The first 72 of the 192 bytes of XXH3's default secret, as little-endian words.
inline constexpr std::array<std::uint64_t, 9> kXxh3Secret = {
    0xbe4ba423396cfeb8, 0x1cad21f72c81017c, 0xdb979083e96dd4de,
    0x1f67b3b7a4a44072, 0x78e5c0cc4ee679cb, 0x2172ffcc7dd05a82,
    0x8e2443f7744608b8, 0x4c263a81e69035e0, 0xcb00c391bb52283c,
};

// The hash is a number, the same on every machine: words are read as little-endian everywhere.
[[nodiscard]] inline std::uint64_t xxh3_load64(const char* from) noexcept {
  std::uint64_t word = 0;
  std::memcpy(&word, from, sizeof word);
  return std::endian::native == std::endian::little ? word : __builtin_bswap64(word);
}

[[nodiscard]] inline std::uint32_t xxh3_load32(const char* from) noexcept {
  std::uint32_t word = 0;
  std::memcpy(&word, from, sizeof word);
  return std::endian::native == std::endian::little ? word : __builtin_bswap32(word);
}

[[nodiscard]] constexpr std::uint64_t xxh3_avalanche(std::uint64_t hash) noexcept {
  hash ^= hash >> 37;
  hash *= 0x165667919e3779f9;
  return hash ^ (hash >> 32);
}

/// The finish of the older XXH64, which XXH3 kept for 0 to 3 bytes.
[[nodiscard]] constexpr std::uint64_t xxh64_avalanche(std::uint64_t hash) noexcept {
  hash ^= hash >> 33;
  hash *= 0xc2b2ae3d27d4eb4f;
  hash ^= hash >> 29;
  hash *= 0x165667b19e3779f9;
  return hash ^ (hash >> 32);
}

[[nodiscard]] inline std::uint64_t xxh3_0_to_3(const char* data, std::size_t length) noexcept {
  if (length == 0) {
    return xxh64_avalanche(kXxh3Secret[7] ^ kXxh3Secret[8]);
  }
  // One, two or three bytes: the first, the middle and the last, some of them twice.
  const std::uint32_t first = static_cast<unsigned char>(data[0]);
  const std::uint32_t middle = static_cast<unsigned char>(data[length >> 1]);
  const std::uint32_t last = static_cast<unsigned char>(data[length - 1]);
  const std::uint32_t combined =
      (first << 16) | (middle << 24) | last | (static_cast<std::uint32_t>(length) << 8);
  const std::uint64_t flip = (kXxh3Secret[0] & 0xffffffff) ^ (kXxh3Secret[0] >> 32);
  return xxh64_avalanche(combined ^ flip);
}

[[nodiscard]] inline std::uint64_t xxh3_4_to_8(const char* data, std::size_t length) noexcept {
  const std::uint64_t head = xxh3_load32(data);
  const std::uint64_t tail = xxh3_load32(data + length - 4);
  std::uint64_t hash = (tail + (head << 32)) ^ kXxh3Secret[1] ^ kXxh3Secret[2];
  hash ^= std::rotl(hash, 49) ^ std::rotl(hash, 24);
  hash *= 0x9fb21c651e98df25;
  hash ^= (hash >> 35) + length;
  hash *= 0x9fb21c651e98df25;
  return hash ^ (hash >> 28);
}

[[nodiscard]] inline std::uint64_t xxh3_9_to_16(const char* data, std::size_t length) noexcept {
  const std::uint64_t head = xxh3_load64(data) ^ kXxh3Secret[3] ^ kXxh3Secret[4];
  const std::uint64_t tail = xxh3_load64(data + length - 8) ^ kXxh3Secret[5] ^ kXxh3Secret[6];
  return xxh3_avalanche(length + __builtin_bswap64(head) + tail + folded_product(head, tail));
}

/// Mixes 16 bytes with two words of the secret.
[[nodiscard]] inline std::uint64_t xxh3_mix(const char* data, std::size_t secret) noexcept {
  return folded_product(xxh3_load64(data) ^ kXxh3Secret[secret],
                        xxh3_load64(data + 8) ^ kXxh3Secret[secret + 1]);
}

[[nodiscard]] inline std::uint64_t xxh3_17_to_64(const char* data, std::size_t length) noexcept {
  std::uint64_t sum = length * 0x9e3779b185ebca87;
  if (length > 32) {
    sum += xxh3_mix(data + 16, 4);
    sum += xxh3_mix(data + length - 32, 6);
  }
  sum += xxh3_mix(data, 0);
  sum += xxh3_mix(data + length - 16, 2);
  return xxh3_avalanche(sum);
}

}  // namespace detail

/// XXH3_64bits with seed 0, of xxHash 0.8.0 and later.
[[nodiscard]] inline std::uint64_t xxh3(std::string_view bytes) noexcept {
  const char* data = bytes.data();
  const std::size_t length = bytes.size();
  if (length > 16) {
    return length <= detail::kXxh3InlineMax ? detail::xxh3_17_to_64(data, length)
                                            : detail::xxh3_library(bytes);
  }
  if (length > 8) {
    return detail::xxh3_9_to_16(data, length);
  }
  return length >= 4 ? detail::xxh3_4_to_8(data, length) : detail::xxh3_0_to_3(data, length);
}

}  // namespace neliroute
