// The functions that turn the bytes of a key into a number, and which part of a key is hashed.
//
// These numbers are a promise on the wire: every process, in every version and language, must
// compute the same slot for a key. The golden vectors in tests/unit/slots/hash_test.cc pin them.
// None of them is keyed: a client that may choose keys can aim them at one slot.
//
// Threads: any.   Units: bytes.   Errors: an unknown name is nothing.
// Paper: "Consistent hashing" ("the hash of a given key").
#pragma once

#include <cstdint>
#include <neliroute/settings.h>
#include <string_view>

namespace neliroute {

/// XXH3_64bits of xxHash, seed 0: the default.
[[nodiscard]] std::uint64_t xxh3(std::string_view bytes) noexcept;

/// CRC16 of Redis Cluster: XMODEM, polynomial 0x1021, initial value 0, nothing reflected.
[[nodiscard]] std::uint16_t crc16(std::string_view bytes) noexcept;

/// Kafka's org.apache.kafka.common.utils.Utils.murmur2, bit for bit; Java's int is the same 32
/// bits, read as signed. It is not the 64-bit MurmurHash2 and not Guava's Murmur3.
[[nodiscard]] std::uint32_t murmur2(std::string_view bytes) noexcept;

/// At most this many slots can get a key.
[[nodiscard]] constexpr std::uint64_t slots_reached(Hash hash) noexcept {
  return hash == Hash::crc16 ? 65'536 : hash == Hash::murmur2 ? 0x8000'0000 : UINT64_MAX;
}

/// The number whose remainder is the slot. For murmur2 the sign bit is cleared first, as Kafka's
/// toPositive does; the other two are used unchanged.
[[nodiscard]] std::uint64_t hash_value(Hash hash, std::string_view bytes) noexcept;

/// The part of the key that is hashed when tags are on; it points into the key. These are exactly
/// Redis Cluster's rules: only what stands between the first '{' and the first '}' after it is
/// hashed, so "{user1000}.following" and "{user1000}.followers" share a slot. If either brace is
/// missing, or nothing stands between them, the whole key is hashed. Tags are off by default for
/// every hash: in binary keys a brace is just a byte, and would make slots uneven for no visible
/// reason.
[[nodiscard]] std::string_view hash_tag(std::string_view key) noexcept;

}  // namespace neliroute
