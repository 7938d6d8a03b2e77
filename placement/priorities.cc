#include "placement/priorities.h"

#include <neliroute/detail/assert.h>

namespace neliroute::placement {

std::vector<ReplicaPriority> priorities(std::uint32_t nodes, Partition partition,
                                        std::uint32_t replicas) {
  NELIROUTE_ASSERT(replicas > 0 && replicas <= nodes,
                   "there must be replicas, and no more of them than nodes");
  const std::uint32_t primary = partition.value() % nodes;
  const bool falling = partition.value() / nodes % 2 == 0;
  std::vector<ReplicaPriority> group{{primary, replicas}};
  group.reserve(replicas);
  for (std::uint32_t i = 1; i < replicas; ++i) {
    const auto node = static_cast<MemberId>((std::uint64_t{primary} + i) % nodes);
    group.push_back({node, falling ? replicas - i : i});
  }
  return group;
}

}  // namespace neliroute::placement
