// Maglev: a table that members fill in turns, each along its own permutation.
//
// A member's permutation is (offset + j skip) mod T, skip prime to T; weight w takes w turns where
// the heaviest, w_max, takes w_max. Without a table size the items are the table, one entry each;
// with one, an item reads entry hash mod T, and T should be 100 times the members or more.
//
// Memory: 4 B per entry, besides the owners.   Cost: O(T log T) per change, always from scratch.
// Promise: balance within one entry; excess above 0, about 0.3 of the least.
// Source: Eisenbud et al., "Maglev", NSDI 2016, section 3.4.
//
// Threads: one at a time.   Units: entries.   Errors: see placement.h.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bench/placements/placement.h"

namespace neliroute::placement {

class Maglev final : public Placement {
 public:
  /// `entries` is T; 0: the items are the table.
  Maglev(const Setting& setting, std::uint32_t entries);

 private:
  void update(std::span<const MemberId> leaving, std::span<const MemberId> joining) override;
  [[nodiscard]] std::size_t own_memory() const override { return bytes_of(entry_of_); }
  void fill(std::vector<MemberId>& table) const;

  std::uint32_t entries_;
  std::vector<std::uint32_t> entry_of_;  // by item; empty: the items are the table
};

}  // namespace neliroute::placement
