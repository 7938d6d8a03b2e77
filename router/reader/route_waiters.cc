#include "router/reader/route_waiters.h"

#include <algorithm>

namespace neliroute {
namespace {

constexpr std::size_t kSweepLeast = 64;

// std's heaps have the greatest first.
constexpr auto kLaterFirst = [](const auto& left, const auto& right) {
  return left.first > right.first;
};

}  // namespace

void RouteWaiters::add(Id id, Partition partition, RouteWaiter waiter) {
  if (waiter.deadline != kNever) {
    deadlines_.emplace_back(waiter.deadline, id);
    std::push_heap(deadlines_.begin(), deadlines_.end(), kLaterFirst);
  }
  of_partition_[partition.value()].push_back(id);
  waiters_.emplace(id, std::move(waiter));
  note_size();
}

RouteWaiter RouteWaiters::take(Id id) {
  auto node = waiters_.extract(id);
  if (!node) return {};
  ++gone_;
  sweep();
  note_size();
  return std::move(node.mapped());
}

LocalTime RouteWaiters::next_deadline() {
  while (!deadlines_.empty() && !waiters_.contains(deadlines_.front().second)) {
    std::pop_heap(deadlines_.begin(), deadlines_.end(), kLaterFirst);
    deadlines_.pop_back();
  }
  return deadlines_.empty() ? kNever : deadlines_.front().first;
}

std::vector<RouteWaiter> RouteWaiters::take_late(LocalTime now) {
  std::vector<RouteWaiter> late;
  while (next_deadline() <= now) late.push_back(take(deadlines_.front().second));
  return late;
}

std::vector<RouteWaiter> RouteWaiters::take_all() {
  std::vector<RouteWaiter> all;
  all.reserve(waiters_.size());
  for (auto& [id, waiter] : waiters_) all.push_back(std::move(waiter));
  waiters_.clear();
  of_partition_.clear();
  deadlines_.clear();
  gone_ = 0;
  note_size();
  return all;
}

void RouteWaiters::sweep() {
  if (gone_ < std::max(kSweepLeast, waiters_.size())) return;
  gone_ = 0;
  const auto is_gone = [this](Id id) { return !waiters_.contains(id); };
  std::erase_if(deadlines_, [&](const Deadline& one) { return is_gone(one.second); });
  std::make_heap(deadlines_.begin(), deadlines_.end(), kLaterFirst);
  for (auto list = of_partition_.begin(); list != of_partition_.end();) {
    std::erase_if(list->second, is_gone);
    list = list->second.empty() ? of_partition_.erase(list) : std::next(list);
  }
}

}  // namespace neliroute
