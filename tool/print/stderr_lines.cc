#include "tool/print/stderr_lines.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <mutex>
#include <system_error>
#include <thread>
#include <utility>

#include "tool/print/line_queue.h"
#include "tool/print/progress.h"

namespace neliroute::tool {
namespace {

using std::chrono::milliseconds;

constexpr milliseconds kReaderPatience{1000};

/// Never destroyed: a thread may wait for its reader until the process has ended.
struct Kept {
  std::mutex mutex;
  LineQueue lines;
  std::size_t lost = 0;
  bool awaited = false;  ///< a thread waits for the reader
};

Kept& kept() {
  static Kept& only = *new Kept;
  return only;
}

enum class Flushed { all, reader_stalled, refused };

Flushed flush(Kept& all, const PromptFile& file) {
  while (true) {
    if (!all.lines.flush(file)) {
      if (errno == EAGAIN) return Flushed::reader_stalled;
      if (errno != ENOSPC) all.lines.clear();  // nobody will ever read it
      return Flushed::refused;
    }
    if (all.lost == 0) return Flushed::all;
    all.lines.push(fmt::format("neliroute: {} lines were lost here, as nobody read them\n",
                               std::exchange(all.lost, 0)));
  }
}

/// False: its reader has stalled, and more is to be written.
bool flush(Kept& all) {
  const ProgressAside aside;
  // Opened for each write: whatever stderr is then.
  const PromptFile file = PromptFile::of_standard(STDERR_FILENO);
  const Flushed flushed = flush(all, file);
  file.close();
  return flushed != Flushed::reader_stalled;
}

void await_reader(int at_most_ms) {
  pollfd ready{STDERR_FILENO, POLLOUT, 0};
  ::poll(&ready, 1, at_most_ms);
}

/// A thread, as nobody may write another line for hours.
void flush_later() {
  Kept& all = kept();
  while (true) {
    await_reader(static_cast<int>(kReaderPatience.count()));
    const std::scoped_lock lock(all.mutex);
    if (!flush(all)) continue;
    all.awaited = false;
    return;
  }
}

}  // namespace

void write_stderr(std::string lines) {
  Kept& all = kept();
  const std::scoped_lock lock(all.mutex);
  if (!all.lines.push(std::move(lines))) ++all.lost;
  if (all.awaited || flush(all)) return;
  try {
    std::thread(flush_later).detach();
    all.awaited = true;
  } catch (const std::system_error&) {
    // The next line tries again.
  }
}

void draw_stderr(std::string_view text) noexcept {
  const PromptFile file = PromptFile::of_standard(STDERR_FILENO);
  static_cast<void>(!file.write_now(text));
  file.close();
}

void finish_stderr() {
  Kept& all = kept();
  const auto end = std::chrono::steady_clock::now() + kReaderPatience;
  while (true) {
    {
      const std::scoped_lock lock(all.mutex);
      if (all.lines.empty() || flush(all)) return;
    }
    const auto left = std::chrono::ceil<milliseconds>(end - std::chrono::steady_clock::now());
    if (left.count() <= 0) return;
    await_reader(static_cast<int>(left.count()));
  }
}

}  // namespace neliroute::tool
