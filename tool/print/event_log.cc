#include "tool/print/event_log.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <cstring>
#include <neliroute/clock.h>
#include <utility>

#include "tool/print/log.h"

namespace neliroute::tool {

namespace {

constexpr int kNeverWait = O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
// Linux calls a terminal ready that has room for 256, and each newline takes two.
constexpr std::size_t kTerminalLeast = 100;

bool is_regular(int file) {
  struct stat about{};
  return ::fstat(file, &about) == 0 && S_ISREG(about.st_mode);
}

/// True if the file's previous writer was killed, or its disk was full.
bool ends_within_a_line(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | kNeverWait);
  if (file < 0) return false;
  char last = '\n';
  if (is_regular(file) && ::lseek(file, -1, SEEK_END) >= 0 && ::read(file, &last, 1) < 1) {
    last = '\n';
  }
  ::close(file);
  return last != '\n';
}

Result<int> opened(const std::string& path) {
  int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | kNeverWait, 0644);
  // A FIFO that nobody reads yet. As this process could read it itself, it opens, and keeps the
  // first lines for a later reader.
  if (file < 0 && errno == ENXIO) file = ::open(path.c_str(), O_RDWR | kNeverWait);
  if (file >= 0) return file;
  return Error{Errc::bad_option, path + " cannot be written: " + std::strerror(errno) +
                                     "; give a path in an existing folder, or - for stdout"};
}

}  // namespace

// stdout is opened again as non-blocking where a write could block: that flag on the inherited file
// would affect every process that shares it.
std::unique_ptr<LineWriter> LineWriter::of_stdout() {
  const auto made = [](int file, bool blocks) {
    return std::unique_ptr<LineWriter>(new LineWriter("stdout", file, blocks));
  };
  // One that was closed stands for nothing (main.cc), and must not become another. A file on disk
  // never blocks, and opened again it would be written from its beginning.
  const bool closed = (::fcntl(STDOUT_FILENO, F_GETFL) & O_ACCMODE) == O_RDONLY;
  const bool blocks = !closed && !is_regular(STDOUT_FILENO);
  if (blocks) {
    const int anew = ::open("/proc/self/fd/1", O_WRONLY | kNeverWait);
    if (anew >= 0) return made(anew, false);
  }
  // Where it blocks: a socket, or another user's.
  return made(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 0), blocks);
}

Result<std::unique_ptr<LineWriter>> LineWriter::open(const std::string& path) {
  if (path == "-") return of_stdout();
  const auto file = opened(path);
  if (!file) return file.error();
  std::unique_ptr<LineWriter> writer(new LineWriter(path, *file, false));
  if (ends_within_a_line(path)) writer->write("");
  return writer;
}

void LineWriter::reopen() {
  const auto file = opened(path_);
  if (!file) return log(Severity::warning, file.error().message() + "; the last one is used on");
  flush();
  ::close(std::exchange(file_, *file));
  begun_ = 0;  // what of the first line was written stays behind
  flush();
}

LineWriter::~LineWriter() {
  const auto end = std::chrono::steady_clock::now() + kReaderPatience;
  while (!flush() && errno == EAGAIN) {
    const auto left = std::chrono::ceil<milliseconds>(end - std::chrono::steady_clock::now());
    if (left.count() <= 0) break;
    pollfd ready{file_, POLLOUT, 0};
    ::poll(&ready, 1, static_cast<int>(left.count()));
  }
  lost_ += lines_.size();
  tell_lost();
  ::close(file_);
}

void LineWriter::write(std::string line) {
  line += '\n';
  if (!fits(line.size())) flush();
  if (!fits(line.size())) {
    ++lost_;
    return;
  }
  kept_ += line.size();
  lines_.push_back(std::move(line));
  flush();
}

/// At most what fits now. -1 with errno; EAGAIN: nothing does.
ssize_t LineWriter::write_now(std::string_view bytes) const {
  if (!blocks_) return ::write(file_, bytes.data(), bytes.size());
  const ssize_t sent = ::send(file_, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
  if (sent >= 0 || errno != ENOTSOCK) return sent;
  pollfd ready{file_, POLLOUT, 0};
  if (::poll(&ready, 1, 0) == 0) {
    errno = EAGAIN;
    return -1;
  }
  const std::size_t least = ::isatty(file_) == 1 ? kTerminalLeast : PIPE_BUF;
  return ::write(file_, bytes.data(), std::min(bytes.size(), least));
}

/// As far as possible now. True: nothing is left; false: see errno.
bool LineWriter::write_kept() {
  while (!lines_.empty()) {
    const std::string& first = lines_.front();
    const ssize_t written = write_now(std::string_view(first).substr(begun_));
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

bool LineWriter::flush() {
  if (write_kept()) {
    tell_lost();
    return true;
  }
  const int why = errno;
  tell(why == EAGAIN ? "its reader has stalled" : std::strerror(why));
  errno = why;
  return false;
}

void LineWriter::tell(const std::string& why) {
  if (std::exchange(told_, true)) return;
  log(Severity::warning, path_ + " takes no lines now: " + why + "; up to " +
                             std::to_string(kKeptMost / 1024) +
                             " KiB are kept for it, and further lines are lost");
}

void LineWriter::tell_lost() {
  if (lost_ > 0) {
    log(Severity::error, path_ + ": " + std::to_string(lost_) + " lines were lost");
  } else if (told_ && lines_.empty()) {
    log(Severity::info, path_ + " has taken all lines; none is lost");
  }
  lost_ = 0;
  told_ = false;
}

}  // namespace neliroute::tool
