// Round robin: Kafka's RoundRobinAssignor. Partition p goes to the member of rank p mod P.
//
// Memory: none.   Cost: O(M + P log P) per change.   Promise: balance; moves nearly everything.
// Source: hashing.md 4.3 (one topic, all subscribed).
//
// Threads: one at a time.   Units: partitions.   Errors: see placement.h.
#pragma once

#include <span>
#include <vector>

#include "bench/placements/placement.h"

namespace neliroute::placement {

/// The owner of every partition; `sorted` are the members in the order of their ids, one at least.
[[nodiscard]] std::vector<MemberId> assign_round_robin(std::uint32_t partitions,
                                                       std::span<const MemberId> sorted);

class KafkaRoundRobin final : public Placement {
 public:
  explicit KafkaRoundRobin(const Setting& setting) : Placement(setting) {}

 private:
  void update(std::span<const MemberId> leaving, std::span<const MemberId> joining) override;
  [[nodiscard]] std::size_t own_memory() const override { return 0; }
};

}  // namespace neliroute::placement
