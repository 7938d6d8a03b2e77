#include "ledgers/memory/memory_store.h"

#include <algorithm>
#include <utility>

namespace neliroute {

MemoryStore::MemoryStore(std::uint32_t logs, Clock clock, milliseconds retention)
    : log_count_(logs), clock_(std::move(clock)), retention_(retention), logs_(logs) {
  for (OneLog& log : logs_) log.made = ++made_;
}

std::uint64_t MemoryStore::watch(std::function<void()> wake) {
  const std::lock_guard lock(mutex_);
  watchers_.emplace(++watchers_made_, std::move(wake));
  return watchers_made_;
}

void MemoryStore::unwatch(std::uint64_t watcher) {
  const std::lock_guard lock(mutex_);
  watchers_.erase(watcher);
}

void MemoryStore::wake() {
  for (const auto& [watcher, wake] : watchers_) wake();
}

std::optional<std::int64_t> MemoryStore::append(Log log, std::string value) {
  const std::lock_guard lock(mutex_);
  if (health_ != Health::well) return std::nullopt;
  OneLog& l = logs_.at(log.value());
  const BrokerTime last = l.records.empty() ? BrokerTime{} : l.records.back().stamped;
  const BrokerTime stamped = std::max(last, clock_());
  const std::int64_t position = l.end;
  l.records.push_back(
      {position, stamped, std::make_shared<const std::string>(std::move(value))});
  l.end = position + step_;
  while (l.records.front().stamped < stamped - retention_) {
    l.records.pop_front();
    l.low = l.records.front().position;
  }
  wake();
  return position;
}

std::optional<MemoryStore::Answer> MemoryStore::read(Log log, std::int64_t from) const {
  const std::lock_guard lock(mutex_);
  if (health_ == Health::silent) return std::nullopt;
  const OneLog& l = logs_.at(log.value());
  const auto first = std::partition_point(
      l.records.begin(), l.records.end(),
      [from](const Stored& stored) { return stored.position < from; });
  return Answer{l.made, l.cuts, l.low, l.end, {first, l.records.end()}};
}

MemoryStore::Health MemoryStore::health() const {
  const std::lock_guard lock(mutex_);
  return health_;
}

void MemoryStore::set_health(Health health) {
  const std::lock_guard lock(mutex_);
  health_ = health;
  wake();
}

void MemoryStore::set_step(std::int64_t step) {
  const std::lock_guard lock(mutex_);
  step_ = step;
}

void MemoryStore::truncate(Log log, std::int64_t end) {
  const std::lock_guard lock(mutex_);
  OneLog& l = logs_.at(log.value());
  while (!l.records.empty() && l.records.back().position >= end) l.records.pop_back();
  l.end = std::min(l.end, end);
  l.cuts.push_back(l.end);
  wake();
}

void MemoryStore::expire(Log log, std::int64_t low) {
  const std::lock_guard lock(mutex_);
  OneLog& l = logs_.at(log.value());
  while (!l.records.empty() && l.records.front().position < low) l.records.pop_front();
  l.low = std::min(std::max(l.low, low), l.end);
  wake();
}

void MemoryStore::replace(Log log) {
  const std::lock_guard lock(mutex_);
  logs_.at(log.value()) = OneLog{};
  logs_.at(log.value()).made = ++made_;
  wake();
}

}  // namespace neliroute
