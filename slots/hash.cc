#include <neliroute/hash.h>

#include <array>
#include <cstddef>
#include <neliroute/detail/assert.h>

#include "slots/xxh3.h"

namespace neliroute {
namespace {

constexpr std::array<Hash, 3> kHashes = {Hash::xxh3, Hash::crc16, Hash::murmur2};

constexpr std::array<std::uint16_t, 256> make_crc16_table() noexcept {
  constexpr std::uint32_t kPolynomial = 0x1021;
  std::array<std::uint16_t, 256> table{};
  for (std::size_t byte = 0; byte < table.size(); ++byte) {
    std::uint32_t remainder = static_cast<std::uint32_t>(byte) << 8;
    for (int bit = 0; bit < 8; ++bit) {
      remainder = (remainder << 1) ^ ((remainder & 0x8000) != 0 ? kPolynomial : 0);
    }
    table[byte] = static_cast<std::uint16_t>(remainder & 0xffff);
  }
  return table;
}

constexpr std::array<std::uint16_t, 256> kCrc16Table = make_crc16_table();

constexpr std::uint32_t byte_at(std::string_view bytes, std::size_t index) noexcept {
  return static_cast<unsigned char>(bytes[index]);
}

}  // namespace

std::uint64_t xxh3(std::string_view bytes) noexcept {
  return XXH3_64bits(bytes.data(), bytes.size());
}

std::string_view to_string(Hash hash) noexcept {
  switch (hash) {
    case Hash::xxh3:
      return "xxh3";
    case Hash::crc16:
      return "crc16";
    case Hash::murmur2:
      return "murmur2";
  }
  NELIROUTE_UNREACHABLE("not a value of Hash");
}

std::optional<Hash> parse_hash(std::string_view name) noexcept {
  for (const Hash hash : kHashes) {
    if (name == to_string(hash)) {
      return hash;
    }
  }
  return std::nullopt;
}

std::uint16_t crc16(std::string_view bytes) noexcept {
  std::uint32_t crc = 0;
  for (std::size_t index = 0; index < bytes.size(); ++index) {
    crc = ((crc << 8) & 0xffff) ^ kCrc16Table[(crc >> 8) ^ byte_at(bytes, index)];
  }
  return static_cast<std::uint16_t>(crc);
}

std::uint32_t murmur2(std::string_view bytes) noexcept {
  constexpr std::uint32_t kSeed = 0x9747b28c;
  constexpr std::uint32_t kMultiplier = 0x5bd1e995;
  std::uint32_t hash = kSeed ^ static_cast<std::uint32_t>(bytes.size());
  std::size_t index = 0;
  for (; bytes.size() - index >= 4; index += 4) {
    std::uint32_t word = byte_at(bytes, index) | (byte_at(bytes, index + 1) << 8) |
                         (byte_at(bytes, index + 2) << 16) | (byte_at(bytes, index + 3) << 24);
    word *= kMultiplier;
    word ^= word >> 24;
    hash = (hash * kMultiplier) ^ (word * kMultiplier);
  }
  if (index < bytes.size()) {
    for (std::uint32_t shift = 0; index < bytes.size(); ++index, shift += 8) {
      hash ^= byte_at(bytes, index) << shift;
    }
    hash *= kMultiplier;
  }
  hash ^= hash >> 13;
  hash *= kMultiplier;
  return hash ^ (hash >> 15);
}

std::uint64_t hash_value(Hash hash, std::string_view bytes) noexcept {
  switch (hash) {
    case Hash::xxh3:
      return xxh3(bytes);
    case Hash::crc16:
      return crc16(bytes);
    case Hash::murmur2:
      return murmur2(bytes) & 0x7fffffff;
  }
  NELIROUTE_UNREACHABLE("not a value of Hash");
}

}  // namespace neliroute
