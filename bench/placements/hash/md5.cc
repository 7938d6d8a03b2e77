#include "bench/placements/hash/md5.h"

#include <bit>
#include <cmath>
#include <cstddef>
#include <string>

namespace neliroute::placement {
namespace {

constexpr std::size_t kBlock = 64;
constexpr std::array<std::array<int, 4>, 4> kShifts = {
    {{7, 12, 17, 22}, {5, 9, 14, 20}, {4, 11, 16, 23}, {6, 10, 15, 21}}};

/// floor(2^32 |sin(i + 1)|), as the RFC defines its table T.
const std::array<std::uint32_t, 64>& sines() {
  static const std::array<std::uint32_t, 64> kTable = [] {
    std::array<std::uint32_t, 64> table{};
    for (std::size_t i = 0; i < table.size(); ++i) {
      table[i] = static_cast<std::uint32_t>(
          std::floor(std::abs(std::sin(static_cast<double>(i + 1))) * 4294967296.0));
    }
    return table;
  }();
  return kTable;
}

/// The round's function of three words, and which word of the block step i takes.
std::uint32_t mixed(std::size_t round, std::uint32_t b, std::uint32_t c, std::uint32_t d) noexcept {
  switch (round) {
    case 0:
      return (b & c) | (~b & d);
    case 1:
      return (b & d) | (c & ~d);
    case 2:
      return b ^ c ^ d;
    default:
      return c ^ (b | ~d);
  }
}

std::size_t word_of(std::size_t i) noexcept {
  constexpr std::array<std::size_t, 4> kFactor = {1, 5, 3, 7};
  constexpr std::array<std::size_t, 4> kStart = {0, 1, 5, 0};
  return (kFactor[i / 16] * i + kStart[i / 16]) % 16;
}

void take_block(std::array<std::uint32_t, 4>& state, std::string_view block) {
  std::array<std::uint32_t, 16> words{};
  for (std::size_t i = 0; i < kBlock; ++i) {
    words[i / 4] |= std::uint32_t{static_cast<unsigned char>(block[i])} << (i % 4 * 8);
  }
  auto [a, b, c, d] = state;
  for (std::size_t i = 0; i < 64; ++i) {
    const std::size_t round = i / 16;
    const std::uint32_t sum = a + mixed(round, b, c, d) + words[word_of(i)] + sines()[i];
    a = d;
    d = c;
    c = b;
    b += std::rotl(sum, kShifts[round][i % 4]);
  }
  state[0] += a;
  state[1] += b;
  state[2] += c;
  state[3] += d;
}

}  // namespace

std::array<std::uint8_t, 16> md5(std::string_view bytes) {
  std::array<std::uint32_t, 4> state = {0x67452301, 0xefcdab89, 0x98badcfe, 0x10325476};
  // Padded: a one bit, zeros up to 8 bytes before a block's end, the length in bits.
  std::string tail(bytes.substr(bytes.size() / kBlock * kBlock));
  tail += '\x80';
  tail.append((2 * kBlock - 8 - tail.size()) % kBlock, '\0');
  const std::uint64_t bits = std::uint64_t{bytes.size()} * 8;
  for (int byte = 0; byte < 8; ++byte) tail += static_cast<char>(bits >> (byte * 8) & 0xff);
  for (; bytes.size() >= kBlock; bytes.remove_prefix(kBlock)) {
    take_block(state, bytes.substr(0, kBlock));
  }
  for (std::size_t at = 0; at < tail.size(); at += kBlock) {
    take_block(state, std::string_view(tail).substr(at, kBlock));
  }
  std::array<std::uint8_t, 16> digest{};
  for (std::size_t i = 0; i < digest.size(); ++i) {
    digest[i] = static_cast<std::uint8_t>(state[i / 4] >> (i % 4 * 8));
  }
  return digest;
}

}  // namespace neliroute::placement
