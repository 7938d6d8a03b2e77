// Owners that could not be connected to of late. Requests for them wait for another owner, as if
// they had tried: a kill would cost thousands of connections that are refused, and at a machine
// that is gone each takes up to a second. One now and then goes on and finds out whether the owner
// can be reached again.
//
// Threads: one (an executor of its own).   Units: std::chrono.   Errors: none.
#pragma once

#include <neliroute/time.h>

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <string>

namespace neliroute::forward {

class Caution {
 public:
  using Clock = std::chrono::steady_clock;
  /// From one attempt to the next.
  static constexpr milliseconds kProbe{100};
  /// Within which the router marks the slots of an owner that was reported. Later, one that is not
  /// marked has written since.
  static constexpr milliseconds kMarked{200};
  /// Nobody asks for one any more that has long been replaced.
  static constexpr milliseconds kRemembered{60'000};

  /// Whether a request may connect there now. `suspected`: as the router has it.
  [[nodiscard]] bool may_connect(const std::string& endpoint, bool suspected,
                                 Clock::time_point now) {
    const auto found = failed_.find(endpoint);
    if (found == failed_.end()) return true;
    Failed& failed = found->second;
    if (!suspected && now >= failed.at + kMarked) {
      failed_.erase(found);
      return true;
    }
    if (now < failed.next) return false;
    failed.next = now + kProbe;
    return true;
  }
  void note_failed(const std::string& endpoint, Clock::time_point now) {
    const auto [found, is_new] = failed_.try_emplace(endpoint);
    Failed& failed = found->second;
    failed.at = now;
    // Those that were on their way before do not put the next attempt off.
    if (failed.next <= now) failed.next = now + kProbe;
    if (!is_new) return;
    std::erase_if(failed_, [now](const auto& one) { return one.second.at + kRemembered <= now; });
  }
  /// Whether it had failed.
  bool note_reached(const std::string& endpoint) { return failed_.erase(endpoint) > 0; }
  [[nodiscard]] std::size_t size() const noexcept { return failed_.size(); }

 private:
  struct Failed {
    Clock::time_point at;
    Clock::time_point next;  ///< attempt
  };
  std::map<std::string, Failed> failed_;
};

}  // namespace neliroute::forward
