// A voter's notices to its operator. A notice that repeats is sent once a minute.
//
// Threads: that of the voter.   Units: LocalTime.   Errors: none.
#pragma once

#include <functional>
#include <map>
#include <neliroute/error.h>
#include <neliroute/time.h>
#include <string>
#include <utility>

namespace neliroute {

class VoterNotices {
 public:
  using Sink = std::function<void(const Notice&)>;

  /// `shown`: which voter it is, for people.
  VoterNotices(Sink sink, std::string shown) : sink_(std::move(sink)), shown_(std::move(shown)) {}

  void say(Severity severity, const std::string& text) const {
    if (sink_) sink_({severity, shown_ + ": " + text});
  }
  /// Of one kind.
  void say_seldom(const std::string& kind, Severity severity, const std::string& text,
                  LocalTime now) {
    if (said_.size() >= kKindsMax) said_.clear();  // of strangers there may be any number
    const auto [said, is_new] = said_.try_emplace(kind, now);
    if (!is_new && now < later(said->second, kPause)) return;
    said->second = now;
    say(severity, text);
  }

 private:
  static constexpr milliseconds kPause{60'000};
  static constexpr std::size_t kKindsMax = 1'024;

  Sink sink_;
  std::string shown_;
  std::map<std::string, LocalTime> said_;
};

}  // namespace neliroute
