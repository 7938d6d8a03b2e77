// Who is named for no partition of a log for a while, since it did not lead there what it was named
// for (rule A5): a minute, twice as long each time, at most an hour.
//
// Threads: one (inside Assigner).   Units: LocalTime.   Errors: none.
#pragma once

#include <algorithm>
#include <chrono>
#include <map>
#include <neliroute/ids.h>
#include <neliroute/time.h>
#include <utility>

#include "neli_core/mutation.h"

namespace neliroute {

class Bans {
 public:
  void ban(Log log, ProcessId id, LocalTime now) {
    Ban& ban = bans_[{log, id}];
    if (now < ban.until) return;
    if (mutated(Mutation::bans_never_double)) ban.length = kFirst / 2;
    const milliseconds most = mutated(Mutation::bans_without_end) ? 100 * kLongest : kLongest;
    ban.length = std::clamp(2 * ban.length, kFirst, most);
    ban.from = now;
    ban.until = later(now, ban.length);
  }
  [[nodiscard]] bool is_banned(Log log, ProcessId id, LocalTime now) const {
    const auto at = bans_.find({log, id});
    return at != bans_.end() && now < at->second.until;
  }
  /// When the one in force began; kLongAgo: none is.
  [[nodiscard]] LocalTime from(Log log, ProcessId id, LocalTime now) const {
    return is_banned(log, id, now) ? bans_.at({log, id}).from : kLongAgo;
  }
  [[nodiscard]] bool any(Log log, LocalTime now) const {
    return std::any_of(bans_.begin(), bans_.end(), [&](const auto& entry) {
      return entry.first.first == log && now < entry.second.until;
    });
  }
  /// When one ends; kNever: none is in force.
  [[nodiscard]] LocalTime next_end(LocalTime now) const {
    LocalTime next = kNever;
    for (const auto& [where, ban] : bans_) {
      if (now < ban.until) next = std::min(next, ban.until);
    }
    return next;
  }
  /// Of those that are over for long, nothing is known any more.
  void forget(LocalTime now) {
    std::erase_if(bans_, [&](const auto& entry) {
      return now >= later(entry.second.until, kLongest);
    });
  }

 private:
  static constexpr milliseconds kFirst = std::chrono::minutes{1};
  static constexpr milliseconds kLongest = std::chrono::hours{1};
  struct Ban {
    LocalTime from = kLongAgo;
    LocalTime until = kLongAgo;
    milliseconds length{0};
  };
  std::map<std::pair<Log, ProcessId>, Ban> bans_;
};

}  // namespace neliroute
