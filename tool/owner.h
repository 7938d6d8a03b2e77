// A process that owns slots: what `neliroute run` does, and what the witness of the Kafka tests
// does while it watches itself.
//
// Threads: one, which runs everything.   Units: std::chrono.
// Errors: says them on stderr and returns the exit code.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/io_context.hpp>
#include <functional>
#include <memory>
#include <neliroute/forwarder.h>
#include <neliroute/router.h>
#include <optional>
#include <string>

#include "tool/command_line/options.h"
#include "tool/exec/control_options.h"

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
};

void add_owner_options(CommandLine& line, OwnerOptions& options);

/// Made when the router is open, destroyed before it is; the executor is the router's.
using Companion =
    std::function<std::shared_ptr<void>(Router&, const boost::asio::any_io_executor&)>;

/// Has the owner hand over and leave; the first time counts. `why`: "leaving, as …". Any thread,
/// for as long as what it was given to lives.
using Leave = std::function<void(std::string why)>;

/// Called before the router is opened, on the executor that it will run on. What it returns lives
/// longer than that one, and may have the owner leave from now on.
using BeforeOpen = std::function<Result<std::shared_ptr<void>>(boost::asio::io_context&, Leave)>;

/// Owns slots until SIGTERM or SIGINT, or until the group refuses it. `command` is for messages.
[[nodiscard]] int run_owner(const std::string& command, const OwnerOptions& options,
                            const Companion& companion = {}, const BeforeOpen& before = {});

}  // namespace neliroute::tool
