#include "bench/placements/kafka/round_robin.h"

namespace neliroute::placement {

std::vector<MemberId> assign_round_robin(std::uint32_t partitions,
                                         std::span<const MemberId> sorted) {
  std::vector<MemberId> owners(partitions);
  for (std::uint32_t p = 0; p < partitions; ++p) owners[p] = sorted[p % sorted.size()];
  return owners;
}

void KafkaRoundRobin::update(std::span<const MemberId>, std::span<const MemberId>) {
  if (!members().empty()) owners_ = assign_round_robin(setting().items, sorted_by_name());
}

}  // namespace neliroute::placement
