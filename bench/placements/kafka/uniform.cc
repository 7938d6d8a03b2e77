#include "bench/placements/kafka/uniform.h"

#include <algorithm>

#include "bench/placements/kafka/java_order.h"

namespace neliroute::placement {

std::vector<std::uint32_t> KafkaUniform::quotas(const std::vector<MemberId>& walk,
                                                const std::vector<std::uint32_t>& held) const {
  const auto count = static_cast<std::uint32_t>(walk.size());
  const std::uint32_t floor = setting().items / count;
  std::uint32_t extras = setting().items % count;
  std::vector<std::uint32_t> quotas(setting().roster.size());
  for (std::uint32_t at = 0; at < count; ++at) {
    const bool filled = held[walk[at]] > floor;
    const bool others_can = count - at > extras;
    const bool takes = extras > 0 && (version_ == UniformVersion::kafka_4_0 || filled ||
                                      !others_can);
    quotas[walk[at]] = takes ? floor + 1 : floor;
    extras -= takes ? 1 : 0;
  }
  return quotas;
}

void KafkaUniform::update(std::span<const MemberId>, std::span<const MemberId>) {
  if (members().empty()) return;
  std::vector<MemberId> walk = members();
  sort_as_java_map(walk, setting().roster);
  std::vector<std::uint32_t> held(setting().roster.size());
  std::vector<std::uint32_t> unassigned;
  for (std::uint32_t partition = 0; partition < setting().items; ++partition) {
    MemberId& owner = owners_[partition];
    if (owner != kNobody && !is_member(owner)) owner = kNobody;
    if (owner == kNobody) {
      unassigned.push_back(partition);
    } else {
      ++held[owner];
    }
  }
  const std::vector<std::uint32_t> quota = quotas(walk, held);
  // Partitions above a quota follow those that nobody had, in the order of the walk.
  std::vector<std::size_t> place(setting().roster.size());
  for (std::size_t at = 0; at < walk.size(); ++at) place[walk[at]] = at;
  std::vector<std::uint32_t> kept(setting().roster.size());
  std::vector<std::uint32_t> revoked;
  for (std::uint32_t partition = 0; partition < setting().items; ++partition) {
    const MemberId owner = owners_[partition];
    if (owner != kNobody && ++kept[owner] > quota[owner]) revoked.push_back(partition);
  }
  std::stable_sort(revoked.begin(), revoked.end(), [&](std::uint32_t a, std::uint32_t b) {
    return place[owners_[a]] < place[owners_[b]];
  });
  unassigned.insert(unassigned.end(), revoked.begin(), revoked.end());
  std::size_t next = 0;
  for (const MemberId member : walk) {
    for (std::uint32_t has = std::min(held[member], quota[member]);
         has < quota[member] && next < unassigned.size(); ++has) {
      owners_[unassigned[next++]] = member;
    }
  }
}

}  // namespace neliroute::placement
