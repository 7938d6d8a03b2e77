// MementoHash: jump, and a memory of the buckets that were removed from its middle.
//
// Memory: an entry of a hash map for each bucket removed, about 40 B.
// Cost: O(1) a change; S jumps and the replacements of removed buckets to look all up.
// Promise: excess 0; multinomial imbalance. Joins take the buckets that were removed last first,
// so the result depends on the history: all who look up must replay one order of changes.
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
    std::uint32_t left = 0;      ///< how many were in use after it was removed; who replaces it
    std::uint32_t previous = 0;  ///< what was removed before it
  };

  std::uint32_t size_ = 0;          // of jump's array
  std::uint32_t last_removed_ = 0;  // size_, if nothing is removed
  std::unordered_map<std::uint32_t, Removed> removed_;
};

}  // namespace neliroute::placement
