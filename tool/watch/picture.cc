#include "tool/watch/picture.h"

#include <wchar.h>

#include <algorithm>
#include <cwchar>
#include <utility>

namespace neliroute::tool {
namespace {

struct Character {
  std::size_t bytes = 1;
  std::size_t columns = 1;
};

/// The first character of a text that is not empty.
Character front_of(std::string_view text) {
  std::mbstate_t state{};
  wchar_t value = 0;
  const std::size_t bytes = std::mbrtowc(&value, text.data(), text.size(), &state);
  if (bytes == 0 || bytes > text.size()) return {};  // a failure is greater than any size
  return {bytes, static_cast<std::size_t>(std::max(::wcwidth(value), 0))};
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
  text.erase(text.find_last_not_of(' ') + 1);
  return text;
}

}  // namespace neliroute::tool
