#include "bench/placements/hash/maglev.h"

#include <algorithm>
#include <numeric>

#include "bench/placements/hash/mix.h"

namespace neliroute::placement {
namespace {

/// A member's walk over the table.
struct Walk {
  MemberId member = kNobody;
  std::uint32_t weight = 1;
  std::uint32_t at = 0;
  std::uint32_t skip = 1;
};

Walk walk_of(MemberId member, std::uint32_t weight, std::uint64_t hash, std::uint32_t entries) {
  Walk walk{member, weight, static_cast<std::uint32_t>(hash_words(hash, 1) % entries), 1};
  if (entries > 2) {
    walk.skip = static_cast<std::uint32_t>(hash_words(hash, 2) % (entries - 1)) + 1;
    // If T is a prime, as in the paper, every skip is coprime to it already.
    while (std::gcd(walk.skip, entries) != 1) ++walk.skip;
  }
  return walk;
}

}  // namespace

Maglev::Maglev(const Setting& setting, std::uint32_t entries)
    : Placement(setting), entries_(entries == 0 ? setting.items : entries) {
  if (entries == 0) return;
  entry_of_.resize(setting.items);
  for (std::uint32_t item = 0; item < setting.items; ++item) {
    entry_of_[item] = static_cast<std::uint32_t>(item_hash(item, setting.seed) % entries);
  }
}

void Maglev::fill(std::vector<MemberId>& table) const {
  std::vector<Walk> walks;
  std::uint32_t heaviest = 1;
  for (const MemberId member : sorted_by_name()) {
    walks.push_back(walk_of(member, weight_of(member), hash_of(member), entries_));
    heaviest = std::max(heaviest, weight_of(member));
  }
  table.assign(entries_, kNobody);
  std::uint32_t filled = 0;
  for (std::uint64_t round = 0; filled < entries_; ++round) {
    for (Walk& walk : walks) {
      const bool turn =
          (round + 1) * walk.weight / heaviest > round * walk.weight / heaviest;
      if (!turn) continue;
      while (table[walk.at] != kNobody) {
        walk.at = static_cast<std::uint32_t>((std::uint64_t{walk.at} + walk.skip) % entries_);
      }
      table[walk.at] = walk.member;
      if (++filled == entries_) return;
    }
  }
}

void Maglev::update(std::span<const MemberId>, std::span<const MemberId>) {
  if (members().empty()) return;
  if (entry_of_.empty()) return fill(owners_);
  std::vector<MemberId> table;
  fill(table);
  for (std::uint32_t item = 0; item < setting().items; ++item) {
    owners_[item] = table[entry_of_[item]];
  }
}

}  // namespace neliroute::placement
