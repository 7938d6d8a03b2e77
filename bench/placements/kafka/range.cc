#include "bench/placements/kafka/range.h"

namespace neliroute::placement {

std::vector<MemberId> assign_range(std::uint32_t partitions, std::span<const MemberId> sorted) {
  const auto count = static_cast<std::uint32_t>(sorted.size());
  const std::uint32_t each = partitions / count;
  const std::uint32_t extras = partitions % count;
  std::vector<MemberId> owners;
  owners.reserve(partitions);
  for (std::uint32_t rank = 0; rank < count; ++rank) {
    owners.insert(owners.end(), rank < extras ? each + 1 : each, sorted[rank]);
  }
  return owners;
}

void KafkaRange::update(std::span<const MemberId>, std::span<const MemberId>) {
  if (!members().empty()) owners_ = assign_range(setting().items, sorted_by_name());
}

}  // namespace neliroute::placement
