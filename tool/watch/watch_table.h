// The tables of `watch`, one a page: their columns, cells, order and filter.
//
// Threads: values, any.   Units: LocalTime, columns of a terminal.   Errors: none.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tool/watch/picture.h"
#include "tool/watch/watch_model.h"

namespace neliroute::tool {

enum class WatchPage : std::uint8_t { owners, partitions, moves };
inline constexpr std::size_t kWatchPages = 3;

struct WatchColumn {
  std::string_view title;
  bool to_the_right = false;  ///< numbers: a filter must be equal to them, not a part
};

/// Refers to the model that it was made of.
struct WatchTable {
  std::span<const WatchColumn> columns;  ///< what matters most first
  std::size_t rows = 0;
  std::function<std::vector<Span>(std::uint32_t row)> cells;  ///< one a column
  std::function<bool(std::uint32_t row)> urgent;  ///< such rows come first
};

[[nodiscard]] WatchTable table_of(const WatchModel& model, WatchPage page, LocalTime now);

/// The rows of which a cell passes the filter, in order.
[[nodiscard]] std::vector<std::uint32_t> list(const WatchTable& table, std::string_view filter);

inline constexpr std::size_t kNoWidth = static_cast<std::size_t>(-1);  ///< all of every cell
/// A heading and these rows, with as many columns as there is room for.
[[nodiscard]] Picture picture_of(const WatchTable& table, std::span<const std::uint32_t> rows,
                                 std::size_t width);

/// "assigned by NAME", and whether moves are paused.
[[nodiscard]] std::string assigner_text(const WatchModel& model);
/// "0.4 s", "12 s", "3 min", "5 h", "2 d".
[[nodiscard]] std::string age_text(microseconds age);

}  // namespace neliroute::tool
