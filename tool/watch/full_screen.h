// The whole terminal, by ncurses: shows pictures, reads keys, and restores the terminal when it is
// destroyed, and when a signal ends the process.
//
// SIGINT, SIGTERM and SIGHUP only set ended(); Ctrl-Z and resuming work.
//
// Threads: one; one FullScreen at a time.   Units: columns and lines.
// Errors: open() says why a terminal cannot be used.
#pragma once

#include <memory>
#include <neliroute/error.h>

#include "tool/watch/picture.h"

namespace neliroute::tool {

class FullScreen {
 public:
  /// Whether stdin and stdout are a terminal that can do more than add lines.
  [[nodiscard]] static bool possible();
  [[nodiscard]] static Result<std::unique_ptr<FullScreen>> open();
  ~FullScreen();
  FullScreen(const FullScreen&) = delete;
  FullScreen& operator=(const FullScreen&) = delete;

  /// As it is now. It changes while keys are read.
  [[nodiscard]] Window window() const;
  /// The next byte that was typed, or a WatchKey; 0: none waits.
  [[nodiscard]] int key();
  void show(const Picture& picture);
  /// A signal requested the end, or the terminal is gone.
  [[nodiscard]] bool ended() const;

 private:
  FullScreen() = default;
};

}  // namespace neliroute::tool
