// A command that a shell runs in a process group of its own, and that never outlives this process.
//
// It has ended when its whole group has: a shell that forks dies at once of a SIGTERM that the
// program behind it is still obeying. If this process dies, a guardian kills the group: a small
// shell that waits for the end of a pipe whose other end is here. Another one takes its place if it
// ends. What leaves the group, as by setsid(), is its own affair.
//
// This process adopts what the group leaves behind, and reaps all its children: at most one group
// at a time.
//
// Threads: one, which must live as long as the group.   Units: milliseconds.
// Errors: start() returns nothing if the system refused it, and errno says why.
#pragma once

#include <sys/types.h>

#include <neliroute/time.h>
#include <optional>

namespace neliroute::tool {

class ProcessGroup {
 public:
  ProcessGroup() = default;
  /// SIGKILL, if it still runs.
  ~ProcessGroup();
  ProcessGroup(const ProcessGroup&) = delete;
  ProcessGroup& operator=(const ProcessGroup&) = delete;

  /// What is written to `to` comes to its descriptor 0, and what it writes to 3 to `from`.
  struct Ends {
    int to;
    int from;
  };
  /// `sh -c command`. The caller closes the ends, and watches SIGCHLD before. `grace`: for
  /// end_group_from_handler().
  [[nodiscard]] std::optional<Ends> start(const char* command, milliseconds grace);
  /// After SIGCHLD: the shell's status, as another shell shows it (128 + a signal), once.
  [[nodiscard]] std::optional<int> reap();
  /// The same, and blocks for it for at most `bound`.
  [[nodiscard]] std::optional<int> await_status(milliseconds bound);
  /// SIGTERM, and SIGKILL after `bound`; blocks until all of it has ended.
  void end(milliseconds bound);
  [[nodiscard]] pid_t id() const noexcept { return shell_; }

 private:
  [[nodiscard]] bool start_guardian();
  void replace_guardian();
  void forget();

  pid_t shell_ = 0;     ///< and the group; 0: there is none
  pid_t guardian_ = 0;  ///< 0: none, or it was reaped
  int guarded_ = -1;    ///< the pipe whose end the guardian awaits
};

/// For a signal handler, or another way of ending at once: SIGTERM to the group that runs, if one
/// does, and SIGKILL after its grace; blocks meanwhile.
void end_group_from_handler() noexcept;
/// The same, with SIGKILL alone.
void kill_group_from_handler() noexcept;

}  // namespace neliroute::tool
