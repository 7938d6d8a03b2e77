// The whole terminal, by ncurses: shows pictures, hears keys and changes of size, and gives the
// terminal back as it was: when it goes, and when a signal ends the process while it is there.
//
// SIGINT, SIGTERM and SIGHUP only raise ended(); Ctrl-Z and what comes after it work.
//
// Threads: one; one FullScreen at a time.   Units: columns and lines.
// Errors: open() says why a terminal cannot be used.
#pragma once

#include <cstdint>
#include <memory>
#include <neliroute/error.h>
#include <optional>

#include "tool/demo/picture.h"

namespace neliroute::tool {

class FullScreen {
 public:
  /// Whether stdin and stdout are a terminal that can do more than add lines.
  [[nodiscard]] static bool possible();
  [[nodiscard]] static Result<std::unique_ptr<FullScreen>> open();
  ~FullScreen();
  FullScreen(const FullScreen&) = delete;
  FullScreen& operator=(const FullScreen&) = delete;

  /// As it is now. It changes while keys are asked for.
  [[nodiscard]] Window window() const;
  /// The next key that was pressed, as WatchKey says; none: nothing waits.
  [[nodiscard]] std::optional<std::uint32_t> key();
  /// Whether the size changed since the last call.
  [[nodiscard]] bool resized();
  void show(const Picture& picture);
  /// A signal asked for the end, or the terminal is gone.
  [[nodiscard]] bool ended() const;

 private:
  struct Parts;
  explicit FullScreen(std::unique_ptr<Parts> parts);
  std::unique_ptr<Parts> parts_;
};

}  // namespace neliroute::tool
