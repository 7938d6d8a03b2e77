#include "tool/watch/watch_model.h"

#include <algorithm>
#include <map>
#include <utility>

#include "slots/partition.h"

namespace neliroute::tool {
namespace {

// Moves of one cause occur within this time: records are read one after another.
constexpr milliseconds kSameMoment{250};

/// Whether it lives and goes on, as far as is known.
bool stays(const OwnerRow& owner) {
  return owner.partitions.size() > owner.handing || owner.coming > 0 ||
         (owner.member && owner.member->state == MemberState::living);
}

bool same(const PeerPtr& a, const PeerPtr& b) { return a == b || (a && b && a->id == b->id); }

}  // namespace

const PeerPtr& next_of(const ObservedRoute& route) {
  return route.next ? route.next : route.designee;
}

bool is_owned(const ObservedRoute& route) {
  return route.verdict == Verdict::remote || route.verdict == Verdict::local;
}

void WatchModel::on_view(const ViewChange& change) {
  for (const ChangedRoute& one : change.routes) {
    PartitionRow& row = rows_[one.partition.value()];
    note_move(row, one.partition, one.route, change.at);
    if (!same(row.route.owner, one.route.owner)) row.heard = microseconds{0};
    row.route = one.route;
  }
  ++version_;
}

void WatchModel::on_assignment(const AssignmentNews& news) {
  assigned_ = true;
  assigner_ = news.assigner;
  overrides_ = news.overrides;
  for (const ObservedMember& member : news.members) members_[member.peer->id] = member;
  for (const ProcessId id : news.gone) members_.erase(id);
  ++version_;
}

void WatchModel::note_move(PartitionRow& row, Partition partition, const ObservedRoute& now,
                           LocalTime at) {
  if (now.verdict == Verdict::unknown) return;  // nothing is known to have moved
  const PeerPtr before = row.last_owner;
  if (now.owner) {
    row.last_owner = now.owner;
    const LocalTime lost_at = std::exchange(row.lost_at, kLongAgo);
    const bool waited = lost_at != kLongAgo;
    if (!before || (same(before, now.owner) && !waited)) return;
    add_move(partition, {at, before, now.owner, {}, waited ? at - lost_at : microseconds{0}});
  } else if (before && row.lost_at == kLongAgo) {
    row.lost_at = at;
    add_move(partition, {at, before, nullptr, {}, microseconds{0}});
  }
}

void WatchModel::add_move(Partition partition, MoveRow move) {
  const auto fits = [&](const MoveRow& known) {
    return same(known.from, move.from) && same(known.to, move.to);
  };
  // Of one moment there are at most as many rows as directions.
  auto known = moves_.begin();
  while (known != moves_.end() && move.at - known->at <= kSameMoment && !fits(*known)) ++known;
  if (known != moves_.end() && move.at - known->at <= kSameMoment) {
    known->partitions.insert(partition);
    known->unowned = std::max(known->unowned, move.unowned);
    return;
  }
  move.partitions.insert(partition);
  moves_.push_front(std::move(move));
  if (moves_.size() > kMovesKept) moves_.pop_back();
}

void WatchModel::hear(const std::vector<microseconds>& heard) {
  for (std::size_t p = 0; p < rows_.size(); ++p) rows_[p].heard = heard[p];
  ++version_;
}

const WatchSummary& WatchModel::summary() const {
  if (summed_up_ != version_) summary_ = sum_up();
  summed_up_ = version_;
  return summary_;
}

WatchSummary WatchModel::sum_up() const {
  WatchSummary sum;
  std::map<ProcessId, OwnerRow> all;
  const auto of = [&all](const PeerPtr& peer) -> OwnerRow& {
    OwnerRow& owner = all[peer->id];
    if (!owner.peer) owner.peer = peer;
    return owner;
  };
  const auto count = static_cast<std::uint32_t>(rows_.size());
  for (std::uint32_t p = 0; p < count; ++p) {
    const ObservedRoute& route = rows_[p].route;
    const std::uint32_t slots = slots_on_partition(p, slots_, count);
    const PeerPtr& next = next_of(route);
    const bool moves = route.draining || next;
    sum.slots[static_cast<std::size_t>(route.verdict)] += slots;
    sum.moving += moves ? 1U : 0U;
    if (next) ++of(next).coming;
    if (!route.owner) continue;
    OwnerRow& owner = of(route.owner);
    owner.partitions.insert(Partition{p});
    owner.slots += slots;
    owner.handing += moves ? 1U : 0U;
    owner.newest_epoch = std::max(owner.newest_epoch, route.epoch);
    owner.heard = std::max(owner.heard, rows_[p].heard);
  }
  for (const auto& [id, member] : members_) of(member.peer).member = member;
  std::map<std::string, int> stated;
  for (const auto& [id, owner] : all) {
    if (stays(owner)) ++stated[owner.peer->info.endpoint];
  }
  for (auto& [id, owner] : all) {
    const std::string& endpoint = owner.peer->info.endpoint;
    owner.endpoint_shared = stays(owner) && !endpoint.empty() && stated[endpoint] > 1;
    sum.sharing += owner.slots > 0 || owner.coming > 0 ? 1U : 0U;
    sum.owners.push_back(std::move(owner));
  }
  std::stable_sort(sum.owners.begin(), sum.owners.end(), [](const OwnerRow& a, const OwnerRow& b) {
    return a.slots != b.slots ? a.slots > b.slots : a.peer->info.name < b.peer->info.name;
  });
  return sum;
}

}  // namespace neliroute::tool
