#include "tool/exec/program.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <boost/asio/buffer.hpp>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <utility>

namespace neliroute::tool {
namespace {

using boost::system::error_code;

/// From closing its descriptors to having ended, on a machine that is very busy.
constexpr milliseconds kDying{500};

}  // namespace

Result<std::unique_ptr<Program>> Program::start(const boost::asio::any_io_executor& executor,
                                                const std::string& command, milliseconds patience,
                                                Handlers handlers) {
  // It watches SIGCHLD from here on.
  std::unique_ptr<Program> made(new Program(executor, patience, std::move(handlers)));
  const auto ends = made->group_.start(command.c_str(), patience);
  if (!ends) {
    return Error{Errc::bad_option,
                 "--exec: a process could not be started: " + std::string(std::strerror(errno))};
  }
  made->to_.assign(ends->to);
  made->from_.assign(ends->from);
  made->to_.non_blocking(true);
  made->from_.non_blocking(true);
  made->await_exit();
  made->read();
  return made;
}

Program::Program(const boost::asio::any_io_executor& executor, milliseconds patience,
                 Handlers handlers)
    : patience_(patience),
      handlers_(std::move(handlers)),
      to_(executor),
      from_(executor),
      children_(executor, SIGCHLD),
      impatient_(executor) {}

Program::~Program() { *alive_ = false; }

void Program::expect(std::uint32_t partitions) noexcept {
  unread_most_ += kUnreadEach * partitions;
}

void Program::write(std::string_view line) {
  if (closed_) return;
  const std::size_t unread = being_written_.size() - written_ + waiting_.size();
  if (unread + line.size() >= unread_most_) return takes_nothing();
  waiting_ += line;
  waiting_ += '\n';
  if (!writing_) write_more();
}

// As much as the pipe takes. False: more waits.
bool Program::write_now() {
  for (;;) {
    if (written_ == being_written_.size()) {
      being_written_ = std::exchange(waiting_, {});
      written_ = 0;
    }
    if (being_written_.empty()) return true;
    const ssize_t count = ::write(to_.native_handle(), being_written_.data() + written_,
                                  being_written_.size() - written_);
    if (count >= 0) {
      written_ += static_cast<std::size_t>(count);
    } else if (errno == EAGAIN) {
      return false;
    } else if (errno != EINTR) {
      close_in();
      return true;
    }
  }
}

// It has closed its stdin, and wants to know nothing.
void Program::close_in() {
  closed_ = true;
  being_written_.clear();
  waiting_.clear();
  written_ = 0;
}

void Program::write_more() {
  writing_ = !write_now();
  if (!writing_) return;
  impatient_.expires_after(patience_);
  await_reading();
  to_.async_wait(boost::asio::posix::stream_descriptor::wait_write,
                 [this, alive = alive_](error_code error) {
                   if (!*alive || error) return;
                   impatient_.cancel();
                   write_more();
                 });
}

void Program::finish(milliseconds bound) {
  const auto deadline = std::chrono::steady_clock::now() + bound;
  while (!closed_ && !told_hung_ && !write_now()) {
    const auto left = std::chrono::ceil<milliseconds>(deadline -
                                                      std::chrono::steady_clock::now());
    if (left.count() <= 0) return;
    static_cast<void>(is_writable(left));
  }
}

void Program::await_reading() {
  impatient_.async_wait([this, alive = alive_](error_code error) {
    if (!*alive || error || !writing_) return;
    // It has just read; or this thread itself was busy, or stopped, for so long.
    const bool is_early = std::chrono::steady_clock::now() < impatient_.expiry();
    if (is_early || is_writable(milliseconds{0})) return;
    takes_nothing();
  });
}

bool Program::is_writable(milliseconds within) {
  pollfd file{to_.native_handle(), POLLOUT, 0};
  return ::poll(&file, 1, static_cast<int>(within.count())) > 0;
}

void Program::takes_nothing() {
  if (has_spoken_) {
    if (!std::exchange(told_hung_, true)) handlers_.on_hung();
    return;
  }
  close_in();
  error_code ignored;
  to_.close(ignored);  // should it read after all, it reads to an end
  handlers_.on_deaf();
}

void Program::read() {
  from_.async_read_some(boost::asio::buffer(chunk_),
                        [this, alive = alive_](error_code error, std::size_t count) {
                          if (!*alive) return;
                          if (error) {
                            is_silent_ = true;
                            return handlers_.on_silent();
                          }
                          line_.append(chunk_.data(), count);
                          take_lines();
                          if (*alive) read();
                        });
}

void Program::take_lines() {
  std::size_t begin = 0;
  for (std::size_t end = line_.find('\n'); end != std::string::npos;
       end = line_.find('\n', begin)) {
    has_spoken_ = true;
    const bool drop = std::exchange(too_long_, false);
    if (!drop) handlers_.on_line(std::string_view(line_).substr(begin, end - begin));
    begin = end + 1;
  }
  line_.erase(0, begin);
  if (line_.size() <= kLineMost) return;
  too_long_ = true;
  line_.clear();
}

void Program::await_exit() {
  children_.async_wait([this, alive = alive_](error_code error, int) {
    if (!*alive || error) return;
    await_exit();
    if (const auto status = group_.reap()) handlers_.on_exit(*status);
  });
}

std::optional<int> Program::stop(milliseconds bound) {
  // Whoever ends closes descriptor 3 first. That ends all waiting for answers, so that a leave may
  // be over before SIGCHLD comes.
  const auto status = group_.await_status(is_silent_ ? std::min(bound, kDying) : milliseconds{0});
  group_.end(bound);
  return status;
}

}  // namespace neliroute::tool
