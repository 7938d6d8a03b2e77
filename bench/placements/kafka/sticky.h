// Sticky: what Kafka's StickyAssignor and CooperativeStickyAssignor decide in Java 2.5 and later,
// where all members subscribe to the same topic.
//
// Members keep what they have, up to the ceiling for the first M mod P of them that have as much,
// else up to the floor; what is left goes round those that are short, sorted by id, then round
// those that may have one more. That is the least possible (hashing.md 4.4).
//
// Memory: the lists of partitions, 4 B each.   Cost: O(M + P log P) per change.
// Promise: balance, and exactly the least moves; excess 0 from a balanced start.
// Not modelled: racks, members that claim one partition twice, generations; the order in which the
// group's members are walked is java_order.h's, with what is not known of it.
// Not to be confused with librdkafka's port of the older general algorithm.
//
// Threads: one at a time.   Units: partitions.   Errors: see placement.h.
#pragma once

#include <span>
#include <vector>

#include "bench/placements/placement.h"

namespace neliroute::placement {

class KafkaSticky final : public Placement {
 public:
  explicit KafkaSticky(const Setting& setting)
      : Placement(setting), held_(setting.roster.size()) {}

 private:
  void update(std::span<const MemberId> leaving, std::span<const MemberId> joining) override;
  [[nodiscard]] std::size_t own_memory() const override;
  void give(std::uint32_t partition, MemberId member);

  std::vector<std::vector<std::uint32_t>> held_;  // by roster, in the order of assignment
};

}  // namespace neliroute::placement
