// Endpoints that callers could not reach, until the strand takes them, all at once and now and
// then: when processes are killed, thousands of callers report them, and to look for what they own
// takes a look at each partition. Private.
//
// Threads: any.   Units: LocalTime.   Errors: none.
#pragma once

#include <cstddef>
#include <functional>
#include <mutex>
#include <neliroute/time.h>
#include <set>
#include <string>
#include <string_view>

namespace neliroute {

class Suspects {
 public:
  using Endpoints = std::set<std::string, std::less<>>;
  /// From when some were taken until the next ones are.
  static constexpr milliseconds kQuiet{100};
  /// Different ones that wait to be taken; more are dropped, and will be reported again.
  static constexpr std::size_t kMost = 1024;

  /// True: it is the first since some were taken, so the strand is to be told.
  [[nodiscard]] bool add(std::string_view endpoint, LocalTime now);
  /// It was reached since.
  void drop(std::string_view endpoint);
  /// When they may be taken; kNever: there are none.
  [[nodiscard]] LocalTime due() const;
  /// Those that wait, if they are due.
  [[nodiscard]] Endpoints take(LocalTime now);

 private:
  [[nodiscard]] LocalTime due_now() const { return endpoints_.empty() ? kNever : due_; }

  mutable std::mutex mutex_;
  Endpoints endpoints_;
  LocalTime due_ = kLongAgo;
  LocalTime quiet_until_ = kLongAgo;
};

}  // namespace neliroute
