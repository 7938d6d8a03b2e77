#include "tool/print/stderr_lines.h"

#include <fmt/format.h>
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

/// False: its reader has stalled, and more is to be written.
bool flush(Kept& all, const PromptFile& file) {
  while (true) {
    if (!all.lines.flush(file)) {
      if (errno == EAGAIN) return false;
      if (errno != ENOSPC) all.lines.clear();  // nobody will ever read it
      return true;
    }
    if (all.lost == 0) return true;
    all.lines.push(fmt::format("neliroute: {} lines were lost here, as nobody read them\n",
                               std::exchange(all.lost, 0)));
  }
}

bool flush(Kept& all) {
  const ProgressAside aside;
  // Opened for each write: whatever stderr is then.
  const PromptFile file = PromptFile::of_standard(STDERR_FILENO);
  const bool flushed = flush(all, file);
  file.close();
  return flushed;
}

/// A thread, as nobody may write another line for hours.
void flush_later() {
  Kept& all = kept();
  while (true) {
    await_reader(STDERR_FILENO, std::chrono::steady_clock::now() + kReaderPatience);
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
  do {
    const std::scoped_lock lock(all.mutex);
    if (all.lines.empty() || flush(all)) return;
  } while (await_reader(STDERR_FILENO, end));
}

}  // namespace neliroute::tool
