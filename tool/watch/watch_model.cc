#include "tool/watch/watch_model.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "slots/partition.h"

namespace neliroute::tool {
namespace {

// Moves of one cause occur within this time: records are read one after another.
constexpr milliseconds kSameMoment{250};

/// How much it is to own beside the others.
std::uint64_t weight_of(const ObservedMember& member) {
  const bool takes = member.state == MemberState::living && !member.cordoned &&
                     !member.on_probation;
  return takes ? member.weight : 0;
}

/// Whether it lives and goes on, as far as is known.
bool stays(const OwnerRow& owner) {
  return owner.partitions > owner.draining || owner.coming > 0 ||
         (owner.member && owner.member->state == MemberState::living);
}

bool same(const PeerPtr& a, const PeerPtr& b) { return a == b || (a && b && a->id == b->id); }

}  // namespace

WatchModel::WatchModel(SlotCount slots, std::uint32_t partitions)
    : slots_(slots), rows_(partitions) {
  for (std::uint32_t p = 0; p < partitions; ++p) {
    rows_[p].slots = slots_on_partition(p, slots, partitions);
  }
}

void WatchModel::take(const ViewChange& change) {
  for (const ChangedRoute& one : change.routes) {
    PartitionRow& row = rows_[one.partition.value()];
    note_move(row, one.partition, one.route, change.at);
    if (!same(row.route.owner, one.route.owner)) row.heard = microseconds{0};
    row.route = one.route;
  }
  ++version_;
}

void WatchModel::take(const AssignmentNews& news) {
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
    add_move(partition, {at, before, now.owner, {}, row.slots,
                         waited ? at - lost_at : microseconds{0}});
  } else if (before && row.lost_at == kLongAgo) {
    row.lost_at = at;
    add_move(partition, {at, before, nullptr, {}, row.slots, microseconds{0}});
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
    if (!known->partitions.contains(partition)) known->slots += move.slots;
    known->partitions.insert(partition);
    known->unowned = std::max(known->unowned, move.unowned);
    return;
  }
  move.partitions.insert(partition);
  moves_.push_front(std::move(move));
  if (moves_.size() > kMovesKept) moves_.pop_back();
}

void WatchModel::take(const std::vector<RequestRow>& requests) {
  requests_ = requests;
  ++version_;
}

void WatchModel::hear(const std::vector<microseconds>& heard) {
  for (std::size_t p = 0; p < rows_.size(); ++p) rows_[p].heard = heard[p];
  ++version_;
}

void WatchModel::sum_up() const {
  if (std::exchange(summed_up_, version_) == version_) return;
  std::fill(std::begin(by_verdict_), std::end(by_verdict_), 0);
  draining_ = weights_ = 0;
  moving_ = 0;
  sharing_ = 0;
  std::map<ProcessId, OwnerRow> all;
  const auto of = [&all](const PeerPtr& peer) -> OwnerRow& {
    OwnerRow& owner = all[peer->id];
    if (!owner.peer) owner.peer = peer;
    return owner;
  };
  for (const PartitionRow& row : rows_) {
    const ObservedRoute& route = row.route;
    by_verdict_[static_cast<std::size_t>(route.verdict)] += row.slots;
    if (route.next) ++of(route.next).coming;
    if (route.designee) ++moving_;
    const PeerPtr& to_be = route.designee ? route.designee : route.owner;
    if (to_be) ++of(to_be).designated;
    if (!route.owner) continue;
    OwnerRow& owner = of(route.owner);
    ++owner.partitions;
    owner.slots += row.slots;
    owner.draining += route.draining ? 1U : 0U;
    draining_ += route.draining ? row.slots : 0U;
    owner.since = std::max(owner.since, route.since);
    owner.newest_epoch = std::max(owner.newest_epoch, route.epoch);
    owner.heard = std::max(owner.heard, row.heard);
  }
  for (const auto& [id, member] : members_) {
    of(member.peer).member = member;
    weights_ += weight_of(member);
  }
  owners_.clear();
  std::map<std::string, int> stated;
  for (const auto& [id, owner] : all) {
    if (stays(owner)) ++stated[owner.peer->info.endpoint];
  }
  for (auto& [id, owner] : all) {
    const std::string& endpoint = owner.peer->info.endpoint;
    owner.endpoint_shared = stays(owner) && !endpoint.empty() && stated[endpoint] > 1;
    if (owner.partitions > 0 || owner.coming > 0) ++sharing_;
    owners_.push_back(std::move(owner));
  }
  std::stable_sort(owners_.begin(), owners_.end(), [](const OwnerRow& a, const OwnerRow& b) {
    return a.peer->info.name < b.peer->info.name;
  });
}

const std::vector<OwnerRow>& WatchModel::owners() const {
  sum_up();
  return owners_;
}

std::uint64_t WatchModel::slots_of(Verdict verdict) const {
  sum_up();
  return by_verdict_[static_cast<std::size_t>(verdict)];
}

std::uint64_t WatchModel::draining_slots() const {
  sum_up();
  return draining_;
}

double WatchModel::fair_slots() const {
  const std::size_t shares = std::max<std::size_t>(1, sharing());
  return static_cast<double>(slots_.value()) / static_cast<double>(shares);
}

double WatchModel::fair_slots(const OwnerRow& owner) const {
  if (!assigned_) return fair_slots();
  sum_up();
  if (!owner.member || weights_ == 0) return 0;
  return static_cast<double>(slots_.value()) * static_cast<double>(weight_of(*owner.member)) /
         static_cast<double>(weights_);
}

std::size_t WatchModel::sharing() const {
  sum_up();
  return sharing_;
}

std::uint32_t WatchModel::moving() const {
  sum_up();
  return moving_;
}

}  // namespace neliroute::tool
