// Addresses of hosts' names, looked up while everything else goes on.
//
// A lookup cannot be stopped, and may take half a minute if no server answers. So it has a side
// thread, which nobody waits for at the end; of one host there is never more than one. What was
// found is used for a while, and for longer while no server answers.
//
// Threads: one (that of the executor).   Units: std::chrono.   Errors: passed to handlers.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/ip/address.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/system/error_code.hpp>
#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <neliroute/time.h>
#include <optional>
#include <string>
#include <vector>

#include "base/side_threads.h"

namespace neliroute {

struct HostNameLimits {
  milliseconds fresh{10'000};  ///< within it, what was found is not looked up again
  milliseconds kept{600'000};  ///< within it, it counts if that fails, or is not there in time
  milliseconds patience{200};
  milliseconds failed{1000};  ///< within it, what failed is not tried again
  std::size_t lookups = 8;    ///< at a time; further ones wait
};

class HostNames {
 public:
  using error_code = boost::system::error_code;
  using Addresses = std::vector<boost::asio::ip::address>;  ///< empty: there is an error
  using Found = std::function<void(const error_code&, const Addresses&)>;
  /// Blocks for as long as it takes; on any thread.
  using Resolve = std::function<Addresses(const std::string& host, error_code& error)>;

  explicit HostNames(boost::asio::any_io_executor executor, HostNameLimits limits = {},
                     Resolve resolve = by_system);
  ~HostNames() { close(); }
  HostNames(const HostNames&) = delete;
  HostNames& operator=(const HostNames&) = delete;

  /// Never calls it from inside, nor after close() or the end.
  void find(const std::string& host, Found found);
  /// Nobody could be reached at what was found: the next one looks it up again.
  void doubt(const std::string& host);
  /// Finds nothing any more, and needs no executor from now on: lookups that are under way end
  /// unheard.
  void close();

  /// As the system resolves names.
  [[nodiscard]] static Addresses by_system(const std::string& host, error_code& error);

 private:
  using Clock = std::chrono::steady_clock;
  struct Known {
    Addresses addresses;  ///< found last
    Clock::time_point fresh_until, kept_until;
    error_code error;  ///< of the last lookup
    Clock::time_point failed_until;
    std::vector<Found> waiting;
    bool looking = false;
    std::optional<boost::asio::steady_timer> patience;
  };

  void look_up(const std::string& host, Known& known);
  void on_found(const std::string& host, const error_code& error, Addresses addresses);
  void answer(Known& known);
  void forget_old();

  const HostNameLimits limits_;
  const Resolve resolve_;
  std::shared_ptr<const boost::asio::any_io_executor> executor_;  ///< null once closed
  SideThreads side_;
  std::map<std::string, Known> known_;
};

}  // namespace neliroute
