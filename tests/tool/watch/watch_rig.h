// Views for the tests of what `watch` shows, made without a ledger.
//
// Threads: one.   Units: LocalTime.   Errors: none.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "tool/watch/watch_model.h"

namespace neliroute::tool {

using namespace std::chrono_literals;

inline constexpr LocalTime kStart{1'000'000s};

inline PeerPtr process(const std::string& name, std::uint64_t id) {
  return std::make_shared<const Peer>(Peer{ProcessId{id}, {name, "host-" + name + ":7001", {}}});
}

inline const PeerPtr kAlpha = process("alpha", 1);
inline const PeerPtr kBeta = process("beta", 2);

/// A model that gets one change after the other.
struct WatchRig {
  WatchRig(std::uint32_t slots, std::uint32_t partitions) : model(SlotCount{slots}, partitions) {}

  static ObservedRoute led(const PeerPtr& owner, LocalTime since = kLongAgo) {
    ObservedRoute route;
    route.verdict = Verdict::remote;
    route.owner = owner;
    route.epoch = {1, static_cast<std::int64_t>(owner->id.value())};
    route.lease = 3s;
    route.since = since;
    return route;
  }
  static ObservedRoute nobodys(Verdict verdict) {
    ObservedRoute route;
    route.verdict = verdict;
    return route;
  }

  /// All of these partitions at once.
  void tell(const std::vector<std::uint32_t>& partitions, const ObservedRoute& route) {
    std::vector<ChangedRoute> routes;
    for (const std::uint32_t p : partitions) routes.push_back({Partition{p}, route});
    model.on_view({now, ++version, 0, routes});
  }

  /// A member as it says it is; the spans of the news live as long as the call.
  static ObservedMember member(const PeerPtr& peer, std::uint32_t weight = 1) {
    ObservedMember one;
    one.peer = peer;
    one.session = 3s;
    one.weight = weight;
    return one;
  }
  void assign(const PeerPtr& assigner, const std::vector<ObservedMember>& members,
              const std::vector<ProcessId>& gone = {},
              std::shared_ptr<const ObservedOverrides> overrides = nullptr) {
    model.on_assignment({assigner, {1, 2}, true, members, gone, std::move(overrides)});
  }

  WatchModel model;
  LocalTime now = kStart;
  std::uint64_t version = 0;
};

}  // namespace neliroute::tool
