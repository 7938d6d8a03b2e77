// Jump: computes an item's bucket from the number of buckets alone.
//
// Buckets are the members in the order in which they joined. Only the last can leave without moving
// more than its own items: when another leaves, all after it move down one bucket, as in a list of
// servers, and most items change owner.
//
// Memory: 8 B per item (its hash).   Cost: O(S log P) per change.
// Promise: excess 0 for joins and for leaves of the newest; much excess for any other leave.
// Source: Lamping, Veach, "A Fast, Minimal Memory, Consistent Hash Algorithm", 2014.
//
// Threads: one at a time.   Units: buckets.   Errors: see placement.h; no buckets aborts.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bench/placements/placement.h"

namespace neliroute::placement {

/// The bucket of a hash, 0..buckets-1.
[[nodiscard]] std::uint32_t jump_hash(std::uint64_t hash, std::uint32_t buckets);

class Jump final : public Placement {
 public:
  explicit Jump(const Setting& setting);

 private:
  void update(std::span<const MemberId> leaving, std::span<const MemberId> joining) override;
  [[nodiscard]] std::size_t own_memory() const override { return bytes_of(hashes_); }

  std::vector<std::uint64_t> hashes_;
};

}  // namespace neliroute::placement
