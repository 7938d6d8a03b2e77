// The live screen of `watch`: combines what is watched, the keys and the terminal.
//
// Threads: one.   Units: none.   Errors: printed on stderr, once the terminal is restored.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tool/command_line/options.h"
#include "tool/watcher_loop.h"
#include "tool/watch/full_screen.h"
#include "tool/watch/requests_poll.h"

namespace neliroute::tool {

/// What is shown besides who owns what.
struct WatchExtras {
  std::string http;               ///< this process's admin port; empty: none
  std::vector<AskedPort> requests;  ///< those that are asked what becomes of requests there
};

/// Runs until the user quits, or a signal arrives; returns the exit code.
[[nodiscard]] int watch_live(const std::string& command, WatcherLoop& lookup,
                             const CommonOptions& options, WatchExtras extras,
                             std::unique_ptr<FullScreen> screen);

}  // namespace neliroute::tool
