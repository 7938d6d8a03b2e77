// AnchorHash: a fixed capacity of buckets. An item whose bucket is not in use is rehashed among the
// buckets that were in use when that one was removed, again and again.
//
// Memory: 20 B per bucket of the capacity.
// Cost: O(1) per change, O(S (1 + ln(a/w))^2) to look up all items.
// Promise: excess 0; multinomial imbalance. A join takes the bucket that was removed last, so the
// result depends on the history: all processes that look up must replay the changes in one order.
// Source: Mendelson et al., "AnchorHash: A Scalable Consistent Hash", 2020, algorithm 3.
//
// Threads: one at a time.   Units: buckets.   Errors: more buckets than the capacity, or a removal
// of one that is not in use, aborts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace neliroute::placement {

class Anchor {
 public:
  /// No bucket is in use at first; add() takes 0, 1, ...
  explicit Anchor(std::uint32_t capacity);

  std::uint32_t add();
  void remove(std::uint32_t bucket);
  /// The bucket of a hash; one must be in use.
  [[nodiscard]] std::uint32_t find(std::uint64_t hash) const;
  [[nodiscard]] std::size_t memory() const noexcept;

 private:
  std::uint32_t in_use_ = 0;
  std::vector<std::uint32_t> removed_;    // a stack
  std::vector<std::uint32_t> left_then_;  // A: 0 if in use, else how many were after its removal
  std::vector<std::uint32_t> successor_;  // K: which took its place in the list of those in use
  std::vector<std::uint32_t> in_place_;   // W: the list of those in use
  std::vector<std::uint32_t> place_;      // L: where each last was in that list
};

}  // namespace neliroute::placement
