// The operations on files that a voter's disk is made of.
//
// What an operation did is on disk only after a sync: of the file for its bytes and its size, of
// the folder for names. Until then a crash may leave all of it, none, or a part.
//
// Threads: one at a time.   Units: bytes.
// Errors: system_refused, with the operation, the path and the system's reason.
#pragma once

#include <cstddef>
#include <memory>
#include <neliroute/error.h>
#include <string>
#include <string_view>
#include <vector>

namespace neliroute {

/// Open to be written.
class File {
 public:
  File() = default;
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  virtual ~File() = default;

  /// All of it; after an error, a part of it may be there.
  virtual Result<void> append(std::string_view bytes) = 0;
  virtual Result<void> truncate(std::size_t size) = 0;
  /// fdatasync. After an error nothing is known of what was written since the last one, and a
  /// second call proves nothing: the system reports such an error once.
  virtual Result<void> sync() = 0;
};

/// Held until it is destroyed.
class FolderLock {
 public:
  FolderLock() = default;
  FolderLock(const FolderLock&) = delete;
  FolderLock& operator=(const FolderLock&) = delete;
  virtual ~FolderLock() = default;
};

class FilePort {
 public:
  FilePort() = default;
  FilePort(const FilePort&) = delete;
  FilePort& operator=(const FilePort&) = delete;
  virtual ~FilePort() = default;

  /// Unless it is there; its name is on disk, too.
  virtual Result<void> make_folder(const std::string& path) = 0;
  /// bad_option: another process has it.
  virtual Result<std::unique_ptr<FolderLock>> lock(const std::string& folder) = 0;
  /// The names of all that is in it.
  virtual Result<std::vector<std::string>> list(const std::string& folder) = 0;
  virtual Result<std::string> read(const std::string& path) = 0;
  /// Created, unless it is there.
  virtual Result<std::unique_ptr<File>> open(const std::string& path) = 0;
  virtual Result<void> rename(const std::string& from, const std::string& to) = 0;
  virtual Result<void> remove(const std::string& path) = 0;
  virtual Result<void> sync_folder(const std::string& folder) = 0;
};

}  // namespace neliroute
