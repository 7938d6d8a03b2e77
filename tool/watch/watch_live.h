// The screen of `watch`, live: what is watched, the keys and the terminal brought together.
//
// Threads: one.   Units: none.   Errors: told on stderr, once the terminal is what it was.
#pragma once

#include <string>

#include "tool/command_line/options.h"
#include "tool/watcher_loop.h"
#include "tool/watch/full_screen.h"

namespace neliroute::tool {

/// Until somebody quits, or a signal comes; the exit code. `http`: where the admin port is; empty:
/// nowhere.
[[nodiscard]] int watch_live(const std::string& command, WatcherLoop& lookup,
                             const CommonOptions& options, const std::string& http,
                             std::unique_ptr<FullScreen> screen);

}  // namespace neliroute::tool
