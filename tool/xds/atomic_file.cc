#include "tool/xds/atomic_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <system_error>

#include "tool/print/output.h"

namespace neliroute::tool {
namespace {

Error file_error(std::string_view what, const std::string& path, int error) {
  return {Errc::bad_option, fmt::format("cannot {} {}: {}", what, shown(path),
                                        std::generic_category().message(error))};
}

/// 0, or the system's error.
int write_whole(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(file, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return 0;
}

}  // namespace

Result<void> replace_file(const std::string& path, std::string_view text) {
  const std::string fresh = path + ".tmp";
  // A link that somebody else put there is not followed.
  constexpr int kFlags = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW;
  const int file = ::open(fresh.c_str(), kFlags, 0644);
  if (file < 0) return file_error("write", fresh, errno);
  int error = write_whole(file, text);
  // A full disk may show only now.
  if (::close(file) != 0 && error == 0) error = errno;
  if (error != 0) {
    ::unlink(fresh.c_str());
    return file_error("write", fresh, error);
  }
  if (::rename(fresh.c_str(), path.c_str()) == 0) return {};
  error = errno;
  ::unlink(fresh.c_str());
  return file_error("replace", path, error);
}

}  // namespace neliroute::tool
