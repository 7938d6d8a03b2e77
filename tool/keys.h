// Keys: from the command line, a file, or stdin. A key is bytes; it may be empty.
//
// Threads: one.   Units: none.   Errors: bad_option, naming the file and what to do.
#pragma once

#include <neliroute/error.h>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace neliroute::tool {

struct KeyOptions {
  std::optional<std::string> file;
  bool base64 = false;  ///< all keys are in base64
};

/// The lines of a file, at least one, without their ends (LF or CRLF) and a byte order mark; "-" is
/// stdin. Empty lines are no keys.
[[nodiscard]] Result<std::vector<std::string>> read_keys(const std::string& path);

/// Those given, then those of the file, if there is one. No key at all is an error.
[[nodiscard]] Result<std::vector<std::string>> gather_keys(std::vector<std::string> given,
                                                           const KeyOptions& options);

}  // namespace neliroute::tool
