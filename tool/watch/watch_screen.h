// The screen of `watch`: what a key does to it, and what it looks like. Pure functions of what is
// watched, the window, and the state that keys have set.
//
// Only what is visible is drawn; a Listing says what is visible, and is rebuilt only if the view or
// the arrangement changed.
//
// Threads: values, any.   Units: LocalTime.   Errors: none; a window too small for a table gets
// what fits.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "tool/demo/picture.h"
#include "tool/watch/watch_model.h"

namespace neliroute::tool {

enum class WatchPage : std::uint8_t { owners, partitions, moves, requests };
inline constexpr std::size_t kWatchPages = 4;  ///< the last one only where requests are asked for

/// Keys that are not characters; a character is its code point.
enum WatchKey : std::uint32_t {
  kKeyEnter = '\n',
  kKeyTab = '\t',
  kKeyEscape = 0x1b,
  kKeyBackspace = 0x7f,
  kKeyUp = 0x110000,
  kKeyDown,
  kKeyPageUp,
  kKeyPageDown,
  kKeyHome,
  kKeyEnd,
};

struct WatchState {
  struct Table {
    std::size_t sort = 0;     ///< column by which it is sorted: an index of the page's columns
    bool descending = false;
    std::size_t selected = 0;  ///< row of the listing
    std::size_t top = 0;       ///< the first row that is visible
  };
  WatchPage page = WatchPage::owners;
  std::array<Table, kWatchPages> tables;
  std::string filter;
  bool typing = false;  ///< the filter
  bool help = false;
  bool quit = false;

  WatchState();
  [[nodiscard]] Table& table() { return tables[static_cast<std::size_t>(page)]; }
  [[nodiscard]] const Table& table() const { return tables[static_cast<std::size_t>(page)]; }
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

/// Rows of the page's table that pass the filter, in order: indices of the model's.
using Listing = std::vector<std::uint32_t>;
[[nodiscard]] Listing list(const WatchModel& model, const WatchState& state);

/// How many rows of the table are visible.
[[nodiscard]] std::size_t table_lines(const WatchState& state, Window window);
/// The same state with a selection that exists and is visible.
[[nodiscard]] WatchState settled(WatchState state, const Listing& listing, Window window);
[[nodiscard]] WatchState pressed(WatchState state, std::uint32_t key, const WatchModel& model,
                                 const Listing& listing, Window window);

/// As many lines as the window has, none wider than it.
[[nodiscard]] Picture draw(const WatchModel& model, const Listing& listing,
                           const WatchMoment& moment, const WatchState& state, Window window);

/// "0.4 s", "12 s", "3 min", "5 h", "2 d"; "-" if it is not known since when.
[[nodiscard]] std::string age_text(microseconds age);
[[nodiscard]] std::string age_text(LocalTime since, LocalTime now);

}  // namespace neliroute::tool
