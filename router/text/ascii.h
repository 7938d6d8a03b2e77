// Names in protocols, which are ASCII: compared whatever their case, and whatever the locale.
//
// Threads: pure functions, any.   Units: none.   Errors: none.
#pragma once

#include <algorithm>
#include <string_view>

namespace neliroute {

[[nodiscard]] constexpr char ascii_lower(char c) noexcept {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

/// Instead of beast::iequals(): in Boost 1.81 it reads a byte beyond both where a case differs.
[[nodiscard]] constexpr bool is_same_name(std::string_view left, std::string_view right) noexcept {
  return std::equal(left.begin(), left.end(), right.begin(), right.end(),
                    [](char a, char b) { return ascii_lower(a) == ascii_lower(b); });
}

}  // namespace neliroute
