#include "bench/placements/hash/memento.h"

#include <neliroute/detail/assert.h>

#include "bench/placements/hash/jump.h"
#include "bench/placements/hash/mix.h"

namespace neliroute::placement {

std::uint32_t Memento::add() {
  if (removed_.empty()) {
    const std::uint32_t bucket = size_++;
    last_removed_ = size_;
    return bucket;
  }
  const std::uint32_t bucket = last_removed_;
  const auto found = removed_.find(bucket);
  last_removed_ = found->second.previous;
  removed_.erase(found);
  return bucket;
}

void Memento::remove(std::uint32_t bucket) {
  NELIROUTE_ASSERT(bucket < size_ && !removed_.contains(bucket),
                   "only a bucket in use can be removed");
  if (removed_.empty() && bucket + 1 == size_) {
    last_removed_ = --size_;
    return;
  }
  const auto in_use = size_ - static_cast<std::uint32_t>(removed_.size());
  removed_[bucket] = {in_use - 1, last_removed_};
  last_removed_ = bucket;
}

std::uint32_t Memento::find(std::uint64_t hash) const {
  std::uint32_t bucket = jump_hash(hash, size_);
  for (auto found = removed_.find(bucket); found != removed_.end();
       found = removed_.find(bucket)) {
    const std::uint32_t left = found->second.left;
    bucket = below(left, hash_words(hash, bucket));
    // A bucket that was removed earlier was not among those left; its replacement was.
    for (auto earlier = removed_.find(bucket);
         earlier != removed_.end() && earlier->second.left >= left;
         earlier = removed_.find(bucket)) {
      bucket = earlier->second.left;
    }
  }
  return bucket;
}

std::size_t Memento::memory() const noexcept {
  // A node is its value, a link and the allocator's own word or two.
  return removed_.bucket_count() * sizeof(void*) +
         removed_.size() * (sizeof(std::uint32_t) + sizeof(Removed) + 3 * sizeof(void*));
}

}  // namespace neliroute::placement
