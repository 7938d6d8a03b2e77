#include "router/view/interned_processes.h"

namespace neliroute {
namespace {

std::size_t bytes_of(const Peer& peer) {
  // An entry of each container, and the overhead of the strings.
  constexpr std::size_t kEach = 256;
  std::size_t bytes = kEach + peer.info.name.size() + peer.info.endpoint.size();
  for (const auto& [key, value] : peer.info.tags) {
    bytes += 2 * sizeof(std::string) + key.size() + value.size();
  }
  return bytes;
}

}  // namespace

void InternedProcesses::add(const PeerPtr& peer) {
  if (!peer) return;
  Kept& kept = kept_[peer.get()];
  kept.peer = peer;
  ++kept.named;
  if (kept.retired == kNever) return;
  retired_.erase({kept.retired, peer.get()});
  kept.retired = kNever;
  retired_bytes_ -= bytes_of(*peer);
}

void InternedProcesses::remove(const PeerPtr& peer) {
  if (!peer) return;
  if (--kept_.at(peer.get()).named == 0) unnamed_.push_back(peer.get());
}

bool InternedProcesses::may_go(LocalTime retired, LocalTime now) const noexcept {
  if (now >= later(retired, kKept)) return true;
  return retired_bytes_ > kBytesMax && now >= later(retired, kKeptLeast);
}

void InternedProcesses::retire(LocalTime now) {
  for (const Peer* peer : std::exchange(unnamed_, {})) {
    Kept& kept = kept_.at(peer);
    if (kept.named > 0 || kept.retired != kNever) continue;  // named again, or listed twice
    kept.retired = now;
    retired_.emplace(now, peer);
    retired_bytes_ += bytes_of(*peer);
  }
  while (!retired_.empty() && may_go(retired_.begin()->first, now)) {
    const Peer* peer = retired_.begin()->second;
    retired_.erase(retired_.begin());
    retired_bytes_ -= bytes_of(*peer);
    kept_.erase(peer);
  }
}

LocalTime InternedProcesses::next_deadline() const noexcept {
  if (retired_.empty()) return kNever;
  const LocalTime oldest = retired_.begin()->first;
  return later(oldest, retired_bytes_ > kBytesMax ? microseconds{kKeptLeast} : microseconds{kKept});
}

}  // namespace neliroute
