#include "bench/placements/hash/dx.h"

#include <bit>
#include <neliroute/detail/assert.h>

#include "bench/placements/hash/mix.h"
#include "bench/placements/placement.h"

namespace neliroute::placement {
namespace {

// An item that found no bucket after this many times the capacity walks on one by one: with only
// one bucket of the capacity in use, one item in 3000 does.
constexpr std::uint64_t kRounds = 8;

}  // namespace

Dx::Dx(std::uint32_t capacity) : capacity_(capacity), bits_((capacity + 63) / 64) {
  NELIROUTE_ASSERT(std::has_single_bit(capacity), "a capacity must be a power of two");
  for (std::uint32_t bucket = capacity; bucket-- > 0;) free_.push_back(bucket);
}

std::uint32_t Dx::add() {
  NELIROUTE_ASSERT(!free_.empty(), "there must be a bucket left");
  const std::uint32_t bucket = free_.back();
  free_.pop_back();
  bits_[bucket / 64] |= std::uint64_t{1} << (bucket % 64);
  return bucket;
}

void Dx::remove(std::uint32_t bucket) {
  NELIROUTE_ASSERT(bucket < capacity_ && in_use(bucket), "only a bucket in use can be removed");
  bits_[bucket / 64] &= ~(std::uint64_t{1} << (bucket % 64));
  free_.push_back(bucket);
}

std::uint32_t Dx::find(std::uint64_t hash) const {
  NELIROUTE_ASSERT(free_.size() < capacity_, "a bucket must be in use");
  std::uint32_t bucket = 0;
  for (std::uint64_t probe = 0; probe < kRounds * capacity_; ++probe) {
    bucket = below(capacity_, hash_words(hash, probe));
    if (in_use(bucket)) return bucket;
  }
  while (!in_use(bucket)) bucket = (bucket + 1) % capacity_;
  return bucket;
}

std::size_t Dx::memory() const noexcept { return bytes_of(bits_) + bytes_of(free_); }

}  // namespace neliroute::placement
