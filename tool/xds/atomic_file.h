// A file that readers see whole, or as it was before.
//
// Threads: any, one a path.   Units: bytes.
// Errors: bad_option, naming the file and the system's reason; the old file stays.
#pragma once

#include <neliroute/error.h>
#include <string>
#include <string_view>

namespace neliroute::tool {

/// Writes PATH.tmp and renames it. It is not synced: after a crash of the machine the file is
/// written again, or is the old one.
[[nodiscard]] Result<void> replace_file(const std::string& path, std::string_view text);

}  // namespace neliroute::tool
