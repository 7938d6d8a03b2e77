// Asks the application behind `run --upstream` again and again whether it is healthy: until it has
// started, and from then on by HealthRule.
//
// Threads: one (the executor's).   Units: std::chrono.   Errors: passed to the handlers, as text.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <functional>
#include <memory>
#include <neliroute/time.h>
#include <optional>
#include <string>

#include "tool/upstream/health_probe.h"
#include "tool/upstream/health_rule.h"

namespace neliroute::tool {

class HealthWatch {
 public:
  struct Options {
    std::string address;              ///< HOST:PORT
    std::optional<std::string> path;  ///< see HealthProbe
    milliseconds unhealthy_after;     ///< see HealthRule
    milliseconds starts_within;
  };
  /// `why`: as in "127.0.0.1:9001 accepts no connection (…)".
  struct Handlers {
    std::function<void()> healthy;  ///< at its start, or again
    std::function<void(const std::string& why)> unhealthy;
    /// It did not start in time. Nothing is asked any more.
    std::function<void(const std::string& why)> never;
  };

  HealthWatch(const boost::asio::any_io_executor& executor, Options options, Handlers handlers);
  HealthWatch(const HealthWatch&) = delete;
  HealthWatch& operator=(const HealthWatch&) = delete;

  [[nodiscard]] bool has_started() const noexcept { return rule_.has_value(); }

 private:
  void ask();
  void ask_after(milliseconds pause);
  void note(const std::string& trouble);
  void note_start(const std::string& trouble);

  Options options_;
  Handlers handlers_;
  HealthProbe probe_;
  std::optional<HealthRule> rule_;  ///< none: it has not started
  LocalTime began_;
  bool told_ = false;  ///< that it is waited for
  boost::asio::steady_timer timer_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace neliroute::tool
