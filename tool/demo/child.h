// Child processes that end with this one, however it ends.
//
// Threads: one, which lives as long as the children: the kernel ends them with the thread that
// started them.   Units: std::chrono.   Errors: start() says what the system refused.
#pragma once

#include <sys/types.h>

#include <map>
#include <neliroute/error.h>
#include <neliroute/time.h>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace neliroute::tool {

struct ChildOptions {
  /// After the program's name.
  std::vector<std::string> arguments;
  /// Where its stdout and stderr go: files, which are overwritten.
  std::string output;
  std::string errors;
  /// Whether it sees the NELIROUTE_* variables of this process.
  bool inherit_settings = true;
  std::map<std::string, std::string> environment;
};

class Child {
 public:
  /// Starts this same program. The child is in a process group of its own, so that Ctrl-C reaches
  /// only this process, which then ends it in order.
  [[nodiscard]] static Result<Child> start(const ChildOptions& options);
  /// SIGKILL, if it still runs.
  ~Child();
  Child(Child&& other) noexcept;
  Child& operator=(Child&& other) noexcept;

  [[nodiscard]] pid_t pid() const noexcept { return pid_; }
  [[nodiscard]] bool running();
  /// Sends a signal, if it still runs.
  void signal(int number);
  /// Waits until it has ended. False: it has not within the bound.
  bool wait(milliseconds bound);

 private:
  explicit Child(pid_t pid) : pid_(pid) {}
  pid_t pid_ = -1;  ///< -1: it was waited for
};

/// A folder in $TMPDIR that is removed with all its files.
class TemporaryFolder {
 public:
  [[nodiscard]] static Result<TemporaryFolder> make();
  ~TemporaryFolder();
  TemporaryFolder(TemporaryFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  TemporaryFolder& operator=(TemporaryFolder&&) = delete;
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  explicit TemporaryFolder(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

/// The first line of a file, once it is complete.
[[nodiscard]] std::optional<std::string> first_line(const std::string& path);
/// The last lines of a file.
[[nodiscard]] std::string last_lines(const std::string& path, std::size_t count);

}  // namespace neliroute::tool
