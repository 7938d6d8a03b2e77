#include "metrics/fair_shares.h"

#include <iterator>

#include "neli_core/record/partition_ranges.h"

namespace neliroute {

void FairShares::take(const AssignmentNews& news) {
  for (const ObservedMember& member : news.members) members_[member.peer->id] = member;
  for (const ProcessId id : news.gone) members_.erase(id);
  pins_.clear();
  if (!news.overrides) return;
  for (const auto& [name, text] : news.overrides->pins) {
    const auto pinned = PartitionRanges::parse(text);
    if (pinned) pins_[name] = static_cast<double>(pinned->size());
  }
}

// Those that are to own something; if nobody is, each keeps what it leads, and all count alike.
std::map<ProcessId, FairShares::Share> FairShares::takers() const {
  std::map<ProcessId, Share> shares;
  std::map<std::string, double> namesakes;
  for (const bool all : {false, true}) {
    for (const auto& [id, member] : members_) {
      const bool takes = !member.cordoned && member.weight > 0;
      if (member.state != MemberState::living || !(takes || all)) continue;
      shares[id].weight = all ? 1 : member.weight;
      ++namesakes[member.peer->info.name];
    }
    if (!shares.empty()) break;
  }
  for (auto& [id, share] : shares) {
    const std::string& name = members_.at(id).peer->info.name;
    if (const auto pin = pins_.find(name); pin != pins_.end()) {
      share.pinned = pin->second / namesakes[name];
    }
  }
  return shares;
}

// Who must have more than its share by pins takes nothing else, and the others share what is left.
double FairShares::of(ProcessId id) const {
  std::map<ProcessId, Share> sharing = takers();
  double left = partitions_;
  while (sharing.contains(id)) {
    double weights = 0;
    for (const auto& [each, share] : sharing) weights += share.weight;
    const double unit = left / weights;
    const Share own = sharing.at(id);
    const std::size_t before = sharing.size();
    for (auto at = sharing.begin(); at != sharing.end();) {
      const bool full = at->second.pinned > at->second.weight * unit;
      if (full) left -= at->second.pinned;
      at = full ? sharing.erase(at) : std::next(at);
    }
    if (!sharing.contains(id)) return own.pinned;
    if (sharing.size() == before) return own.weight * unit;
  }
  return 0;
}

}  // namespace neliroute
