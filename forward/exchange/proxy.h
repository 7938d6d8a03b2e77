// What all exchanges of one executor share, and what bounds each.
//
// Threads: one (an executor of its own).   Units: std::chrono, bytes.   Errors: none.
#pragma once

#include <neliroute/time.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "forward/directions.h"
#include "forward/proxy_counters.h"
#include "forward/upstream/caution.h"
#include "forward/upstream/upstreams.h"

namespace neliroute::forward {

struct ExchangeLimits {
  milliseconds deadline{10'000};  ///< from a request's header to its answer's
  milliseconds progress{30'000};  ///< for which neither side sends or takes anything
  milliseconds tunnel{300'000};   ///< the same, of an upgraded connection
  std::size_t kept_body = std::size_t{64} * 1024;
  std::uint32_t resends = 3;
  /// For which a request may hold up its partition's hand-over. No value: nobody waits for it.
  std::optional<milliseconds> handover_grace;
  /// At a time, of those who wait for an owner. Includes waits that were given up and that the
  /// router has not ended: while its executor hangs, they would pile up there.
  std::size_t waits = 20'000;
};

struct Proxy {
  Directions& directions;
  Upstreams& upstreams;
  ProxyCounters& counters;
  ExchangeLimits limits;
  std::string name = "neliroute";  ///< in Via
  bool draining = false;           ///< answers say that their connections are closed
  /// Shared, as a wait may outlive the proxy in the router.
  std::shared_ptr<std::atomic<std::size_t>> waits = std::make_shared<std::atomic<std::size_t>>(0);
  Caution caution{};
};

/// How long one request may still take.
class Allowance {
 public:
  using Clock = std::chrono::steady_clock;
  explicit Allowance(milliseconds allowed) : allowed_(allowed) { restart(); }
  /// The client's part of it is over.
  void restart() { end_ = Clock::now() + allowed_; }
  [[nodiscard]] milliseconds left() const {
    return std::max(std::chrono::duration_cast<milliseconds>(end_ - Clock::now()),
                    milliseconds{0});
  }

 private:
  milliseconds allowed_;
  Clock::time_point end_;
};

}  // namespace neliroute::forward
