#include "tool/exec/process_group.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <utility>

namespace neliroute::tool {
namespace {

using Clock = std::chrono::steady_clock;

// No signal tells when the last process of a group has ended.
constexpr milliseconds kPollEvery{5};
// For the kernel, to end what SIGKILL was sent to.
constexpr milliseconds kKilled{1000};

// What signal handlers know of the group that runs; 0: none does.
std::atomic<pid_t> running{0};
std::atomic<pid_t> guarding{0};
std::atomic<std::int64_t> running_grace{0};
static_assert(std::atomic<pid_t>::is_always_lock_free);
static_assert(std::atomic<std::int64_t>::is_always_lock_free);

// --- In signal handlers, too: only system calls. ---

/// Whether no process of it is left, not even one that nobody has reaped.
bool has_ended(pid_t group) noexcept { return ::kill(-group, 0) != 0 && errno == ESRCH; }

/// Whether no process of it is left, after reaping those that have ended: each is a child of this
/// process, or was adopted.
bool is_gone(pid_t group) noexcept {
  while (::waitpid(-group, nullptr, WNOHANG) > 0) {
  }
  return has_ended(group);
}

/// Whether it became true within that.
template <typename Condition>
bool await(milliseconds bound, const Condition& condition) {
  const auto deadline = Clock::now() + bound;
  while (!condition()) {
    if (Clock::now() >= deadline) return false;
    ::poll(nullptr, 0, static_cast<int>(kPollEvery.count()));
  }
  return true;
}

bool await_gone(pid_t group, milliseconds bound) noexcept {
  return await(bound, [group] { return is_gone(group); });
}

void end_group(pid_t group, milliseconds bound) noexcept {
  if (is_gone(group)) return;  // and its number may be another's soon
  if (bound.count() > 0) {
    ::kill(-group, SIGTERM);
    if (await_gone(group, bound)) return;
  }
  ::kill(-group, SIGKILL);
  await_gone(group, kKilled);
}

/// Before this process ends: the guardian must not take another group for the one that has ended.
void end_from_handler(milliseconds bound) noexcept {
  const pid_t group = running.load();
  if (group <= 0) return;
  end_group(group, bound);
  if (const pid_t guardian = guarding.load(); guardian > 0) ::kill(guardian, SIGKILL);
}

// --- In children, between fork and exec: only system calls, as other threads may hold locks. ---

/// Nothing that this process has open stays open because of the child.
void close_from(int first) {
  if (::close_range(static_cast<unsigned>(first), ~0U, 0) == 0) return;
  constexpr int kMost = 65'536;  // an old kernel
  for (int file = first; file < kMost; ++file) ::close(file);
}

/// Reads which group it is, and kills it when nobody is left who could write more: the owner has
/// ended. A program of its own, or who ends all processes with neliroute in their command lines
/// would end it, too.
constexpr const char* kGuard =
    "while read -r line; do group=$line; done; [ -z \"$group\" ] || kill -9 -\"$group\"";

[[noreturn]] void guard(int from) {
  ::setsid();  // a terminal's signals are not meant for it; and all others are blocked
  ::dup2(from, 0);
  close_from(1);
  ::execl("/bin/sh", "sh", "-c", kGuard, "exec-guard", static_cast<char*>(nullptr));
  ::_exit(127);
}

/// Tells the guardian, as a line.
bool tell_group(int guarded, pid_t group) {
  std::array<char, 16> line{};
  std::size_t at = line.size();
  line[--at] = '\n';
  for (pid_t rest = group; rest > 0; rest /= 10) line[--at] = static_cast<char>('0' + rest % 10);
  const std::size_t length = line.size() - at;
  return ::write(guarded, line.data() + at, length) == static_cast<ssize_t>(length);
}

[[noreturn]] void become(const char* command, int in, int said, int guarded, pid_t parent) {
  // The guardian's death is no reason to live longer than the parent.
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);  // it died before the line above
  ::setpgid(0, 0);
  if (!tell_group(guarded, ::getpid())) ::_exit(127);
  // Signals that this process handles, ignores or blocks are the program's own affair.
  for (const int number : {SIGPIPE, SIGTERM, SIGINT, SIGCHLD}) ::signal(number, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  // `in` may be 3 itself; and the program sees no second copy of its descriptor 3.
  const int kept = ::fcntl(said, F_DUPFD_CLOEXEC, 4);
  if (kept < 0 || ::dup2(in, 0) < 0 || ::dup2(kept, 3) < 0) ::_exit(127);
  ::execl("/bin/sh", "sh", "-c", command, static_cast<char*>(nullptr));
  ::_exit(127);
}

/// Both ends, closed unless they were taken.
struct Pipe {
  std::array<int, 2> ends{-1, -1};
  Pipe() = default;
  ~Pipe() {
    const int kept = errno;
    for (const int end : ends) {
      if (end >= 0) ::close(end);
    }
    errno = kept;
  }
  Pipe(const Pipe&) = delete;
  Pipe& operator=(const Pipe&) = delete;
  [[nodiscard]] bool open() { return ::pipe2(ends.data(), O_CLOEXEC) == 0; }
  [[nodiscard]] int take(std::size_t end) { return std::exchange(ends[end], -1); }
};

/// While it lives, no signal interrupts, and children begin without any.
struct NoSignals {
  NoSignals() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before);
  }
  ~NoSignals() { ::pthread_sigmask(SIG_SETMASK, &before, nullptr); }
  NoSignals(const NoSignals&) = delete;
  NoSignals& operator=(const NoSignals&) = delete;
  sigset_t before{};
};

void end_guardian(pid_t guardian) {
  if (guardian <= 0) return;
  ::kill(guardian, SIGKILL);
  ::waitpid(guardian, nullptr, 0);
}

}  // namespace

bool ProcessGroup::start_guardian() {
  Pipe guarded;
  if (!guarded.open()) return false;
  const NoSignals none;
  guardian_ = ::fork();
  if (guardian_ == 0) guard(guarded.ends[0]);
  guarded_ = guarded.take(1);
  return guardian_ > 0;
}

std::optional<ProcessGroup::Ends> ProcessGroup::start(const char* command, milliseconds grace) {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  const pid_t parent = ::getpid();
  const bool is_guarded = start_guardian();
  const NoSignals none;
  Pipe in;  // the guardian has none of these
  Pipe said;
  const bool fit = is_guarded && in.open() && said.open();
  shell_ = fit ? ::fork() : -1;
  if (shell_ == 0) become(command, in.ends[0], said.ends[1], guarded_, parent);
  if (shell_ < 0) {
    const int failure = errno;
    forget();
    errno = failure;
    return std::nullopt;
  }
  ::setpgid(shell_, shell_);  // whoever of the two is first
  running_grace = grace.count();
  guarding = guardian_;
  running = shell_;
  return Ends{in.take(1), said.take(0)};
}

ProcessGroup::~ProcessGroup() { end(milliseconds{0}); }

std::optional<int> ProcessGroup::reap() {
  std::optional<int> status;
  for (;;) {
    siginfo_t ended{};
    if (::waitid(P_ALL, 0, &ended, WEXITED | WNOHANG) != 0 || ended.si_pid == 0) break;
    if (ended.si_pid == guardian_) replace_guardian();
    if (ended.si_pid != shell_) continue;
    status = ended.si_code == CLD_EXITED ? ended.si_status : 128 + ended.si_status;
  }
  // A shell that has ended since is still of its group: its own SIGCHLD is to come.
  if (shell_ > 0 && has_ended(shell_)) forget();
  return status;
}

// Whoever ended it, the program is guarded on.
void ProcessGroup::replace_guardian() {
  guarding = guardian_ = 0;
  if (guarded_ >= 0) ::close(std::exchange(guarded_, -1));
  if (shell_ <= 0 || !start_guardian()) return;
  static_cast<void>(tell_group(guarded_, shell_));
  guarding = guardian_;
}

std::optional<int> ProcessGroup::await_status(milliseconds bound) {
  std::optional<int> status;
  await(bound, [&] {
    status = reap();
    return status || shell_ == 0;
  });
  return status;
}

void ProcessGroup::end(milliseconds bound) {
  if (shell_ > 0) end_group(shell_, bound);
  forget();
}

void ProcessGroup::forget() {
  shell_ = 0;
  running = 0;
  guarding = 0;
  end_guardian(std::exchange(guardian_, 0));  // before it sees the end of the pipe
  if (guarded_ >= 0) ::close(std::exchange(guarded_, -1));
}

void end_group_from_handler() noexcept { end_from_handler(milliseconds{running_grace.load()}); }

void kill_group_from_handler() noexcept { end_from_handler(milliseconds{0}); }

}  // namespace neliroute::tool
