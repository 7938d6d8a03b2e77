// Bytes as text in base64 (RFC 4648, section 4), and back.
//
// Threads: pure functions, any.   Units: bytes.   Errors: no value.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace neliroute {

[[nodiscard]] std::string base64(std::string_view bytes);
/// The bytes that a text stands for; no value: it is none, padding included.
[[nodiscard]] std::optional<std::string> bytes_of_base64(std::string_view text);

}  // namespace neliroute
