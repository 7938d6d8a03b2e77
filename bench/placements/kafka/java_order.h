// The order in which Java walks a HashMap<String, ...>: in two of Kafka's assignors it decides
// which member keeps an extra partition.
//
// A map made with `new HashMap<>()` that grew to its size has the least power of two of buckets,
// 16 or more, that is 4/3 of its size or more; a string lies in bucket (h ^ h >>> 16) mod buckets,
// h = String.hashCode(). Within a bucket the order is that of insertion, which depends on other
// maps: names are taken there instead. Buckets of more than 8, which Java makes trees of, are not
// modelled; nor are names that are not ASCII, which Java hashes by UTF-16 and we by byte.
//
// Threads: pure, any.   Units: none.   Errors: none.
// Source: Java's documentation of String.hashCode(); OpenJDK's HashMap.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "bench/placements/roster.h"

namespace neliroute::placement {

/// String.hashCode(): Java's int is the same 32 bits, read as signed.
[[nodiscard]] std::uint32_t java_hash(std::string_view text) noexcept;

/// Sorts the members by their names' places in a HashMap.
void sort_as_java_map(std::vector<MemberId>& members, std::span<const Member> roster);

}  // namespace neliroute::placement
