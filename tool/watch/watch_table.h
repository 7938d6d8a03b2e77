// The tables of `watch`: their columns, cells and order. Private to the screen.
//
// Threads: values, any.   Units: LocalTime, columns of a terminal.   Errors: none.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tool/demo/picture.h"
#include "tool/watch/watch_screen.h"

namespace neliroute::tool {

struct WatchColumn {
  std::string_view title;
  std::size_t most = 10;       ///< columns that it takes at most
  std::size_t rank = 0;        ///< if there is no room, the greatest is dropped first
  bool to_the_right = false;   ///< numbers
  bool descending = false;     ///< sorted by it, the greatest first
};

[[nodiscard]] std::span<const WatchColumn> columns(const WatchModel& model, WatchPage page);

/// Rows of the page, filtered or not.
[[nodiscard]] std::size_t row_count(const WatchModel& model, WatchPage page);

/// A row's cells, one per column.
[[nodiscard]] std::vector<Span> cells(const WatchModel& model, WatchPage page, std::uint32_t row,
                                      LocalTime now);

/// Heading and rows, as wide as fits.
[[nodiscard]] std::vector<PictureLine> table(const WatchModel& model, WatchPage page,
                                             std::span<const std::uint32_t> rows, LocalTime now,
                                             const WatchState::Table& state, std::size_t width);

}  // namespace neliroute::tool
