#include "bench/placements/hash/anchor.h"

#include <neliroute/detail/assert.h>
#include <numeric>

#include "bench/placements/hash/mix.h"
#include "bench/placements/placement.h"

namespace neliroute::placement {

Anchor::Anchor(std::uint32_t capacity)
    : left_then_(capacity), successor_(capacity), in_place_(capacity), place_(capacity) {
  NELIROUTE_ASSERT(capacity != 0, "there must be a bucket");
  std::iota(successor_.begin(), successor_.end(), 0U);
  in_place_ = place_ = successor_;
  // As if all had been removed, the last first.
  std::iota(left_then_.begin(), left_then_.end(), 0U);
  for (std::uint32_t bucket = capacity; bucket-- > 0;) removed_.push_back(bucket);
}

std::uint32_t Anchor::add() {
  NELIROUTE_ASSERT(!removed_.empty(), "there must be a bucket left");
  const std::uint32_t bucket = removed_.back();
  removed_.pop_back();
  left_then_[bucket] = 0;
  place_[in_place_[in_use_]] = in_use_;
  in_place_[place_[bucket]] = successor_[bucket] = bucket;
  ++in_use_;
  return bucket;
}

void Anchor::remove(std::uint32_t bucket) {
  NELIROUTE_ASSERT(in_use_ != 0 && in_place_[place_[bucket]] == bucket &&
                       place_[bucket] < in_use_,
                   "only a bucket in use can be removed");
  removed_.push_back(bucket);
  --in_use_;
  left_then_[bucket] = in_use_;
  const std::uint32_t last = in_place_[in_use_];
  in_place_[place_[bucket]] = successor_[bucket] = last;
  place_[last] = place_[bucket];
}

std::uint32_t Anchor::find(std::uint64_t hash) const {
  std::uint32_t bucket = below(static_cast<std::uint32_t>(left_then_.size()), hash);
  while (left_then_[bucket] > 0) {
    std::uint32_t next = below(left_then_[bucket], hash_words(hash, bucket));
    while (left_then_[next] >= left_then_[bucket]) next = successor_[next];
    bucket = next;
  }
  return bucket;
}

std::size_t Anchor::memory() const noexcept {
  return bytes_of(removed_) + bytes_of(left_then_) + bytes_of(successor_) + bytes_of(in_place_) +
         bytes_of(place_);
}

}  // namespace neliroute::placement
