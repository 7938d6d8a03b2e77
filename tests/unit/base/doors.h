// Doors that threads wait at, by name. Shared, as a thread may be the last one.
//
// Threads: any.   Units: none.   Errors: a door that stays closed for 30 s fails the test.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <mutex>
#include <set>
#include <string>
#include <vector>

namespace neliroute {

class Doors {
 public:
  void wait_at(const std::string& name) {
    std::unique_lock lock(mutex_);
    arrived_.push_back(name);
    most_ = std::max(most_, ++waiting_);
    changed_.notify_all();
    EXPECT_TRUE(changed_.wait_for(lock, kLong, [&] { return !closed_.contains(name); })) << name;
    --waiting_;
  }
  void close(const std::string& name) {
    const std::lock_guard lock(mutex_);
    closed_.insert(name);
  }
  void open(const std::string& name) {
    const std::lock_guard lock(mutex_);
    closed_.erase(name);
    changed_.notify_all();
  }
  void wait_arrived(std::size_t count) {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(changed_.wait_for(lock, kLong, [&] { return arrived_.size() >= count; }));
  }
  [[nodiscard]] std::vector<std::string> arrived() const {
    const std::lock_guard lock(mutex_);
    return arrived_;
  }
  /// That waited at once.
  [[nodiscard]] std::size_t most() const {
    const std::lock_guard lock(mutex_);
    return most_;
  }

 private:
  static constexpr std::chrono::seconds kLong{30};
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::set<std::string> closed_;
  std::vector<std::string> arrived_;
  std::size_t waiting_ = 0;
  std::size_t most_ = 0;
};

}  // namespace neliroute
