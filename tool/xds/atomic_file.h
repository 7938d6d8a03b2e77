// A file that readers see whole, or as it was before.
//
// Threads: any, one a path.   Units: bytes.
// Errors: bad_option, naming the file and the system's reason; the old file stays.
#pragma once

#include <neliroute/error.h>
#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace neliroute::tool {

/// Which file it is, and as of when: another one at the same path has another, and so has the same
/// one when it was written to.
struct FileId {
  dev_t device = 0;
  ino_t inode = 0;
  off_t size_bytes = 0;
  std::int64_t changed_ns = 0;
  friend bool operator==(const FileId&, const FileId&) = default;
};

/// Of the file that is there; none: there is none, as far as can be seen.
[[nodiscard]] std::optional<FileId> file_at(const std::string& path);

/// Writes PATH.tmp anew, readable for everybody, waits until it is on the disk, and renames it.
[[nodiscard]] Result<FileId> replace_file(const std::string& path, std::string_view text);

}  // namespace neliroute::tool
