// FilePort on this machine's file systems.
//
// Threads: one at a time.   Units: bytes.   Errors: as file_port.h says.
#pragma once

#include <functional>
#include <sys/types.h>

#include "voter/file_port.h"

namespace neliroute {

class PosixFiles final : public FilePort {
 public:
  Result<void> make_folder(const std::string& path) override;
  Result<std::unique_ptr<FolderLock>> lock(const std::string& folder) override;
  Result<std::vector<std::string>> list(const std::string& folder) override;
  Result<std::string> read(const std::string& path) override;
  Result<std::unique_ptr<File>> open(const std::string& path) override;
  Result<void> rename(const std::string& from, const std::string& to) override;
  Result<void> remove(const std::string& path) override;
  Result<void> sync_folder(const std::string& folder) override;
};

/// Calls `write`, which is as write(2) is, until it has taken all; it may take a part, or be
/// interrupted. False: errno says why.
[[nodiscard]] bool write_all(const std::function<ssize_t(const char*, std::size_t)>& write,
                             std::string_view bytes);

}  // namespace neliroute
