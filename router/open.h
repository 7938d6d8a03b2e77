// From options to a reader that runs: what Router::open and Watcher::open have in common. Private.
//
// Threads: one.   Units: std::chrono.   Errors: names the option, what was expected, what to do.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <memory>
#include <neliroute/error.h>
#include <neliroute/observable.h>
#include <neliroute/options.h>
#include <neliroute/settings.h>

#include "router/owner/owning_reader.h"
#include "router/reader/watching_reader.h"

namespace neliroute {

struct Opened {
  std::shared_ptr<OwningReader> owner;     ///< a Router's
  std::shared_ptr<WatchingReader> reader;  ///< a Watcher's
  std::unique_ptr<const Observable> observable;
  Settings settings;
  Timing timing;
  GroupProtocol protocol = GroupProtocol::classic;
  ProcessInfo process;
  ProcessId id;
  /// The state machine's; null for a watcher.
  std::shared_ptr<const LeaseVector> leases;
};

[[nodiscard]] Result<Opened> open_owner(boost::asio::any_io_executor executor,
                                        RouterOptions options);
[[nodiscard]] Result<Opened> open_watcher(boost::asio::any_io_executor executor,
                                          WatcherOptions options);

}  // namespace neliroute
