// The target of a request, in its parts. Nothing is decoded.
//
// Threads: pure functions, any.   Units: none.   Errors: no value: it is no target.
// RFC 9112, section 3.2.
#pragma once

#include <optional>
#include <string_view>

namespace neliroute::forward {

struct Target {
  /// Of an absolute target, `http://HOST:PORT/path`; empty: it names none.
  std::string_view authority;
  std::string_view path;   ///< with its leading '/'; "*" of an OPTIONS for the whole server
  std::string_view query;  ///< what follows the '?'
  /// Path and query, as an origin server expects them.
  std::string_view origin;
};

/// The parts refer to `text`. An absolute target without a path has the path "/".
[[nodiscard]] std::optional<Target> split_target(std::string_view text);

}  // namespace neliroute::forward
