// One question to the application behind `run --upstream`: does it accept a connection, or, of a
// path, does it answer 2xx there?
//
// Threads: one (the executor's).   Units: std::chrono.   Errors: passed to the handler.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <neliroute/time.h>
#include <optional>
#include <string>

#include "forward/upstream/upstreams.h"

namespace neliroute::tool {

class HealthProbe {
 public:
  /// What is wrong with it, as in "accepts no connection (…)"; empty: nothing.
  using Answered = std::function<void(const std::string& trouble)>;

  /// `address`: HOST:PORT. No path: that it accepts connections is enough.
  HealthProbe(boost::asio::any_io_executor executor, std::string address,
              std::optional<std::string> path);

  /// Calls it once, never from inside, unless this is destroyed first.
  void ask(milliseconds within, Answered answered);
  [[nodiscard]] const std::string& address() const noexcept { return address_; }

 private:
  void get(forward::Upstream& connected, milliseconds within, const Answered& answered) const;

  std::string address_;
  std::optional<std::string> path_;
  forward::Upstreams upstreams_;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace neliroute::tool
