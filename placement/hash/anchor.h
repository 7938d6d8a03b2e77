// AnchorHash: a fixed capacity of buckets; an item whose bucket is not in use goes on into what was
// in use when that bucket was removed, again and again.
//
// Memory: 20 B a bucket of the capacity.
// Cost: O(1) a change, O(S (1 + ln(a/w))^2) to look all up.
// Promise: excess 0; multinomial imbalance. Joins take the buckets that were removed last first,
// so the result depends on the history: all who look up must replay one order of changes.
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
  std::vector<std::uint32_t> successor_;  // K: who took its place in the list of those in use
  std::vector<std::uint32_t> in_place_;   // W: the list of those in use
  std::vector<std::uint32_t> place_;      // L: where each last was in that list
};

}  // namespace neliroute::placement
