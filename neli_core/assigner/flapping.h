// Who dies again and again without leaving, by name and endpoint: each start has another id (A1).
//
// The first death costs nothing. After the n-th a newcomer of the same name and endpoint is on
// probation for 2^(n-2) of its sessions, at most ten minutes. After ten minutes without another
// death, or once it leaves in order, all is forgotten.
//
// Threads: one (inside Members).   Units: LocalTime.   Errors: none.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <map>
#include <neliroute/ids.h>
#include <neliroute/settings.h>
#include <neliroute/time.h>
#include <string>
#include <string_view>
#include <utility>

#include "neli_core/mutation.h"

namespace neliroute {

/// What of its name the next start has, too: a default name is HOST_PID_ID.
[[nodiscard]] inline std::string_view lasting_name(const ProcessInfo& process, ProcessId id) {
  std::string_view name = process.name;
  const std::string drawn = "_" + to_string(id);
  if (!name.ends_with(drawn)) return name;
  name.remove_suffix(drawn.size());
  return name.substr(0, name.find_last_of('_'));
}

class Flapping {
 public:
  /// Returns how often it died by now.
  std::uint32_t died(const ProcessInfo& process, ProcessId id, LocalTime now) {
    forget(now);
    Deaths& deaths = deaths_[key_of(process, id)];
    if (is_over(deaths, now)) deaths.count = 0;
    deaths.last = now;
    return ++deaths.count;
  }
  [[nodiscard]] bool knows(const ProcessInfo& process, ProcessId id) const {
    return !deaths_.empty() && deaths_.contains(key_of(process, id));
  }
  void left(const ProcessInfo& process, ProcessId id) { deaths_.erase(key_of(process, id)); }

  /// For how long one that starts now, with this session, is given nothing new.
  [[nodiscard]] milliseconds probation(const ProcessInfo& process, ProcessId id,
                                       milliseconds session, LocalTime now) const {
    const auto at = deaths_.find(key_of(process, id));
    if (at == deaths_.end() || is_over(at->second, now)) return milliseconds{0};
    if (at->second.count < kFree + 1 || mutated(Mutation::flapping_forgiven)) {
      return milliseconds{0};
    }
    const std::uint32_t doublings = std::min(at->second.count - kFree - 1, kDoublingsMost);
    return std::min(session * (std::int64_t{1} << doublings), kLongest);
  }

 private:
  static constexpr std::uint32_t kFree = 1;
  static constexpr std::uint32_t kDoublingsMost = 12;
  static constexpr milliseconds kLongest = std::chrono::minutes{10};
  using Key = std::pair<std::string, std::string>;
  struct Deaths {
    std::uint32_t count = 0;
    LocalTime last = kLongAgo;
  };

  static Key key_of(const ProcessInfo& process, ProcessId id) {
    return {std::string{lasting_name(process, id)}, process.endpoint};
  }
  static bool is_over(const Deaths& deaths, LocalTime now) {
    return now >= later(deaths.last, kLongest);
  }
  void forget(LocalTime now) {
    if (now < forget_at_) return;  // many may die at once
    forget_at_ = later(now, kLongest / 10);
    std::erase_if(deaths_, [&](const auto& entry) { return is_over(entry.second, now); });
  }

  std::map<Key, Deaths> deaths_;
  LocalTime forget_at_ = kLongAgo;
};

}  // namespace neliroute
