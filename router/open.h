// What Router::open and Watcher::open have in common: from options to an engine. Private.
//
// Threads: one.   Units: std::chrono.   Errors: names the option, what was expected, what to do.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <memory>
#include <neliroute/error.h>
#include <optional>

#include "neli_core/timing.h"
#include "router/engine.h"
#include "router/observable.h"
#include "router/options.h"

namespace neliroute {

struct Opened {
  std::shared_ptr<Engine> engine;
  std::optional<Observable> observable;
  Settings settings;
  Timing timing;
  GroupProtocol protocol = GroupProtocol::classic;
  ProcessInfo process;
  ProcessId id;
  /// What readers ask; of the state machine, for who is no watcher.
  std::shared_ptr<const LeaseVector> leases;
};

[[nodiscard]] Result<Opened> open_engine(boost::asio::any_io_executor executor,
                                         RouterOptions options, bool watcher);

}  // namespace neliroute
