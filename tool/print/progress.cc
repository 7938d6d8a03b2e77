#include "tool/print/progress.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdlib>
#include <string_view>
#include <thread>
#include <utility>

#include "tool/command_line/values.h"
#include "tool/print/output.h"
#include "tool/print/stderr_lines.h"

namespace neliroute::tool {
namespace {

using SteadyTime = std::chrono::steady_clock::time_point;

constexpr std::chrono::seconds kPatience{1};
constexpr std::chrono::milliseconds kRedraw{200};
constexpr std::string_view kErase = "\r\033[K";

// Held while writing on the terminal.
std::mutex terminal;
std::atomic<bool> on_terminal{false};
std::atomic<bool> ending{false};  ///< a signal handler ends the process: nothing is drawn

void erase() {
  if (on_terminal.exchange(false)) draw_stderr(kErase);
}

bool someone_sees_it() {
  const char* term = std::getenv("TERM");
  return ::isatty(STDERR_FILENO) == 1 && term != nullptr && std::string_view(term) != "dumb";
}

/// A line that is too long would break, and then not be erased.
std::size_t columns() {
  winsize size{};
  if (::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col < 2) return 79;
  return size.ws_col - 1U;
}

}  // namespace

struct Progress::Drawing {
  explicit Drawing(bool on_screen) : drawn(on_screen) {}

  const bool drawn;  ///< or else told in lines
  std::string what;  // as all but the counts, under `terminal`
  SteadyTime began = std::chrono::steady_clock::now();
  bool told = false;
  bool over = false;
  std::atomic<std::uint64_t> done{0};
  std::atomic<const char*> of_what{nullptr};
  std::condition_variable ended;
  std::thread thread;

  void run() { drawn ? redraw() : tell(); }

  // Who writes a line holds `terminal`, too.
  void tell() {
    std::unique_lock lock(terminal);
    while (!over) {
      const SteadyTime since = began;
      const auto changed = [&] { return over || began != since; };
      if (told) {
        ended.wait(lock, changed);
      } else if (!ended.wait_until(lock, since + kPatience, changed)) {
        const std::string line = fmt::format("neliroute: {} ...\n", printable_line(what));
        lock.unlock();
        write_stderr(line);
        lock.lock();
        told = began == since;
      }
    }
  }

  /// The line when it is over, if its beginning was told; under `terminal`.
  [[nodiscard]] std::string took() const {
    if (!told) return {};
    const auto elapsed = std::chrono::steady_clock::now() - began;
    return fmt::format("neliroute: {} took {:.1f} s\n", printable_line(what),
                       std::chrono::duration<double>(elapsed).count());
  }

  void redraw() {
    std::unique_lock lock(terminal);
    const SteadyTime start = began;
    for (SteadyTime next = start + kPatience; !over; next += kRedraw) {
      if (!ended.wait_until(lock, next, [this] { return over; })) draw();
    }
  }

  void draw() {
    const auto elapsed = std::chrono::steady_clock::now() - began;
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(elapsed).count();
    std::string text = fmt::format("{} ... {} s", what, seconds);
    if (const char* unit = of_what.load(std::memory_order_acquire)) {
      text += fmt::format(", {} {}", text_of(done.load(std::memory_order_relaxed)), unit);
    }
    if (ending.load()) return;
    on_terminal = true;
    draw_stderr(std::string(kErase) + printable(text).substr(0, columns()));
  }
};

Progress::Progress(std::string what, OffTerminal elsewhere) {
  const bool drawn = someone_sees_it();
  if (!drawn && elsewhere == OffTerminal::silent) return;
  drawing_ = std::make_unique<Drawing>(drawn);
  drawing_->what = std::move(what);
  drawing_->thread = std::thread([drawing = drawing_.get()] { drawing->run(); });
}

Progress::~Progress() {
  if (!drawing_) return;
  std::string last;
  {
    const std::scoped_lock lock(terminal);
    drawing_->over = true;
    last = drawing_->took();
    erase();
  }
  drawing_->ended.notify_one();
  drawing_->thread.join();
  if (!last.empty()) write_stderr(std::move(last));
}

bool Progress::shown() const noexcept { return drawing_ != nullptr && drawing_->drawn; }

void Progress::now(std::string what) {
  if (!drawing_) return;
  std::string last;
  {
    const std::scoped_lock lock(terminal);
    last = drawing_->took();
    drawing_->what = std::move(what);
    drawing_->began = std::chrono::steady_clock::now();
    drawing_->told = false;
  }
  drawing_->ended.notify_one();
  if (!last.empty()) write_stderr(std::move(last));
}

void Progress::count(std::uint64_t done, const char* of_what) noexcept {
  if (!drawing_) return;
  drawing_->done.store(done, std::memory_order_relaxed);
  drawing_->of_what.store(of_what, std::memory_order_release);
}

ProgressAside::ProgressAside() : lock_(terminal) { erase(); }

void erase_progress_from_handler() noexcept {
  ending.store(true);
  if (on_terminal.load()) draw_stderr(kErase);
}

}  // namespace neliroute::tool
