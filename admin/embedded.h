// Files that are part of the program: embed.cmake makes them strings.
//
// Threads: any.   Units: bytes of UTF-8.   Errors: none.
#pragma once

#include <string_view>

namespace neliroute::admin {

/// openapi.json: the description of the API.
[[nodiscard]] std::string_view openapi_json() noexcept;

}  // namespace neliroute::admin
