// Lines of text for a terminal, and their inks; measured in columns, whatever the script.
//
// Colour is never the only sign: an ink only repeats what the text says.
//
// Threads: values, any.   Units: columns, as wcwidth() of the C library counts them in the locale.
// Errors: none; bytes that are no character of the locale take a column each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace neliroute::tool {

enum class Ink : std::uint8_t {
  plain,
  strong,
  warning,  ///< what needs attention: nobody owns it, the ledger is silent
};

struct Span {
  std::string text;
  Ink ink = Ink::plain;
};

using PictureLine = std::vector<Span>;
using Picture = std::vector<PictureLine>;

struct Window {
  std::size_t columns = 80;
  std::size_t lines = 24;
};

/// The columns that a text takes: East Asian wide characters take two, combining marks none.
[[nodiscard]] std::size_t columns_of(std::string_view text) noexcept;
/// Exactly so many columns: padded with blanks, or cut, which a ~ at its end shows.
[[nodiscard]] std::string fitted(std::string_view text, std::size_t columns, bool to_the_right);
/// As much of the line as fits.
[[nodiscard]] PictureLine cut(PictureLine line, std::size_t columns);
/// Its letters without ink, and without the blanks at its end.
[[nodiscard]] std::string plain_text(const PictureLine& line);

}  // namespace neliroute::tool
