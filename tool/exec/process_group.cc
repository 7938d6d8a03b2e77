#include "tool/exec/process_group.h"

#include <fcntl.h>
#include <poll.h>
#include <spawn.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <string_view>

namespace neliroute::tool {
namespace {

using Clock = std::chrono::steady_clock;

// No signal tells when the last process of a group has ended.
constexpr milliseconds kPollEvery{5};
// For the kernel, to end what SIGKILL was sent to.
constexpr milliseconds kKilled{1000};

// What a signal handler knows of the group that runs; 0: none does.
std::atomic<pid_t> running{0};
static_assert(std::atomic<pid_t>::is_always_lock_free);

// --- In signal handlers, too: only system calls. ---

int shell_code(int status) {
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/// Whether no process of it is left, not even one that nobody has reaped.
bool has_ended(pid_t group) noexcept { return ::kill(-group, 0) != 0 && errno == ESRCH; }

/// Whether no process of it is left, after reaping those that have ended: each is a child of this
/// process, or was adopted. `status`: the shell's, once it has ended.
bool is_gone(pid_t group, std::optional<int>& status) noexcept {
  int ended = 0;
  for (pid_t one = 0; (one = ::waitpid(-group, &ended, WNOHANG)) > 0;) {
    if (one == group) status = shell_code(ended);
  }
  return has_ended(group);
}

bool await_gone(pid_t group, milliseconds bound, std::optional<int>& status) noexcept {
  const auto deadline = Clock::now() + bound;
  while (!is_gone(group, status)) {
    if (Clock::now() >= deadline) return false;
    ::poll(nullptr, 0, static_cast<int>(kPollEvery.count()));
  }
  return true;
}

GroupEnd end_group(pid_t group, milliseconds bound) noexcept {
  GroupEnd end;
  if (is_gone(group, end.status)) return end;  // and its number may be another's soon
  if (bound.count() > 0) {
    ::kill(-group, SIGTERM);
    if (await_gone(group, bound, end.status)) return end;
  }
  ::kill(-group, SIGKILL);
  end.killed = true;
  await_gone(group, kKilled, end.status);
  return end;
}

/// What a child begins with.
struct Beginning {
  Beginning() {
    ::posix_spawnattr_init(&attributes);
    ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
                                                POSIX_SPAWN_SETSIGDEF);
    ::posix_spawnattr_setpgroup(&attributes, 0);
    // Signals that this process handles, ignores or blocks are the program's own affair.
    sigset_t signals;
    ::sigemptyset(&signals);
    ::posix_spawnattr_setsigmask(&attributes, &signals);
    for (const int number : {SIGPIPE, SIGTERM, SIGINT, SIGCHLD}) ::sigaddset(&signals, number);
    ::posix_spawnattr_setsigdefault(&attributes, &signals);
    // Nothing that this process has open stays open because of the child.
    ::posix_spawn_file_actions_init(&files);
    ::posix_spawn_file_actions_addopen(&files, 0, "/dev/null", O_RDONLY, 0);
    ::posix_spawn_file_actions_addclosefrom_np(&files, 3);
  }
  ~Beginning() {
    ::posix_spawnattr_destroy(&attributes);
    ::posix_spawn_file_actions_destroy(&files);
  }
  Beginning(const Beginning&) = delete;
  Beginning& operator=(const Beginning&) = delete;

  posix_spawnattr_t attributes{};
  posix_spawn_file_actions_t files{};
};

}  // namespace

bool ProcessGroup::start(const std::string& command, const std::vector<std::string>& variables) {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  std::vector<char*> environment;
  for (const std::string& one : variables) environment.push_back(const_cast<char*>(one.c_str()));
  // Of two with one name, shells take the last.
  const auto is_ours = [&](std::string_view inherited) {
    return std::any_of(variables.begin(), variables.end(), [&](const std::string& one) {
      return inherited.starts_with(one.substr(0, one.find('=') + 1));
    });
  };
  for (char** one = ::environ; *one != nullptr; ++one) {
    if (!is_ours(*one)) environment.push_back(*one);
  }
  environment.push_back(nullptr);
  std::array<const char*, 8> words{"setpriv", "--pdeathsig", "KILL", "--",
                                   "sh",      "-c",          command.c_str(), nullptr};
  const Beginning begin;
  const int failure = ::posix_spawnp(&shell_, words[0], &begin.files, &begin.attributes,
                                     const_cast<char**>(words.data()), environment.data());
  if (failure != 0) {
    shell_ = 0;
    errno = failure;
    return false;
  }
  running = shell_;
  return true;
}

ProcessGroup::~ProcessGroup() { static_cast<void>(end(milliseconds{0})); }

std::optional<int> ProcessGroup::reap() {
  std::optional<int> status;
  int ended = 0;
  for (pid_t one = 0; (one = ::waitpid(-1, &ended, WNOHANG)) > 0;) {
    if (one == shell_) status = shell_code(ended);
  }
  if (shell_ > 0 && has_ended(shell_)) forget();
  return status;
}

GroupEnd ProcessGroup::end(milliseconds bound) {
  const GroupEnd end = shell_ > 0 ? end_group(shell_, bound) : GroupEnd{};
  forget();
  return end;
}

void ProcessGroup::forget() {
  shell_ = 0;
  running = 0;
}

void kill_group_from_handler() noexcept {
  const pid_t group = running.load();
  if (group > 0) static_cast<void>(end_group(group, milliseconds{0}));
}

}  // namespace neliroute::tool
