// A program that runs behind an owner, and ends with it: started by a shell (process_group.h).
//
// Threads: one (the executor's), which must live as long as the program.   Units: std::chrono.
// Errors: start() says what the system refused.
#pragma once

#include <sys/types.h>

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/signal_set.hpp>
#include <functional>
#include <memory>
#include <neliroute/error.h>
#include <neliroute/time.h>
#include <string>
#include <vector>

#include "tool/exec/process_group.h"

namespace neliroute::tool {

class Program {
 public:
  /// The shell's status, as shells show it: 128 + a signal.
  using Exited = std::function<void(int status)>;

  /// `sh -c command`, in a process group of its own, with these variables (ProcessGroup::start()).
  /// `exited` is called when it has ended by itself.
  [[nodiscard]] static Result<std::unique_ptr<Program>> start(
      const boost::asio::any_io_executor& executor, const std::string& command,
      const std::vector<std::string>& variables, Exited exited);
  Program(const Program&) = delete;
  Program& operator=(const Program&) = delete;

  /// SIGTERM, and SIGKILL after `bound`; blocks until its whole group has ended. Its status only if
  /// that is no success, and `exited` had none: it may have failed at the moment at which it was to
  /// end.
  [[nodiscard]] GroupEnd stop(milliseconds bound);
  /// Of its shell; 0: all of it has ended.
  [[nodiscard]] pid_t pid() const noexcept { return group_.id(); }

 private:
  Program(const boost::asio::any_io_executor& executor, Exited exited);
  void await_exit();

  ProcessGroup group_;
  Exited exited_;
  boost::asio::signal_set children_;
  const std::shared_ptr<bool> lives_ = std::make_shared<bool>(true);
};

}  // namespace neliroute::tool
