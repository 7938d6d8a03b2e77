// Uniform: the broker's default assignor of the consumer protocol (KIP-848), for a group whose
// members all subscribe to one topic. Two versions, which differ in which members get one partition
// more.
//
// 4.0: the first M mod P members of the walk get the ceiling, no matter which held it before, so
// partitions move without need: at most that many times (1 - M mod P / P), if the walk reshuffles.
// 4.1 (KAFKA-18688): a member that does not hold the ceiling leaves it to the others, unless those
// that remain in the walk are just enough; the least possible moves.
//
// Memory: none besides the owners.   Cost: O(M + P log P) per change.
// Promise: balance; 4.1 moves exactly the least, 4.0 up to M mod P more.
// Not known: the walk is that of a Java HashMap of member ids (java_order.h says what of it is not
// modelled); which of its partitions a member gives up is a HashSet<Integer>'s order, ascending
// here, which is Java's too as long as no partition is above the set's buckets. A member of real
// Kafka has a random UUID for its id; here it is its name. Revoking and acknowledging takes time
// that only the simulation knows.
//
// Threads: one at a time.   Units: partitions.   Errors: see placement.h.
#pragma once

#include <span>
#include <vector>

#include "bench/placements/placement.h"

namespace neliroute::placement {

enum class UniformVersion : bool { kafka_4_0, kafka_4_1 };

class KafkaUniform final : public Placement {
 public:
  KafkaUniform(const Setting& setting, UniformVersion version)
      : Placement(setting), version_(version) {}

 private:
  void update(std::span<const MemberId> leaving, std::span<const MemberId> joining) override;
  [[nodiscard]] std::size_t own_memory() const override { return 0; }
  /// How many each may have, by roster, and who holds how many now.
  [[nodiscard]] std::vector<std::uint32_t> quotas(const std::vector<MemberId>& walk,
                                                  const std::vector<std::uint32_t>& held) const;

  UniformVersion version_;
};

}  // namespace neliroute::placement
