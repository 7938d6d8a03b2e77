// Who waits until a slot has an owner, or a newer one. Private.
//
// A waiter is in the list of its partition, which is looked at when that changes, and in a heap of
// deadlines. One that is gone from the map is skipped in both, and each is swept when more than
// half of it is gone, so that waiters that come and go fast cost no memory.
//
// Threads: one (the strand).   Units: LocalTime.   Errors: passed to the handlers.
#pragma once

#include <atomic>
#include <boost/system/error_code.hpp>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <neliroute/ids.h>
#include <neliroute/route.h>
#include <neliroute/settings.h>
#include <neliroute/time.h>
#include <unordered_map>
#include <utility>
#include <vector>

#include "router/view/admission_rules.h"

namespace neliroute {

using RouteHandler = std::function<void(boost::system::error_code, const Route&)>;

struct RouteWaiter {
  Slot slot;
  Epoch after = kNoEpoch;
  LocalTime deadline = kNever;
  RouteHandler handler;
  Mode mode = Mode::non_exclusive;

  /// What it waits for: that this process may serve it, or who else has a greater epoch.
  [[nodiscard]] bool is_content_with(const Route& route) const noexcept {
    if (route.verdict == Verdict::local) return may_serve(mode, route.stale, route.epoch, after);
    return route.verdict == Verdict::remote && route.epoch > after;
  }
};

class RouteWaiters {
 public:
  using Id = std::uint64_t;
  struct Ended {
    RouteWaiter waiter;
    Route route;
  };

  explicit RouteWaiters(std::size_t most) : most_(most) {}

  [[nodiscard]] bool empty() const noexcept { return waiters_.empty(); }
  /// Any thread.
  [[nodiscard]] std::size_t size() const noexcept {
    return size_.load(std::memory_order_relaxed);
  }
  [[nodiscard]] bool full() const noexcept { return waiters_.size() >= most_; }
  /// Not full.
  void add(Id id, Partition partition, RouteWaiter waiter);
  /// Removes it; its handler is empty if it has ended.
  [[nodiscard]] RouteWaiter take(Id id);
  [[nodiscard]] LocalTime next_deadline();
  /// Removes those of the partition that are content with what `look(Slot)` answers.
  template <class Look>
  [[nodiscard]] std::vector<Ended> take_content(Partition partition, const Look& look);
  /// Removes those whose deadline has passed.
  [[nodiscard]] std::vector<RouteWaiter> take_late(LocalTime now);
  [[nodiscard]] std::vector<RouteWaiter> take_all();

 private:
  using Deadline = std::pair<LocalTime, Id>;
  void sweep();
  void note_size() noexcept { size_.store(waiters_.size(), std::memory_order_relaxed); }

  const std::size_t most_;
  std::unordered_map<Id, RouteWaiter> waiters_;
  std::unordered_map<std::uint32_t, std::vector<Id>> of_partition_;
  std::vector<Deadline> deadlines_;  ///< a heap, the earliest first
  std::size_t gone_ = 0;             ///< that lists and heap still name
  std::atomic<std::size_t> size_ = 0;
};

template <class Look>
std::vector<RouteWaiters::Ended> RouteWaiters::take_content(Partition partition,
                                                            const Look& look) {
  std::vector<Ended> ended;
  const auto list = of_partition_.find(partition.value());
  if (list == of_partition_.end()) return ended;
  std::vector<Id> rest;
  for (const Id id : list->second) {
    const auto waiting = waiters_.find(id);
    if (waiting == waiters_.end()) continue;
    const Route route = look(waiting->second.slot);
    if (!waiting->second.is_content_with(route)) {
      rest.push_back(id);
      continue;
    }
    ended.push_back({std::move(waiting->second), route});
    waiters_.erase(waiting);
    ++gone_;
  }
  if (rest.empty()) {
    of_partition_.erase(list);
  } else {
    list->second = std::move(rest);
  }
  sweep();
  note_size();
  return ended;
}

}  // namespace neliroute
