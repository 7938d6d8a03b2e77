#include "router/reader/observers.h"

namespace neliroute {
namespace {

// The last step of splitmix64: every bit of the input changes about half of the output's.
std::uint64_t mixed(std::uint64_t value) noexcept {
  value = (value ^ value >> 30) * 0xbf58476d1ce4e5b9U;
  value = (value ^ value >> 27) * 0x94d049bb133111ebU;
  return value ^ value >> 31;
}

bool same_peer(const PeerPtr& left, const PeerPtr& right) {
  if (left == right) return true;
  return left && right && left->id == right->id && left->info == right->info;
}

bool same_route(const ObservedRoute& left, const ObservedRoute& right) {
  return left.verdict == right.verdict && left.epoch == right.epoch &&
         left.draining == right.draining && left.stale == right.stale &&
         left.looking == right.looking &&
         left.lease == right.lease &&
         same_peer(left.owner, right.owner) && same_peer(left.next, right.next) &&
         same_peer(left.designee, right.designee);
}

LocalTime since_of(const ObservedRoute& before, const ObservedRoute& after, LocalTime now) {
  if (after.verdict == Verdict::unknown) return kLongAgo;
  const auto id = [](const ObservedRoute& route) {
    return route.owner ? route.owner->id : kNobody;
  };
  // A process that first reads of an owner does not know since when it leads, except its own.
  const bool came_to_know =
      before.verdict == Verdict::unknown && after.verdict != Verdict::local;
  if (came_to_know) return kLongAgo;
  return before.verdict != Verdict::unknown && id(before) == id(after) ? before.since : now;
}

}  // namespace

std::uint64_t Observers::mark_of(Partition partition, ProcessId owner,
                                 const Epoch& epoch) noexcept {
  std::uint64_t mark = mixed(partition.value() + 0x9e3779b97f4a7c15U);
  mark = mixed(mark ^ owner.value());
  mark = mixed(mark ^ static_cast<std::uint64_t>(epoch.incarnation));
  return mixed(mark ^ static_cast<std::uint64_t>(epoch.offset));
}

void Observers::note(Partition partition, Seen seen, LocalTime now) {
  auto& [route, mark] = seen;
  ObservedRoute& known = routes_[partition.value()];
  if (same_route(known, route) && marks_[partition.value()] == mark) return;
  route.since = since_of(known, route, now);
  digest_ ^= marks_[partition.value()] ^ mark;
  marks_[partition.value()] = mark;
  known = std::move(route);
  if (!observers_.empty()) changed_.push_back({partition, known});
  ++version_;
}

void Observers::tell_changed(LocalTime now) {
  if (changed_.empty()) return;
  const ViewChange change{now, version_, digest_, changed_};
  each([&](Observer& observer) { observer.on_view(change); });
}

void Observers::tell_assignment(const AssignmentNews& news) {
  each([&](Observer& observer) { observer.on_assignment(news); });
}

void Observers::tell_transition(const Transition& transition) {
  each([&](Observer& observer) { observer.on_transition(transition); });
}

void Observers::tell_failure(const Error& error) {
  each([&](Observer& observer) { observer.on_failure(error); });
}

void Observers::tell_recovery() {
  each([](Observer& observer) { observer.on_recovery(); });
}

void Observers::add(std::weak_ptr<Observer> observer, LocalTime now) {
  const auto joined = observer.lock();
  if (!joined) return;
  std::vector<ChangedRoute> all;
  all.reserve(routes_.size());
  for (std::uint32_t p = 0; p < routes_.size(); ++p) all.push_back({Partition{p}, routes_[p]});
  observers_.push_back(std::move(observer));
  joined->on_view({now, version_, digest_, all});
}

template <class Tell>
void Observers::each(const Tell& tell) noexcept {
  std::erase_if(observers_, [&](const std::weak_ptr<Observer>& one) {
    const auto observer = one.lock();
    if (observer) tell(*observer);
    return !observer;
  });
}

}  // namespace neliroute
