// A command that a shell runs in a process group of its own.
//
// It has ended when its whole group has: a shell that forks dies at once of a SIGTERM that the
// program behind it is still obeying. The shell, or what it becomes by `exec`, gets SIGKILL if this
// process dies; what else is in the group does not.
//
// This process adopts what the group leaves behind, and reaps all its children: at most one group
// at a time.
//
// Threads: one, which must live as long as the group.   Units: milliseconds.
// Errors: start() returns false if the system refused it, and errno says why.
#pragma once

#include <sys/types.h>

#include <neliroute/time.h>
#include <optional>
#include <string>
#include <vector>

namespace neliroute::tool {

/// How a group ended.
struct GroupEnd {
  std::optional<int> status;  ///< the shell's; no value: it was returned before
  bool killed = false;        ///< its time was over
};

class ProcessGroup {
 public:
  ProcessGroup() = default;
  /// SIGKILL, if it still runs.
  ~ProcessGroup();
  ProcessGroup(const ProcessGroup&) = delete;
  ProcessGroup& operator=(const ProcessGroup&) = delete;

  /// `sh -c command`, with these variables besides this process's, as in "NAME=value". Its stdin is
  /// empty. The caller watches SIGCHLD before.
  [[nodiscard]] bool start(const std::string& command, const std::vector<std::string>& variables);
  /// After SIGCHLD: the shell's status, as another shell shows it (128 + a signal), once.
  [[nodiscard]] std::optional<int> reap();
  /// SIGTERM, and SIGKILL after `bound`; blocks until all of it has ended.
  [[nodiscard]] GroupEnd end(milliseconds bound);
  [[nodiscard]] pid_t id() const noexcept { return shell_; }

 private:
  void forget();

  pid_t shell_ = 0;  ///< and the group; 0: there is none
};

/// For a signal handler: SIGKILL to the group that runs, if one does; blocks until it has ended.
void kill_group_from_handler() noexcept;

}  // namespace neliroute::tool
