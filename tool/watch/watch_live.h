// The live screen of `watch`: combines what is watched, the keys and the terminal.
//
// Threads: one.   Units: none.   Errors: printed on stderr, once the terminal is restored.
#pragma once

#include <string>

#include "tool/command_line/options.h"
#include "tool/watcher_loop.h"
#include "tool/watch/full_screen.h"

namespace neliroute::tool {

/// Runs until the user quits, or a signal arrives; returns the exit code. `http`: the admin port's
/// address; empty: none.
[[nodiscard]] int watch_live(const std::string& command, WatcherLoop& lookup,
                             const CommonOptions& options, const std::string& http,
                             std::unique_ptr<FullScreen> screen);

}  // namespace neliroute::tool
