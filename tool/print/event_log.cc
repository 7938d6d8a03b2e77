#include "tool/print/event_log.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <neliroute/clock.h>
#include <utility>

#include "tool/print/log.h"
#include "tool/print/output.h"
#include "tool/print/progress.h"

namespace neliroute::tool {

namespace {

bool is_regular(int file) {
  struct stat about{};
  return ::fstat(file, &about) == 0 && S_ISREG(about.st_mode);
}

/// True if the file's previous writer was killed, or its disk was full.
bool ends_within_a_line(const std::string& path) {
  const int file = ::open(path.c_str(), O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  if (file < 0) return false;
  char last = '\n';
  if (is_regular(file) && ::lseek(file, -1, SEEK_END) >= 0 && ::read(file, &last, 1) < 1) {
    last = '\n';
  }
  ::close(file);
  return last != '\n';
}

Result<int> opened(const std::string& path) {
  constexpr int kNeverWait = O_NONBLOCK | O_NOCTTY | O_CLOEXEC;
  int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_APPEND | kNeverWait, 0644);
  // A FIFO that nobody reads yet. As this process could read it itself, it opens, and keeps the
  // first lines for a later reader.
  if (file < 0 && errno == ENXIO) file = ::open(path.c_str(), O_RDWR | kNeverWait);
  if (file >= 0) return file;
  return Error{Errc::bad_option, path + " cannot be written: " + std::strerror(errno) +
                                     "; give a path in an existing folder, or - for stdout"};
}

}  // namespace

Result<std::unique_ptr<LineWriter>> LineWriter::open(const std::string& path) {
  const auto made = [](std::string name, const PromptFile& file) {
    return std::unique_ptr<LineWriter>(new LineWriter(std::move(name), file));
  };
  if (path == "-") return made("stdout", PromptFile::of_standard(STDOUT_FILENO));
  const auto file = opened(path);
  if (!file) return file.error();
  auto writer = made(path, {*file, false, true});
  if (ends_within_a_line(path)) writer->write("");
  return writer;
}

void LineWriter::reopen() {
  const auto file = opened(path_);
  if (!file) return log(Severity::warning, file.error().message() + "; the last one is used on");
  flush();
  file_.close();
  file_ = {*file, false, true};
  lines_.rewind();
  flush();
}

LineWriter::~LineWriter() {
  const auto end = std::chrono::steady_clock::now() + kReaderPatience;
  while (!flush() && errno == EAGAIN && await_reader(file_.file, end)) {
  }
  lost_ += lines_.size();
  tell_lost();
  file_.close();
}

void LineWriter::write(std::string line) {
  line += '\n';
  if (!lines_.fits(line.size())) flush();
  if (!lines_.push(std::move(line))) {
    ++lost_;
    return;
  }
  flush();
}

bool LineWriter::flush() {
  bool done = false;
  {
    const ProgressAside aside;  // it may be the same terminal
    done = lines_.flush(file_);
  }
  if (done) {
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
                             std::to_string(LineQueue::kKeptMost / 1024) +
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
