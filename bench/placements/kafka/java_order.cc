#include "bench/placements/kafka/java_order.h"

#include <algorithm>
#include <bit>

namespace neliroute::placement {

std::uint32_t java_hash(std::string_view text) noexcept {
  std::uint32_t hash = 0;
  for (const char c : text) hash = hash * 31 + static_cast<unsigned char>(c);
  return hash;
}

void sort_as_java_map(std::vector<MemberId>& members, std::span<const Member> roster) {
  const std::size_t needed = (members.size() * 4 + 2) / 3;
  const std::size_t buckets = std::bit_ceil(std::max<std::size_t>(16, needed));
  const auto bucket = [&](MemberId member) {
    const std::uint32_t hash = java_hash(roster[member].name);
    return (hash ^ (hash >> 16)) & (buckets - 1);
  };
  std::sort(members.begin(), members.end(), [&](MemberId a, MemberId b) {
    const std::size_t one = bucket(a);
    const std::size_t other = bucket(b);
    return one != other ? one < other : roster[a].name < roster[b].name;
  });
}

}  // namespace neliroute::placement
