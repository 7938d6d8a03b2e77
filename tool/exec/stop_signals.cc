#include "tool/exec/stop_signals.h"

#include <atomic>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdlib>

#include "tool/exec/process_group.h"
#include "tool/print/log.h"
#include "tool/print/output.h"

namespace neliroute::tool {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds kSame{1};

std::atomic<std::int64_t> first_at{0};  ///< of Clock; 0: none has come
static_assert(std::atomic<std::int64_t>::is_always_lock_free);

// A second signal may interrupt this one.
void end_while_starting(int) {
  const int kept = errno;
  switch (note_stop_signal()) {
    case StopSignal::first:
      finish_stderr();
      std::_Exit(kExitYes);
    case StopSignal::again:
      stop_at_once();
    case StopSignal::same:
      break;
  }
  errno = kept;
}

void end_while_finishing(int) {
  const int kept = errno;
  if (note_stop_signal() == StopSignal::again) stop_at_once();
  errno = kept;
}

void handle(void (*handler)(int)) {
  struct sigaction action {};
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART | SA_NODEFER;
  ::sigemptyset(&action.sa_mask);
  for (const int number : {SIGTERM, SIGINT}) ::sigaction(number, &action, nullptr);
}

}  // namespace

StopSignal note_stop_signal() noexcept {
  const Clock::rep now = Clock::now().time_since_epoch().count();
  std::int64_t first = 0;
  if (first_at.compare_exchange_strong(first, now)) return StopSignal::first;
  return Clock::duration(now - first) < kSame ? StopSignal::same : StopSignal::again;
}

void end_on_stop_signals() { handle(end_while_starting); }

void finish_until_stop_signal() { handle(end_while_finishing); }

void stop_at_once() noexcept {
  kill_group_from_handler();
  finish_stderr();
  std::_Exit(kExitKilled);
}

}  // namespace neliroute::tool
