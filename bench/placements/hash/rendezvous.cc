#include "bench/placements/hash/rendezvous.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "bench/placements/hash/mix.h"

namespace neliroute::placement {
namespace {

/// Both are hashes of 64 good bits already, so one multiplication mixes them enough, and the first
/// placement of many members is nothing but this line.
std::uint64_t mixed(std::uint64_t item, std::uint64_t member) noexcept {
  return folded_product(item, member);
}

double score(std::uint64_t hash, std::uint32_t weight) noexcept {
  const double u = (static_cast<double>(hash >> 11) + 0.5) * 0x1p-53;
  return -static_cast<double>(weight) / std::log(u);
}

}  // namespace

Rendezvous::Rendezvous(const Setting& setting)
    : Placement(setting), hashes_(setting.items), best_(setting.items) {
  for (std::uint32_t item = 0; item < setting.items; ++item) {
    hashes_[item] = item_hash(item, setting.seed);
  }
}

std::vector<Rendezvous::Entry> Rendezvous::entries(std::span<const MemberId> members) const {
  std::vector<Entry> made;
  made.reserve(members.size());
  for (const MemberId member : members) {
    made.push_back({hash_of(member), member, weight_of(member)});
  }
  // Equal weights are adjacent: among them only hashes are compared, without a logarithm.
  std::stable_sort(made.begin(), made.end(),
                   [](const Entry& a, const Entry& b) { return a.weight < b.weight; });
  return made;
}

void Rendezvous::contend(std::uint32_t item, std::span<const Entry> entries) {
  MemberId& owner = owners_[item];
  for (std::size_t at = 0; at < entries.size();) {
    const std::uint32_t weight = entries[at].weight;
    std::uint64_t best = 0;
    MemberId who = kNobody;
    for (; at < entries.size() && entries[at].weight == weight; ++at) {
      const std::uint64_t hash = mixed(hashes_[item], entries[at].hash);
      if (who == kNobody || hash > best) {
        best = hash;
        who = entries[at].member;
      }
    }
    const bool wins = owner == kNobody ||
                      (weight_of(owner) == weight
                           ? best > best_[item]
                           : score(best, weight) > score(best_[item], weight_of(owner)));
    if (wins) {
      owner = who;
      best_[item] = best;
    }
  }
}

void Rendezvous::update(std::span<const MemberId> leaving, std::span<const MemberId> joining) {
  const std::vector<Entry> everybody = leaving.empty() ? std::vector<Entry>{} : entries(members());
  const std::vector<Entry> newcomers = entries(joining);
  for (std::uint32_t item = 0; item < setting().items; ++item) {
    MemberId& owner = owners_[item];
    if (owner != kNobody && !is_member(owner)) {
      owner = kNobody;
      contend(item, everybody);
    } else {
      contend(item, newcomers);
    }
  }
}

std::size_t Rendezvous::own_memory() const { return bytes_of(hashes_) + bytes_of(best_); }

}  // namespace neliroute::placement
