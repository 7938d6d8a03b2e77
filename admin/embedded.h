// Files that are compiled into the program: embed.cmake makes them strings.
//
// Threads: any.   Units: bytes of UTF-8.   Errors: none.
#pragma once

#include <span>
#include <string_view>

namespace neliroute::admin {

struct EmbeddedFile {
  std::string_view name;    ///< from this folder: "openapi.json", "page/main.js"
  std::string_view sha256;  ///< of its text, in hexadecimal digits
  std::string_view text;
};

/// openapi.json, the description of the API, and all of page/: the slot page.
[[nodiscard]] std::span<const EmbeddedFile> embedded_files() noexcept;

}  // namespace neliroute::admin
