#include "tool/xds/atomic_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
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

FileId id_of(const struct stat& found) {
  const std::int64_t seconds = found.st_mtim.tv_sec;
  return {found.st_dev, found.st_ino, found.st_size,
          seconds * 1'000'000'000 + found.st_mtim.tv_nsec};
}

/// 0, or the system's error.
int finish(int file, FileId& id) {
  struct stat found {};
  // Whatever the umask says: Envoy may be another user.
  if (::fchmod(file, 0644) != 0 || ::fstat(file, &found) != 0) return errno;
  id = id_of(found);
  // Or a crash of the machine could leave the new name with nothing in it. Some file systems
  // cannot.
  return ::fdatasync(file) == 0 || errno == EINVAL ? 0 : errno;
}

}  // namespace

std::optional<FileId> file_at(const std::string& path) {
  struct stat found {};
  if (::stat(path.c_str(), &found) != 0) return std::nullopt;
  return id_of(found);
}

Result<FileId> replace_file(const std::string& path, std::string_view text) {
  const std::string fresh = path + ".tmp";
  // What is left of a crash, or what somebody else put there: it may be a link, or not readable.
  if (::unlink(fresh.c_str()) != 0 && errno != ENOENT) return file_error("write", fresh, errno);
  const int file = ::open(fresh.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (file < 0) return file_error("write", fresh, errno);
  FileId id;
  int error = write_whole(file, text) ? 0 : errno;
  if (error == 0) error = finish(file, id);
  // A full disk may show only now.
  if (::close(file) != 0 && error == 0) error = errno;
  if (error != 0) {
    ::unlink(fresh.c_str());
    return file_error("write", fresh, error);
  }
  if (::rename(fresh.c_str(), path.c_str()) == 0) return id;
  error = errno;
  ::unlink(fresh.c_str());
  return file_error("replace", path, error);
}

}  // namespace neliroute::tool
