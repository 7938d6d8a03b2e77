#include "tool/exec/program.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/write.hpp>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <thread>
#include <utility>

namespace neliroute::tool {
namespace {

using boost::system::error_code;

constexpr milliseconds kLookAgain{10};

/// Both ends, closed unless they were taken.
struct Pipe {
  std::array<int, 2> ends{-1, -1};
  ~Pipe() {
    for (const int end : ends) {
      if (end >= 0) ::close(end);
    }
  }
  [[nodiscard]] bool open() { return ::pipe2(ends.data(), O_CLOEXEC) == 0; }
  [[nodiscard]] int take(std::size_t end) { return std::exchange(ends[end], -1); }
};

/// In the child, between fork and exec: only system calls, as other threads may have held locks.
[[noreturn]] void become(const char* command, int in, int said, pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);  // it died before the line above
  ::setpgid(0, 0);
  // Signals that this process ignores or blocks are the program's own affair.
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  ::signal(SIGPIPE, SIG_DFL);
  // `in` may be 3 itself.
  const int kept = ::dup(said);
  ::dup2(in, 0);
  ::dup2(kept, 3);
  ::execl("/bin/sh", "sh", "-c", command, static_cast<char*>(nullptr));
  ::_exit(127);
}

int status_of(int waited) {
  return WIFSIGNALED(waited) ? 128 + WTERMSIG(waited) : WEXITSTATUS(waited);
}

}  // namespace

Result<std::unique_ptr<Program>> Program::start(const boost::asio::any_io_executor& executor,
                                                const std::string& command, Handlers handlers) {
  Pipe in;
  Pipe said;
  pid_t pid = -1;
  if (in.open() && said.open()) {
    const pid_t parent = ::getpid();
    pid = ::fork();
    if (pid == 0) become(command.c_str(), in.ends[0], said.ends[1], parent);
  }
  if (pid < 0) {
    return Error{Errc::bad_option,
                 "--exec: a process could not be started: " + std::string(std::strerror(errno))};
  }
  ::setpgid(pid, pid);  // whoever of the two is first
  return std::unique_ptr<Program>(
      new Program(executor, pid, in.take(1), said.take(0), std::move(handlers)));
}

Program::Program(const boost::asio::any_io_executor& executor, pid_t pid, int to, int from,
                 Handlers handlers)
    : pid_(pid),
      handlers_(std::move(handlers)),
      to_(executor, to),
      from_(executor, from),
      children_(executor, SIGCHLD) {
  to_.non_blocking(true);
  from_.non_blocking(true);
  await_exit();
  read();
}

Program::~Program() {
  *alive_ = false;
  if (ended_) return;
  signal(SIGKILL);
  ::waitpid(pid_, nullptr, 0);
}

void Program::signal(int number) const {
  if (!ended_) ::kill(-pid_, number);
}

bool Program::write(std::string line) {
  if (ended_) return true;
  if (unread_bytes_ + line.size() > kUnreadMost) return false;
  line += '\n';
  unread_bytes_ += line.size();
  unread_.push_back(std::move(line));
  if (unread_.size() == 1) write_next();
  return true;
}

void Program::write_next() {
  boost::asio::async_write(to_, boost::asio::buffer(unread_.front()),
                           [this, alive = alive_](error_code error, std::size_t) {
                             if (!*alive) return;
                             unread_bytes_ -= unread_.front().size();
                             unread_.pop_front();
                             if (error) {
                               // It has closed its stdin, and wants to know nothing.
                               unread_.clear();
                               unread_bytes_ = 0;
                             }
                             if (!unread_.empty()) write_next();
                           });
}

void Program::read() {
  from_.async_read_some(boost::asio::buffer(chunk_),
                        [this, alive = alive_](error_code error, std::size_t count) {
                          if (!*alive || error) return;
                          line_.append(chunk_.data(), count);
                          take_lines();
                          if (*alive) read();
                        });
}

void Program::take_lines() {
  std::size_t begin = 0;
  for (std::size_t end = line_.find('\n'); end != std::string::npos;
       end = line_.find('\n', begin)) {
    handlers_.on_line(std::string_view(line_).substr(begin, end - begin));
    begin = end + 1;
  }
  line_.erase(0, begin);
  if (line_.size() > kLineMost) line_.clear();
}

void Program::await_exit() {
  children_.async_wait([this, alive = alive_](error_code error, int) {
    if (!*alive || error) return;
    await_exit();
    look();
  });
  look();  // it may have ended before
}

void Program::look() {
  int waited = 0;
  if (ended_ || ::waitpid(pid_, &waited, WNOHANG) != pid_) return;
  ended_ = true;
  ::kill(-pid_, SIGKILL);  // what it started and left behind
  handlers_.on_exit(status_of(waited));
}

void Program::stop(milliseconds bound) {
  const auto deadline = std::chrono::steady_clock::now() + bound;
  signal(SIGTERM);
  while (!ended_) {
    ended_ = ::waitpid(pid_, nullptr, WNOHANG) == pid_;
    if (ended_) break;
    if (std::chrono::steady_clock::now() >= deadline) signal(SIGKILL);
    std::this_thread::sleep_for(kLookAgain);
  }
  ::kill(-pid_, SIGKILL);  // what it started and left behind
}

}  // namespace neliroute::tool
