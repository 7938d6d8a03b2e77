#include "router/engine/suspects.h"

namespace neliroute {

bool Suspects::is_news(std::string_view endpoint, LocalTime now) {
  const std::lock_guard lock(mutex_);
  if (passed_on_.size() >= kMost) {
    std::erase_if(passed_on_, [&](const auto& one) { return now >= later(one.second, kQuiet); });
  }
  const auto known = passed_on_.find(endpoint);
  if (known == passed_on_.end()) {
    if (passed_on_.size() >= kMost) return false;
    passed_on_.emplace(endpoint, now);
    return true;
  }
  if (now < later(known->second, kQuiet)) return false;
  known->second = now;
  return true;
}

}  // namespace neliroute
