// A process that owns slots: what `neliroute run` does, and what the witness of the Kafka tests
// does while it watches itself.
//
// Threads: one, which runs everything.   Units: std::chrono.
// Errors: says them on stderr and returns the exit code.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <memory>
#include <neliroute/forwarder.h>
#include <neliroute/router.h>
#include <optional>
#include <string>

#include "tool/admin_port.h"
#include "tool/command_line/options.h"
#include "tool/exec/control_options.h"
#include "tool/voter_options.h"

namespace neliroute::tool {

struct OwnerOptions {
  CommonOptions common;
  /// Where event lines go; "-" is stdout.
  std::optional<std::string> events;
  /// Where the admin port listens.
  std::optional<std::string> http;
  /// Of the proxy before the application, for the admin port's metrics; none: there is none.
  std::optional<ForwarderCounts> proxy;
  ControlOptions control;
  /// Without an address: it is no voter.
  VoterSettings voter;
};

void add_owner_options(CommandLine& line, OwnerOptions& options);

/// Has the owner hand over and leave; the first time counts. `why`: "leaving, as …". Any thread.
using Leave = std::function<void(std::string why)>;

/// What a Companion has of its owner, for as long as it lives.
struct OpenOwner {
  Router& router;
  boost::asio::any_io_executor executor;  ///< the router's
  const AdminPort* http;                  ///< null: there is none
  Leave leave;
};
/// Made when the router is open and nothing runs yet, destroyed before the router is.
using Companion = std::function<std::shared_ptr<void>(const OpenOwner&)>;

/// Owns slots until SIGTERM or SIGINT, or until the group refuses it. `command` is for messages.
[[nodiscard]] int run_owner(const std::string& command, const OwnerOptions& options,
                            const Companion& companion = {});

}  // namespace neliroute::tool
