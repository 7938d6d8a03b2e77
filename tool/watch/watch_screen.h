// The screen of `watch`: what a key does to it, and what it looks like. Pure functions of what is
// watched, the window, and the state that keys have set.
//
// Threads: values, any.   Units: LocalTime.   Errors: none; a window too small for a table gets
// what fits.
#pragma once

#include <cstdint>
#include <string>

#include "tool/watch/picture.h"
#include "tool/watch/watch_model.h"
#include "tool/watch/watch_table.h"

namespace neliroute::tool {

/// Keys; others are the bytes of what was typed, in UTF-8.
enum WatchKey : int {
  kKeyEnter = '\n',
  kKeyTab = '\t',
  kKeyEscape = 0x1b,
  kKeyBackspace = 0x7f,
  kKeyUp = 0x100,
  kKeyDown,
  kKeyPageUp,
  kKeyPageDown,
  kKeyHome,
  kKeyEnd,
  kKeyOther,  ///< all others; and the window has another size
};

struct WatchState {
  WatchPage page = WatchPage::owners;
  std::size_t top = 0;  ///< the first row that is visible; draw() keeps it in bounds
  std::string filter;
  bool typing = false;  ///< the filter
  bool quit = false;
};

/// What is shown around the tables.
struct WatchMoment {
  std::string title;     ///< topic and brokers
  std::string clock;     ///< "14:05:59"
  std::string notice;    ///< the last line of the log; empty: there is none
  LocalTime now;
  microseconds silence{0};  ///< since the most silent log answered
  bool answers = false;     ///< whether every log's leader does
};

void press(WatchState& state, int key, Window window);

/// As many lines as the window has, none wider than it.
[[nodiscard]] Picture draw(const WatchModel& model, const WatchMoment& moment, WatchState& state,
                           Window window);

}  // namespace neliroute::tool
