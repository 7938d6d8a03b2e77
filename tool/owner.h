// A process that owns slots: what `neliroute run` does, and what the witness of the Kafka tests
// does while it watches itself.
//
// Threads: one, which runs everything.   Units: std::chrono.
// Errors: says them on stderr and returns the exit code.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <memory>
#include <neliroute/router.h>
#include <optional>
#include <string>

#include "tool/command_line/options.h"

namespace neliroute::tool {

struct OwnerOptions {
  CommonOptions common;
  /// Where event lines go; "-" is stdout.
  std::optional<std::string> events;
  /// Where the admin port listens.
  std::optional<std::string> http;
};

void add_owner_options(CommandLine& line, OwnerOptions& options);

/// Made when the router is open, destroyed before it is; the executor is the router's.
using Companion =
    std::function<std::shared_ptr<void>(const Router&, const boost::asio::any_io_executor&)>;

/// Owns slots until SIGTERM or SIGINT, or until the group refuses it. `command` is for messages.
[[nodiscard]] int run_owner(const std::string& command, const OwnerOptions& options,
                            const Companion& companion = {});

}  // namespace neliroute::tool
