// Why an owner, or the application of this process, could not be connected to: for who waits, and
// for whoever has to mend it.
//
// Threads: one (an executor of its own); free functions any.   Units: std::chrono.   Errors: none.
#pragma once

#include <boost/system/error_code.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <neliroute/error.h>
#include <neliroute/time.h>
#include <string>
#include <string_view>
#include <utility>

namespace neliroute::forward {

enum class ConnectFault : std::uint8_t {
  refused,
  timed_out,
  tls,         ///< it does not speak it, or its certificate is not accepted
  unresolved,  ///< its host's name
  scarce,      ///< this process lacks a descriptor, a port or memory
  other,
};
[[nodiscard]] ConnectFault fault_of(const boost::system::error_code& error);
/// "it refuses connections", for a client.
[[nodiscard]] std::string_view text_of(ConnectFault fault) noexcept;
/// Whether it is the owner that cannot be reached, rather than this process that can reach nobody:
/// for want of a descriptor, a port, or a name server that answers.
[[nodiscard]] bool is_unreachable(const boost::system::error_code& error);

/// Tells of each owner and each kind of fault once in a while.
class ConnectNotices {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr milliseconds kEach{60'000};

  explicit ConnectNotices(std::function<void(const Notice&)> tell) : tell_(std::move(tell)) {}
  /// `own`: the endpoint is the application's. `detail`: what the system, or OpenSSL, says of it.
  void note(const std::string& endpoint, bool own, ConnectFault fault, const std::string& detail,
            Clock::time_point now);

 private:
  struct Told {
    Clock::time_point at;
    std::size_t since = 0;  ///< failures that nobody was told of
  };
  std::function<void(const Notice&)> tell_;
  std::map<std::pair<std::string, ConnectFault>, Told> told_;
};

}  // namespace neliroute::forward
