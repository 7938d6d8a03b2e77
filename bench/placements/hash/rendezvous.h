// Rendezvous (highest random weight): an item belongs to the member with the highest score for it.
//
// The score is a hash u of item and member, in (0, 1); with weights it is -w / ln(u). Each item
// keeps its best score, so a join costs one hash per item, and a leave one per member for each item
// of the leaving member.
//
// Memory: 16 B per item, 8 B per member.   Cost: O(S) per join or leave; O(S P) for the first
// placement.
// Promise: excess 0; multinomial imbalance, CV sqrt((P-1)/S).
// Source: Thaler, Ravishankar, "A Name-Based Mapping Scheme for Rendezvous", 1996; the weights
// are Schindelhauer and Schomaker's, 2005.
//
// Threads: one at a time.   Units: items.   Errors: see placement.h.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bench/placements/placement.h"

namespace neliroute::placement {

class Rendezvous final : public Placement {
 public:
  explicit Rendezvous(const Setting& setting);

 private:
  /// A contender: what the inner loop reads.
  struct Entry {
    std::uint64_t hash = 0;
    MemberId member = kNobody;
    std::uint32_t weight = 1;
  };

  void update(std::span<const MemberId> leaving, std::span<const MemberId> joining) override;
  [[nodiscard]] std::size_t own_memory() const override;
  [[nodiscard]] std::vector<Entry> entries(std::span<const MemberId> members) const;
  void contend(std::uint32_t item, std::span<const Entry> entries);

  std::vector<std::uint64_t> hashes_;  // by item
  std::vector<std::uint64_t> best_;    // by item: the owner's hash
};

}  // namespace neliroute::placement
