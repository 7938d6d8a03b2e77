// MementoHash: jump, and a memory of the buckets that were removed from its middle.
//
// Memory: a hash map entry for each bucket removed, about 40 B.
// Cost: O(1) per change; S jumps and the replacements of removed buckets to look up all items.
// Promise: excess 0; multinomial imbalance. A join takes the bucket that was removed last, so the
// result depends on the history: all processes that look up must replay the changes in one order.
// Source: Coluzzi, Brocco, Antonucci, Leidi, "MementoHash: A Stateful, Minimal Memory, Best
// Performing Consistent Hash Algorithm", 2023.
//
// Threads: one at a time.   Units: buckets.   Errors: a removal of one that is not in use aborts.
#pragma once

#include <cstddef>
#include <cstdint>
#include <unordered_map>

namespace neliroute::placement {

class Memento {
 public:
  std::uint32_t add();
  void remove(std::uint32_t bucket);
  /// The bucket of a hash; one must be in use.
  [[nodiscard]] std::uint32_t find(std::uint64_t hash) const;
  [[nodiscard]] std::size_t memory() const noexcept;

 private:
  struct Removed {
    std::uint32_t left = 0;      ///< how many were in use after its removal; also its replacement
    std::uint32_t previous = 0;  ///< what was removed before it
  };

  std::uint32_t size_ = 0;          // of jump's array
  std::uint32_t last_removed_ = 0;  // size_, if nothing is removed
  std::unordered_map<std::uint32_t, Removed> removed_;
};

}  // namespace neliroute::placement
