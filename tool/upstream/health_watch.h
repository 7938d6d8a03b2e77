// Asks the application behind `run --upstream` again and again whether it is healthy, and tells the
// router, which hands over what this process owns while it is not.
//
// Threads: one, the router's executor.   Units: std::chrono.   Errors: the router's notices.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/steady_timer.hpp>
#include <memory>
#include <neliroute/router.h>
#include <optional>
#include <string>

#include "tool/upstream/health_probe.h"
#include "tool/upstream/health_rule.h"

namespace neliroute::tool {

class HealthWatch {
 public:
  /// Begins to ask `address`, HOST:PORT: see HealthProbe and HealthRule. The router outlives it.
  HealthWatch(const boost::asio::any_io_executor& executor, Router& router, std::string address,
              std::optional<std::string> path, milliseconds after);
  HealthWatch(const HealthWatch&) = delete;
  HealthWatch& operator=(const HealthWatch&) = delete;

 private:
  void ask();
  void note(const std::string& trouble);

  Router& router_;
  HealthProbe probe_;
  HealthRule rule_;
  boost::asio::steady_timer timer_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace neliroute::tool
