#include "tool/exec/program.h"

#include <cerrno>
#include <csignal>
#include <cstring>
#include <utility>

namespace neliroute::tool {
namespace {

/// As shells show that it obeyed, or was ended by what ends its owner.
bool is_told_end(int status) {
  constexpr int kSignalled = 128;
  return status == 0 || status == kSignalled + SIGTERM || status == kSignalled + SIGINT ||
         status == kSignalled + SIGKILL;
}

}  // namespace

Result<std::unique_ptr<Program>> Program::start(const boost::asio::any_io_executor& executor,
                                                const std::string& command,
                                                const std::vector<std::string>& variables,
                                                Exited exited) {
  // It watches SIGCHLD from here on.
  std::unique_ptr<Program> made(new Program(executor, std::move(exited)));
  if (!made->group_.start(command, variables)) {
    return Error{Errc::bad_option,
                 "--exec: `setpriv` of util-linux could not start a process: " +
                     std::string(std::strerror(errno))};
  }
  made->await_exit();
  return made;
}

Program::Program(const boost::asio::any_io_executor& executor, Exited exited)
    : exited_(std::move(exited)), children_(executor, SIGCHLD) {}

// A signal that came before the end of this object is still handled after it.
void Program::await_exit() {
  const std::weak_ptr<bool> lives = lives_;
  children_.async_wait([this, lives](boost::system::error_code error, int) {
    if (error || lives.expired()) return;
    await_exit();
    if (const auto status = group_.reap()) exited_(*status);
  });
}

GroupEnd Program::stop(milliseconds bound) {
  children_.cancel();
  GroupEnd end = group_.end(bound);
  if (end.status && is_told_end(*end.status)) end.status.reset();
  return end;
}

}  // namespace neliroute::tool
