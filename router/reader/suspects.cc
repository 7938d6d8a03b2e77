#include "router/reader/suspects.h"

#include <algorithm>
#include <utility>

namespace neliroute {

bool Suspects::add(std::string_view endpoint, LocalTime now) {
  if (endpoint.empty()) return false;
  const std::lock_guard lock(mutex_);
  if (endpoints_.size() >= kMost || endpoints_.contains(endpoint)) return false;
  endpoints_.emplace(endpoint);
  if (endpoints_.size() > 1) return false;
  due_ = std::max(now, quiet_until_);
  return true;
}

void Suspects::drop(std::string_view endpoint) {
  const std::lock_guard lock(mutex_);
  if (const auto found = endpoints_.find(endpoint); found != endpoints_.end()) {
    endpoints_.erase(found);
  }
}

LocalTime Suspects::due() const {
  const std::lock_guard lock(mutex_);
  return due_now();
}

Suspects::Endpoints Suspects::take(LocalTime now) {
  const std::lock_guard lock(mutex_);
  if (now < due_now()) return {};
  quiet_until_ = later(now, kQuiet);
  return std::exchange(endpoints_, {});
}

}  // namespace neliroute
