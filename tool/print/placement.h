// Who owns how much, and how much had to move.
//
// Threads: pure functions, any.   Units: partitions, slots.   Errors: none.
#pragma once

#include <cstdint>
#include <neliroute/ids.h>
#include <neliroute/route.h>
#include <neliroute/time.h>
#include <set>
#include <string>
#include <vector>

#include "neli_core/record/partition_ranges.h"

namespace neliroute::tool {

/// The owner's name of every partition; empty: nobody, as far as is known.
using Owners = std::vector<std::string>;

[[nodiscard]] Owners owners_of(const std::vector<Route>& view);

/// What one owner has.
struct Holding {
  std::string owner;
  std::string endpoint;
  PartitionRanges partitions;
  std::uint64_t slots = 0;
  Epoch newest_epoch = kNoEpoch;
  /// How long to believe the least certain of its partitions.
  microseconds valid_for{0};
};

/// By owner's name and endpoint, in that order: two processes of one name are two owners.
[[nodiscard]] std::vector<Holding> holdings_of(const std::vector<Route>& view, SlotCount slots);

/// How many slots the partitions carry together.
[[nodiscard]] std::uint64_t slots_on(const std::vector<std::uint32_t>& partitions, SlotCount slots,
                                     std::uint32_t partition_count);

/// The partitions that had an owner and have another one, or none, now.
[[nodiscard]] std::vector<std::uint32_t> moved(const Owners& before, const Owners& after);

/// The least number of partitions that must change owner for these to own equally many, give or
/// take one. A partition must move if it has no owner, or one that is not among them.
[[nodiscard]] std::size_t least_moves(const Owners& before, const std::set<std::string>& owners);

}  // namespace neliroute::tool
