#include "tool/print/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <condition_variable>
#include <mutex>
#include <utility>

#include "tool/command_line/values.h"
#include "tool/print/log.h"
#include "tool/print/output.h"

namespace neliroute::tool {

using Clock = std::chrono::steady_clock;

Progress::Progress(std::string what, OffTerminal elsewhere)
    : shown_(elsewhere == OffTerminal::lines || ::isatty(STDERR_FILENO) == 1) {
  begin(std::move(what));
}

void Progress::now(std::string what) {
  end();
  begin(std::move(what));
}

void Progress::count(std::uint64_t done, const char* of_what) noexcept {
  done_.store(done, std::memory_order_relaxed);
  of_what_.store(of_what, std::memory_order_release);
}

void Progress::begin(std::string what) {
  what_ = printable_line(what);
  began_ = Clock::now();
  told_ = false;
  of_what_ = nullptr;
  if (shown_) thread_ = std::jthread([this](const std::stop_token& stop) { tell(stop); });
}

void Progress::end() {
  thread_ = {};  // stopped and joined
  if (told_) write_stderr(fmt::format("neliroute: {} took {:.1f} s", what_, elapsed()));
}

void Progress::tell(const std::stop_token& stop) {
  constexpr std::chrono::seconds kPatience{1};
  constexpr std::chrono::seconds kAgain{10};
  std::mutex mutex;
  std::unique_lock lock(mutex);
  std::condition_variable_any never;
  for (Clock::time_point next = began_ + kPatience;; next += kAgain) {
    never.wait_until(lock, stop, next, [] { return false; });
    if (stop.stop_requested()) return;
    std::string text = fmt::format("neliroute: {} ... {:.0f} s", what_, elapsed());
    if (const char* unit = of_what_.load(std::memory_order_acquire)) {
      text += fmt::format(", {} {}", text_of(done_.load(std::memory_order_relaxed)), unit);
    }
    write_stderr(text);
    told_ = true;
  }
}

double Progress::elapsed() const {
  return std::chrono::duration<double>(Clock::now() - began_).count();
}

}  // namespace neliroute::tool
