#include "tool/print/line_queue.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <utility>

namespace neliroute::tool {
namespace {

// Linux calls one ready that has room for 256, and each newline takes two.
constexpr std::size_t kTerminalLeast = 100;

}  // namespace

PromptFile PromptFile::of_standard(int file) noexcept {
  // One that was closed stands for nothing (main.cc), and must not become another.
  if ((::fcntl(file, F_GETFL) & O_ACCMODE) == O_RDONLY) return {file, false, false};
  struct stat about{};
  // A file on disk never blocks, and opened again it would be written from its beginning.
  if (::fstat(file, &about) == 0 && S_ISREG(about.st_mode)) return {file, false, false};
  char path[] = "/proc/self/fd/0";
  path[sizeof path - 2] = static_cast<char>('0' + file);
  const int anew = ::open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (anew >= 0) return {anew, false, true};
  // A socket, or another user's: a pipe that is ready has that much free, a terminal little.
  return {file, true, false, S_ISFIFO(about.st_mode) ? std::size_t{PIPE_BUF} : kTerminalLeast};
}

ssize_t PromptFile::write_now(std::string_view bytes) const noexcept {
  if (!blocks) return ::write(file, bytes.data(), bytes.size());
  const ssize_t sent = ::send(file, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent >= 0 || errno != ENOTSOCK) return sent;
  pollfd ready{file, POLLOUT, 0};
  if (::poll(&ready, 1, 0) == 0) {
    errno = EAGAIN;
    return -1;
  }
  return ::write(file, bytes.data(), std::min(bytes.size(), least));
}

void PromptFile::close() const noexcept {
  const int why = errno;
  if (owned) ::close(file);
  errno = why;
}

bool await_reader(int file, std::chrono::steady_clock::time_point end) {
  using std::chrono::milliseconds;
  const auto left = std::chrono::ceil<milliseconds>(end - std::chrono::steady_clock::now());
  if (left.count() <= 0) return false;
  pollfd ready{file, POLLOUT, 0};
  ::poll(&ready, 1, static_cast<int>(left.count()));
  return true;
}

bool LineQueue::push(std::string line) {
  if (!fits(line.size())) return false;
  kept_ += line.size();
  lines_.push_back(std::move(line));
  return true;
}

bool LineQueue::flush(const PromptFile& file) {
  while (!lines_.empty()) {
    const std::string& first = lines_.front();
    const ssize_t written = file.write_now(std::string_view(first).substr(begun_));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    begun_ += static_cast<std::size_t>(written);
    if (begun_ < first.size()) continue;
    kept_ -= first.size();
    lines_.pop_front();
    begun_ = 0;
  }
  return true;
}

void LineQueue::clear() {
  lines_.clear();
  begun_ = kept_ = 0;
}

}  // namespace neliroute::tool
