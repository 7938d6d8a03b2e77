// What URLs encode with '%'.
//
// Threads: pure functions, any.   Units: none.   Errors: no value.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace neliroute {

/// "a%20b" decoded once. `form`: a '+' is a space. No value: a '%' without two hexadecimal digits.
[[nodiscard]] std::optional<std::string> percent_decoded(std::string_view text, bool form);

}  // namespace neliroute
