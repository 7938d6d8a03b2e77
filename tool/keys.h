// Keys: from the command line, a file, or stdin. A key is bytes; it may be empty.
//
// Threads: one.   Units: none.   Errors: bad_option, naming the file and what to do.
#pragma once

#include <neliroute/error.h>
#include <optional>
#include <string>
#include <vector>

namespace neliroute::tool {

/// The lines of a file, without their ends, at least one; "-" is stdin.
[[nodiscard]] Result<std::vector<std::string>> read_keys(const std::string& path);

/// Those given, then those of the file, if there is one. No key at all is an error.
[[nodiscard]] Result<std::vector<std::string>> gather_keys(std::vector<std::string> given,
                                                           const std::optional<std::string>& file);

}  // namespace neliroute::tool
