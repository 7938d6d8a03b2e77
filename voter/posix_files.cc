#include "voter/posix_files.h"

#include <cerrno>
#include <cstdio>
#include <fcntl.h>
#include <filesystem>
#include <sys/file.h>
#include <sys/stat.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace neliroute {
namespace {

Error failed(const std::string& what, const std::string& path, int error = errno) {
  return {Errc::system_refused,
          "cannot " + what + " `" + path + "`: " + std::generic_category().message(error)};
}

Result<void> done_or(bool done, const std::string& what, const std::string& path) {
  if (!done) {
    return failed(what, path);
  }
  return {};
}

template <class Call>
auto uninterrupted(const Call& call) {
  auto returned = call();
  while (returned == -1 && errno == EINTR) {
    returned = call();
  }
  return returned;
}

class Descriptor {
 public:
  Descriptor(const std::string& path, int flags)
      : number_(uninterrupted([&] { return ::open(path.c_str(), flags | O_CLOEXEC, 0600); })) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor() {
    if (number_ != -1) {
      ::close(number_);
    }
  }
  [[nodiscard]] bool is_open() const noexcept { return number_ != -1; }
  [[nodiscard]] int number() const noexcept { return number_; }

 private:
  int number_;
};

class PosixFile final : public File {
 public:
  PosixFile(std::string path, Descriptor file) : path_(std::move(path)), file_(std::move(file)) {}

  Result<void> append(std::string_view bytes) override {
    const auto write = [&](const char* from, std::size_t size) {
      return ::write(file_.number(), from, size);
    };
    return done_or(write_all(write, bytes), "write to", path_);
  }
  Result<void> truncate(std::size_t size) override {
    const auto call = [&] { return ::ftruncate(file_.number(), static_cast<off_t>(size)); };
    return done_or(uninterrupted(call) == 0, "truncate", path_);
  }
  Result<void> sync() override {
    const auto call = [&] { return ::fdatasync(file_.number()); };
    return done_or(uninterrupted(call) == 0, "sync", path_);
  }

 private:
  std::string path_;
  Descriptor file_;
};

class PosixLock final : public FolderLock {
 public:
  explicit PosixLock(Descriptor folder) : folder_(std::move(folder)) {}

 private:
  Descriptor folder_;
};

}  // namespace

bool write_all(const std::function<ssize_t(const char*, std::size_t)>& write,
               std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = uninterrupted([&] { return write(bytes.data(), bytes.size()); });
    if (written < 0) {
      return false;
    }
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

Result<void> PosixFiles::make_folder(const std::string& path) {
  if (::mkdir(path.c_str(), 0700) == 0) {
    const std::string parent = std::filesystem::path(path).parent_path().string();
    return sync_folder(parent.empty() ? "." : parent);
  }
  const int error = errno;
  std::error_code ignored;
  if (error != EEXIST || !std::filesystem::is_directory(path, ignored)) {
    return failed("make the folder", path, error);
  }
  return {};
}

Result<std::unique_ptr<FolderLock>> PosixFiles::lock(const std::string& folder) {
  Descriptor opened(folder, O_RDONLY | O_DIRECTORY);
  if (!opened.is_open()) {
    return failed("open", folder);
  }
  if (uninterrupted([&] { return ::flock(opened.number(), LOCK_EX | LOCK_NB); }) != 0) {
    if (errno == EWOULDBLOCK) {
      return Error(Errc::bad_option, "the folder `" + folder +
                                         "` is used by another process; each voter needs one of "
                                         "its own");
    }
    return failed("lock", folder);
  }
  return std::unique_ptr<FolderLock>(std::make_unique<PosixLock>(std::move(opened)));
}

Result<std::vector<std::string>> PosixFiles::list(const std::string& folder) {
  std::vector<std::string> names;
  std::error_code error;
  std::filesystem::directory_iterator at(folder, error);
  while (!error && at != std::filesystem::directory_iterator()) {
    names.push_back(at->path().filename().string());
    at.increment(error);
  }
  if (error) {
    return failed("list", folder, error.value());
  }
  return names;
}

Result<std::string> PosixFiles::read(const std::string& path) {
  const Descriptor file(path, O_RDONLY);
  if (!file.is_open()) {
    return failed("open", path);
  }
  std::string bytes;
  std::vector<char> part(std::size_t{1} << 18);
  for (;;) {
    const ssize_t size =
        uninterrupted([&] { return ::read(file.number(), part.data(), part.size()); });
    if (size < 0) {
      return failed("read", path);
    }
    if (size == 0) {
      return bytes;
    }
    bytes.append(part.data(), static_cast<std::size_t>(size));
  }
}

Result<std::unique_ptr<File>> PosixFiles::open(const std::string& path) {
  Descriptor file(path, O_WRONLY | O_APPEND | O_CREAT);
  if (!file.is_open()) {
    return failed("open", path);
  }
  return std::unique_ptr<File>(std::make_unique<PosixFile>(path, std::move(file)));
}

Result<void> PosixFiles::rename(const std::string& from, const std::string& to) {
  return done_or(std::rename(from.c_str(), to.c_str()) == 0, "rename", from);
}

Result<void> PosixFiles::remove(const std::string& path) {
  return done_or(::unlink(path.c_str()) == 0, "remove", path);
}

Result<void> PosixFiles::sync_folder(const std::string& folder) {
  const Descriptor opened(folder, O_RDONLY | O_DIRECTORY);
  return done_or(opened.is_open() &&
                     uninterrupted([&] { return ::fsync(opened.number()); }) == 0,
                 "sync", folder);
}

}  // namespace neliroute
