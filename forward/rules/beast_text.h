// Boost.Beast's string_view and std's. Private to this room.
//
// Threads: pure functions, any.   Units: none.   Errors: none.
#pragma once

#include <boost/beast/core/string.hpp>
#include <string_view>

namespace neliroute::forward {

[[nodiscard]] inline std::string_view view_of(boost::beast::string_view text) noexcept {
  return {text.data(), text.size()};
}
[[nodiscard]] inline boost::beast::string_view to_beast(std::string_view text) noexcept {
  return {text.data(), text.size()};
}
/// As names of fields are compared.
[[nodiscard]] inline bool is_same_name(std::string_view left, std::string_view right) noexcept {
  return boost::beast::iequals(to_beast(left), to_beast(right));
}

}  // namespace neliroute::forward
