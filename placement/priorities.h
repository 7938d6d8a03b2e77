// priorities(): which node should lead each of several replicated partitions, and which one next if
// that one is gone. For an election among a partition's replicas, as Raft has: the replica of the
// highest priority should stand first. No part of neliroute elects so yet; plan.h is what its
// assigner uses.
//
// The replicas of partition p are on the nodes p, p+1, ... (mod nodes). The first of them is the
// primary and has priority `replicas`, so primaries are spread evenly. In the first round over the
// nodes the others have replicas-1 to 1 in this order, in the second 1 to replicas-1, and so on in
// turn. So with three replicas or more, what a dead node led goes in halves to two others.
//
// Memory: O(replicas).   Cost: O(replicas).
// Source: Zeebe, "Priority based election"; its partitions count from 1, these from 0.
//
// Threads: pure, any.   Units: nodes, partitions.
// Errors: no replicas, or more of them than nodes, aborts.
#pragma once

#include <cstdint>
#include <neliroute/ids.h>
#include <vector>

#include "placement/member.h"

namespace neliroute::placement {

struct ReplicaPriority {
  MemberId node = 0;
  std::uint32_t priority = 0;  ///< 1 to the number of replicas; no two are equal
  friend bool operator==(const ReplicaPriority&, const ReplicaPriority&) = default;
};

/// Of each replica, the primary's first.
[[nodiscard]] std::vector<ReplicaPriority> priorities(std::uint32_t nodes, Partition partition,
                                                      std::uint32_t replicas);

}  // namespace neliroute::placement
