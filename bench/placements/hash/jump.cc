#include "bench/placements/hash/jump.h"

#include <neliroute/detail/assert.h>

#include "bench/placements/hash/mix.h"

namespace neliroute::placement {

std::uint32_t jump_hash(std::uint64_t hash, std::uint32_t buckets) {
  NELIROUTE_ASSERT(buckets != 0, "there must be a bucket");
  std::uint64_t bucket = 0;
  // The next bucket that the item would jump to, if there were enough.
  for (std::uint64_t next = 0; next < buckets;) {
    bucket = next;
    hash = hash * 2862933555777941757 + 1;
    next = static_cast<std::uint64_t>(static_cast<double>(bucket + 1) *
                                      (2147483648.0 / static_cast<double>((hash >> 33) + 1)));
  }
  return static_cast<std::uint32_t>(bucket);
}

Jump::Jump(const Setting& setting) : Placement(setting), hashes_(setting.items) {
  for (std::uint32_t item = 0; item < setting.items; ++item) {
    hashes_[item] = item_hash(item, setting.seed);
  }
}

void Jump::update(std::span<const MemberId>, std::span<const MemberId>) {
  if (members().empty()) return;
  const auto buckets = static_cast<std::uint32_t>(members().size());
  for (std::uint32_t item = 0; item < setting().items; ++item) {
    owners_[item] = members()[jump_hash(hashes_[item], buckets)];
  }
}

}  // namespace neliroute::placement
