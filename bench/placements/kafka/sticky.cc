#include "bench/placements/kafka/sticky.h"

#include <algorithm>
#include <deque>

#include "bench/placements/kafka/java_order.h"

namespace neliroute::placement {

void KafkaSticky::give(std::uint32_t partition, MemberId member) {
  held_[member].push_back(partition);
  owners_[partition] = member;
}

void KafkaSticky::update(std::span<const MemberId> leaving, std::span<const MemberId>) {
  for (const MemberId member : leaving) std::vector<std::uint32_t>().swap(held_[member]);
  if (members().empty()) return;
  const auto count = static_cast<std::uint32_t>(members().size());
  const std::uint32_t floor = setting().items / count;
  std::uint32_t extras = setting().items % count;
  std::vector<MemberId> walk = members();
  sort_as_java_map(walk, setting().roster);
  std::vector<MemberId> short_of;  // those with less than the floor
  std::vector<MemberId> level;     // those with the floor, which may get one more
  std::fill(owners_.begin(), owners_.end(), kNobody);
  for (const MemberId member : walk) {
    std::vector<std::uint32_t>& own = held_[member];
    if (own.size() < floor) {
      short_of.push_back(member);
    } else if (own.size() > floor && extras > 0) {
      --extras;
      own.resize(floor + 1);
    } else {
      own.resize(floor);
      level.push_back(member);
    }
    for (const std::uint32_t partition : own) owners_[partition] = member;
  }
  const auto by_name = [this](MemberId a, MemberId b) {
    return setting().roster[a].name < setting().roster[b].name;
  };
  std::sort(short_of.begin(), short_of.end(), by_name);
  std::sort(level.begin(), level.end(), by_name);
  // In rounds, one partition each; a member that reaches the floor joins the end of `level`.
  std::deque<MemberId> turn(short_of.begin(), short_of.end());
  std::size_t next_level = 0;
  for (std::uint32_t partition = 0; partition < setting().items; ++partition) {
    if (owners_[partition] != kNobody) continue;
    if (turn.empty()) {
      give(partition, level[next_level++]);
      continue;
    }
    const MemberId member = turn.front();
    turn.pop_front();
    give(partition, member);
    if (held_[member].size() == floor) {
      level.push_back(member);
    } else {
      turn.push_back(member);
    }
  }
}

std::size_t KafkaSticky::own_memory() const {
  std::size_t sum = bytes_of(held_);
  for (const auto& one : held_) sum += bytes_of(one);
  return sum;
}

}  // namespace neliroute::placement
