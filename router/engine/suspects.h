// Endpoints that callers could not reach, each passed on only now and then: when a process is
// killed, thousands of callers report it at once. Private to the engine.
//
// Threads: any.   Units: LocalTime.   Errors: none.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <mutex>
#include <neliroute/time.h>
#include <string>
#include <string_view>

namespace neliroute {

class Suspects {
 public:
  /// How long an endpoint that was passed on is not passed on again.
  static constexpr milliseconds kQuiet{100};
  /// Of different endpoints within that time; more are not passed on.
  static constexpr std::size_t kMost = 1024;

  /// Whether to pass it on.
  [[nodiscard]] bool is_news(std::string_view endpoint, LocalTime now);

 private:
  std::mutex mutex_;
  std::map<std::string, LocalTime, std::less<>> passed_on_;  ///< when
};

}  // namespace neliroute
