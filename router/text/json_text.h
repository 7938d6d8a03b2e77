// Untrusted text as JSON, which carries UTF-8 only; and times, which Boost.JSON would write as
// 1.7E9.
//
// Threads: pure functions, any.   Units: bytes.   Errors: none.
#pragma once

#include <boost/json/object.hpp>
#include <neliroute/ids.h>
#include <neliroute/time.h>
#include <string>
#include <string_view>

namespace neliroute {

[[nodiscard]] bool is_utf8(std::string_view text) noexcept;
/// {name:..}, or {name_base64:..} where JSON could not carry it: not UTF-8.
void put_text(boost::json::object& row, std::string_view name, std::string_view text);
/// {"inc":..,"offset":..}
[[nodiscard]] boost::json::object json_of(const Epoch& epoch);

/// "1234.567890"
[[nodiscard]] std::string seconds_text(microseconds since_epoch);
/// "1234.567"
[[nodiscard]] std::string milliseconds_text(microseconds duration);

}  // namespace neliroute
