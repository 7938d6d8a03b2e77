// DxHash: a bit for each bucket of a capacity that is a power of two; an item walks a sequence of
// pseudo-random buckets of its own until it meets one that is in use.
//
// Memory: 1 bit per bucket, 4 B per free one.   Cost: O(1) per change, O(S capacity / P) to look up
// all.
// Promise: excess 0; multinomial imbalance. Which bucket a newcomer takes depends on the history;
// what an item finds depends only on the set of buckets in use.
// Source: Dong, Wang, "DxHash: A Scalable Consistent Hash Based on the Pseudo-Random Sequence",
// 2021.
//
// Threads: one at a time.   Units: buckets.   Errors: more buckets than the capacity, a capacity
// that is no power of two, or a removal of one that is not in use, aborts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace neliroute::placement {

class Dx {
 public:
  /// No bucket is in use at first; add() takes 0, 1, ... and then those that were removed last.
  explicit Dx(std::uint32_t capacity);

  std::uint32_t add();
  void remove(std::uint32_t bucket);
  /// The bucket of a hash; one must be in use.
  [[nodiscard]] std::uint32_t find(std::uint64_t hash) const;
  [[nodiscard]] std::size_t memory() const noexcept;

 private:
  [[nodiscard]] bool in_use(std::uint32_t bucket) const noexcept {
    return (bits_[bucket / 64] >> (bucket % 64) & 1) != 0;
  }

  std::uint32_t capacity_;
  std::vector<std::uint64_t> bits_;
  std::vector<std::uint32_t> free_;  // a stack
};

}  // namespace neliroute::placement
