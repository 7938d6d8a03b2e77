// Addresses of owners' host names, looked up while everything else goes on.
//
// A lookup cannot be stopped, and may take half a minute if no server answers. So it has a thread
// of its own, which nobody waits for at the end; of one host there is never more than one. What was
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
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <neliroute/time.h>
#include <optional>
#include <string>
#include <vector>

namespace neliroute::forward {

struct NameLimits {
  milliseconds fresh{10'000};  ///< within it, what was found is not looked up again
  milliseconds kept{600'000};  ///< within it, it counts if that fails, or is not there in time
  milliseconds patience{200};
  milliseconds failed{1000};  ///< within it, what failed is not tried again
  std::size_t lookups = 8;    ///< at a time; further ones wait
};

class Names {
 public:
  using Error = boost::system::error_code;
  using Addresses = std::vector<boost::asio::ip::address>;  ///< empty: there is an error
  using Found = std::function<void(const Error&, const Addresses&)>;

  Names(boost::asio::any_io_executor executor, NameLimits limits);
  ~Names();
  Names(const Names&) = delete;
  Names& operator=(const Names&) = delete;

  /// Never calls it from inside. Those that wait at close() or at the end are never called.
  void find(const std::string& host, Found found);
  /// Nobody could be reached at what was found: the next one looks it up again.
  void doubt(const std::string& host);
  /// Finds nothing any more, and needs no executor from now on: lookups that are under way end
  /// unheard.
  void close();

 private:
  using Clock = std::chrono::steady_clock;
  struct Shared;
  struct Result {
    Error error;
    Addresses addresses;
  };
  struct Known {
    Addresses addresses;  ///< found last
    Clock::time_point fresh_until, kept_until;
    Error error;  ///< of the last lookup
    Clock::time_point failed_until;
    std::vector<Found> waiting;
    bool looking = false;
    std::optional<boost::asio::steady_timer> patience;
  };

  [[nodiscard]] static Result resolved(const std::string& host);
  void look_up(const std::string& host, Known& known);
  void begin(const std::string& host);
  void on_found(const std::string& host, Result result);
  void answer(Known& known);
  void forget_old();

  const NameLimits limits_;
  std::shared_ptr<Shared> shared_;
  std::map<std::string, Known> known_;
  std::deque<std::string> queued_;
  std::size_t running_ = 0;
};

}  // namespace neliroute::forward
