// A program that runs behind an owner, and ends with it: started by a shell, written to on its
// stdin, and read from its descriptor 3.
//
// Threads: one (the executor's), which lives as long as the program: the kernel ends it with the
// thread that started it.   Units: bytes, std::chrono.
// Errors: start() says what the system refused.
#pragma once

#include <sys/types.h>

#include <array>
#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/posix/stream_descriptor.hpp>
#include <boost/asio/signal_set.hpp>
#include <deque>
#include <functional>
#include <memory>
#include <neliroute/error.h>
#include <neliroute/time.h>
#include <string>
#include <string_view>

namespace neliroute::tool {

class Program {
 public:
  /// What it does not take from its stdin; with more it counts as hung.
  static constexpr std::size_t kUnreadMost = std::size_t{1} << 20;
  /// Of one line that it writes; a longer one is cut into several.
  static constexpr std::size_t kLineMost = std::size_t{64} * 1024;

  struct Handlers {
    std::function<void(std::string_view line)> on_line;  ///< on its descriptor 3
    std::function<void(int status)> on_exit;             ///< as a shell shows it: 128 + a signal
  };

  /// `sh -c command`, in a process group of its own.
  [[nodiscard]] static Result<std::unique_ptr<Program>> start(
      const boost::asio::any_io_executor& executor, const std::string& command, Handlers handlers);
  /// SIGKILL, if it still runs.
  ~Program();
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  /// A line on its stdin; without its end. False: it has not taken what came before.
  bool write(std::string line);
  /// SIGTERM, and SIGKILL after `bound`; blocks until it has ended. on_exit() is not called.
  void stop(milliseconds bound);
  [[nodiscard]] bool ended() const noexcept { return ended_; }
  [[nodiscard]] pid_t pid() const noexcept { return pid_; }

 private:
  Program(const boost::asio::any_io_executor& executor, pid_t pid, int to, int from,
          Handlers handlers);
  void write_next();
  void read();
  void take_lines();
  void await_exit();
  void look();
  void signal(int number) const;

  pid_t pid_;
  Handlers handlers_;
  boost::asio::posix::stream_descriptor to_;
  boost::asio::posix::stream_descriptor from_;
  boost::asio::signal_set children_;
  std::deque<std::string> unread_;
  std::size_t unread_bytes_ = 0;
  std::array<char, 4096> chunk_{};
  std::string line_;
  bool ended_ = false;
  std::shared_ptr<bool> alive_ = std::make_shared<bool>(true);
};

}  // namespace neliroute::tool
