// What a ledger tells operators of what fails again and again, and that it is over.
//
// Threads: the strand.   Units: std::chrono.   Errors: none.
#pragma once

#include <algorithm>
#include <chrono>
#include <map>
#include <neliroute/time.h>
#include <string>
#include <utility>

#include "neli_core/ledger.h"

namespace neliroute {

class Reports {
 public:
  /// `shown`: which logs, for people.
  explicit Reports(std::string shown) : shown_(std::move(shown)) {}

  void on_notice(NoticeSink notices) { notices_ = std::move(notices); }
  /// To operators, if `who` said nothing of this kind in the last minute.
  void report(const std::string& who, int kind, Severity severity, const std::string& text,
              LocalTime now) {
    Report& last = reported_[{who, kind}];
    if (last.said != kLongAgo && now < later(last.said, last.open ? kRepeat : kPause)) return;
    if (!last.open) last.since = now;
    last.open = true;
    last.said = now;
    notify(severity, shown_ + ": " + text);
  }
  /// What `who` reported is over.
  void recovered(const std::string& who, const std::string& text, LocalTime now) {
    LocalTime since = kNever;
    for (auto& [what, last] : reported_) {
      if (what.first != who || !std::exchange(last.open, false)) continue;
      since = std::min(since, last.since);
    }
    if (since == kNever) return;
    const auto lasted = std::chrono::duration_cast<milliseconds>(now - since).count();
    notify(Severity::info,
           shown_ + ": " + text + ", " + std::to_string(lasted) + " ms after the first failure");
  }

 private:
  struct Report {
    LocalTime since = kLongAgo;
    LocalTime said = kLongAgo;
    bool open = false;
  };
  static constexpr milliseconds kRepeat{60'000};
  static constexpr milliseconds kPause{5'000};  ///< where it comes and goes

  void notify(Severity severity, const std::string& text) const {
    const NoticeSink notices = notices_;  // which may close this
    if (notices) notices({severity, text});
  }

  std::string shown_;
  NoticeSink notices_;
  std::map<std::pair<std::string, int>, Report> reported_;  ///< by whom, of what
};

}  // namespace neliroute
