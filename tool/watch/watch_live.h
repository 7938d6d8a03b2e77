// The live screen of `watch`: combines what is watched, the keys and the terminal.
//
// Threads: one.   Units: none.   Errors: printed on stderr, once the terminal is restored.
#pragma once

#include <memory>
#include <neliroute/observable.h>
#include <string>

#include "tool/command_line/options.h"
#include "tool/watch/full_screen.h"
#include "tool/watch/watch_model.h"
#include "tool/watcher_loop.h"

namespace neliroute::tool {

/// Has the model hear how long ago each partition's owner was read.
void hear(WatchModel& model, const Observable& observable, LocalTime now);

/// Runs until the user quits, or a signal arrives; returns the exit code. `http`: this process's
/// admin port; empty: none.
[[nodiscard]] int watch_live(const std::string& command, WatcherLoop& lookup,
                             const CommonOptions& options, const std::string& http,
                             std::unique_ptr<FullScreen> screen);

}  // namespace neliroute::tool
