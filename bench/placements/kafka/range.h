// Range: Kafka's RangeAssignor, librdkafka's default; since 3.9 the broker's `range`, too.
//
// Members sorted by id get consecutive blocks; the first M mod P of them get one partition more. A
// joining member shifts all blocks after it: 1/4 to 1/2 of everything moves, where 1/(P+1) would
// do.
//
// Memory: none.   Cost: O(M + P log P) per change.   Promise: balance; much excess.
// Source: KIP-54's comparison; hashing.md 4.2 (one topic, all subscribed).
//
// Threads: one at a time.   Units: partitions.   Errors: see placement.h.
#pragma once

#include <span>
#include <vector>

#include "bench/placements/placement.h"

namespace neliroute::placement {

/// The owner of every partition; `sorted` are the members in the order of their ids, one at least.
[[nodiscard]] std::vector<MemberId> assign_range(std::uint32_t partitions,
                                                 std::span<const MemberId> sorted);

class KafkaRange final : public Placement {
 public:
  explicit KafkaRange(const Setting& setting) : Placement(setting) {}

 private:
  void update(std::span<const MemberId> leaving, std::span<const MemberId> joining) override;
  [[nodiscard]] std::size_t own_memory() const override { return 0; }
};

}  // namespace neliroute::placement
