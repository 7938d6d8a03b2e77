#include "tool/demo/picture.h"

#include <algorithm>
#include <array>
#include <utility>

namespace neliroute::tool {
namespace {

struct Range {
  char32_t first;
  char32_t last;
};

constexpr std::array kMarks = {Range{0x300, 0x36f}, Range{0x483, 0x489}, Range{0x591, 0x5bd},
                               Range{0x610, 0x61a}, Range{0x64b, 0x65f}, Range{0x200b, 0x200f},
                               Range{0x20d0, 0x20f0}, Range{0xfe00, 0xfe0f}, Range{0xfe20, 0xfe2f},
                               Range{0xe0100, 0xe01ef}};
constexpr std::array kWide = {Range{0x1100, 0x115f}, Range{0x231a, 0x231b}, Range{0x23e9, 0x23ec},
                              Range{0x26a1, 0x26a1}, Range{0x2705, 0x2705}, Range{0x1f680, 0x1f6ff},
                              Range{0x1f7e0, 0x1f7eb}, Range{0x2e80, 0x303e}, Range{0x3041, 0xa4cf},
                              Range{0xac00, 0xd7a3}, Range{0xf900, 0xfaff}, Range{0xfe30, 0xfe6f},
                              Range{0xff00, 0xff60}, Range{0xffe0, 0xffe6},
                              Range{0x1f300, 0x1f64f}, Range{0x1f900, 0x1faff},
                              Range{0x20000, 0x3fffd}};

template <std::size_t Size>
bool is_in(const std::array<Range, Size>& ranges, char32_t character) {
  return std::any_of(ranges.begin(), ranges.end(), [character](const Range& range) {
    return range.first <= character && character <= range.last;
  });
}

struct Character {
  std::size_t bytes = 1;
  std::size_t columns = 1;
};

/// The first character of a text that is not empty.
Character front_of(std::string_view text) {
  const auto lead = static_cast<unsigned char>(text[0]);
  const std::size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc2 ? 2 : 1;
  if (bytes == 1 || bytes > text.size()) return {};
  auto value = static_cast<char32_t>(lead & (0xffU >> (bytes + 1)));
  for (std::size_t i = 1; i < bytes; ++i) {
    const auto tail = static_cast<unsigned char>(text[i]);
    if ((tail & 0xc0U) != 0x80U) return {};
    value = value << 6U | (tail & 0x3fU);
  }
  return {bytes, is_in(kMarks, value) ? 0U : is_in(kWide, value) ? 2U : 1U};
}

/// The longest prefix that takes at most so many columns.
std::string_view beginning(std::string_view text, std::size_t columns) {
  std::size_t at = 0;
  while (at < text.size()) {
    const Character next = front_of(text.substr(at));
    if (next.columns > columns) break;
    columns -= next.columns;
    at += next.bytes;
  }
  return text.substr(0, at);
}

}  // namespace

std::size_t columns_of(std::string_view text) noexcept {
  std::size_t columns = 0;
  while (!text.empty()) {
    const Character next = front_of(text);
    columns += next.columns;
    text.remove_prefix(next.bytes);
  }
  return columns;
}

std::string fitted(std::string_view text, std::size_t columns, bool to_the_right) {
  if (columns == 0) return {};
  std::string made(text);
  if (columns_of(text) > columns) made = std::string(beginning(text, columns - 1)) + '~';
  const std::string blanks(columns - columns_of(made), ' ');
  return to_the_right ? blanks + made : made + blanks;
}

PictureLine cut(PictureLine line, std::size_t columns) {
  PictureLine made;
  for (Span& span : line) {
    if (columns == 0) break;
    span.text.resize(beginning(span.text, columns).size());
    columns -= columns_of(span.text);
    made.push_back(std::move(span));
  }
  return made;
}

std::string plain_text(const PictureLine& line) {
  std::string text;
  for (const Span& span : line) text += span.text;
  return text;
}

}  // namespace neliroute::tool
