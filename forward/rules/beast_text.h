// What the rules do to texts and to names of fields. Private to this room.
//
// Threads: pure functions, any.   Units: none.   Errors: none.
#pragma once

#include <algorithm>
#include <boost/beast/core/string.hpp>
#include <boost/beast/http/fields.hpp>
#include <iterator>
#include <string_view>
#include <vector>

#include "router/text/ascii.h"

namespace neliroute::forward {

[[nodiscard]] inline std::string_view view_of(boost::beast::string_view text) noexcept {
  return {text.data(), text.size()};
}
[[nodiscard]] inline boost::beast::string_view to_beast(std::string_view text) noexcept {
  return {text.data(), text.size()};
}
/// The same to an application, too: many get X_User and X-User under one name (CGI, WSGI).
[[nodiscard]] inline bool is_alike(std::string_view left, std::string_view right) noexcept {
  const auto seen = [](char c) {
    return c == '_' ? '-' : ascii_lower(c);
  };
  return std::equal(left.begin(), left.end(), right.begin(), right.end(),
                    [&](char a, char b) { return seen(a) == seen(b); });
}

[[nodiscard]] inline std::string_view trimmed(std::string_view text) noexcept {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") + 1 - begin);
}
/// Of a request's target.
[[nodiscard]] inline std::string_view without_query(std::string_view target) noexcept {
  return target.substr(0, target.find('?'));
}
[[nodiscard]] inline std::vector<std::string_view> split(std::string_view text, char by) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(by);
    parts.push_back(text.substr(0, end));
    if (end == text.npos) return parts;
    text.remove_prefix(end + 1);
  }
}

/// Removes the fields of whose names it is true.
template <class IsUnwanted>
void erase_fields(boost::beast::http::fields& fields, const IsUnwanted& is_unwanted) {
  for (auto one = fields.begin(); one != fields.end();) {
    one = is_unwanted(view_of(one->name_string())) ? fields.erase(one) : std::next(one);
  }
}

}  // namespace neliroute::forward
