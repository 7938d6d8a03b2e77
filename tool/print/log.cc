#include "tool/print/log.h"

#include <fmt/format.h>
#include <poll.h>
#include <spdlog/async_logger.h>
#include <spdlog/details/null_mutex.h>
#include <spdlog/details/os.h>
#include <spdlog/details/thread_pool.h>
#include <spdlog/sinks/base_sink.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <system_error>
#include <utility>

#include "tool/command_line/flags.h"
#include "tool/print/output.h"

namespace neliroute::tool {
namespace {

struct Level {
  std::string_view name;
  spdlog::level::level_enum spdlogs;
};

// In the order of LogLevel.
constexpr std::array<Level, 6> kLevels = {{
    {"trace", spdlog::level::trace},
    {"debug", spdlog::level::debug},
    {"info", spdlog::level::info},
    {"warning", spdlog::level::warn},
    {"error", spdlog::level::err},
    {"off", spdlog::level::off},
}};

std::atomic<spdlog::level::level_enum> least{spdlog::level::info};

// Lines that were given to spdlog's thread, and those that it has written or lost. A signal handler
// reads both.
std::atomic<std::size_t> given{0};
std::atomic<std::size_t> settled{0};

std::mutex diverting;
std::function<void(std::string_view)> take_instead;  // under `diverting`

/// Writes each line whole and counts it. spdlog's own sinks write a coloured line in five pieces,
/// and give up where another process has made the shared file non-blocking.
class StderrSink : public spdlog::sinks::base_sink<spdlog::details::null_mutex> {
 public:
  StderrSink(spdlog::details::thread_pool& thread, bool coloured)
      : thread_(thread), coloured_(coloured) {}

 private:
  // Both sinks are used by spdlog's one thread.
  static inline std::size_t written = 0;
  static inline std::size_t failed = 0;
  static inline std::size_t told = 0;

  void sink_it_(const spdlog::details::log_msg& message) override {
    spdlog::memory_buf_t formatted;
    formatter_->format(message, formatted);
    std::string text(formatted.data(), formatted.size());
    if (coloured_ && message.color_range_end > message.color_range_start) {
      text.insert(message.color_range_end, "\033[m");
      text.insert(message.color_range_start, message.level == spdlog::level::info   ? "\033[32m"
                                             : message.level == spdlog::level::warn ? "\033[33;1m"
                                                                                    : "\033[31;1m");
    }
    const std::size_t lost = failed + thread_.overrun_counter() - told;
    if (lost > 0) {
      text.insert(0,
                  fmt::format("neliroute: {} lines were lost here, as nobody read them\n", lost));
    }
    if (write_whole(STDERR_FILENO, text)) {
      told += lost;
    } else {
      ++failed;
    }
    settled = ++written + thread_.overrun_counter();
  }
  void flush_() override {}

  spdlog::details::thread_pool& thread_;
  const bool coloured_;
};

void end_by_crash(int signal) {
  finish_stderr();
  ::raise(signal);  // its default action is restored: SA_RESETHAND
}

void finish_before_any_end() {
  std::atexit([] { finish_stderr(); });
  struct sigaction action{};
  action.sa_handler = end_by_crash;
  action.sa_flags = static_cast<int>(SA_RESETHAND | SA_NODEFER);
  for (const int signal : {SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL}) {
    struct sigaction before{};
    ::sigaction(signal, nullptr, &before);
    if (before.sa_handler == SIG_DFL) ::sigaction(signal, &action, nullptr);
  }
}

/// Never destroyed: spdlog would wait for its thread, and that for its reader.
struct Stderr {
  std::shared_ptr<spdlog::details::thread_pool> thread;
  std::shared_ptr<spdlog::logger> lines;
  std::shared_ptr<spdlog::logger> log;

  Stderr() {
    // A handler that ends the process waits for this thread, so it must not run there; and whose
    // reader has gone keeps its exit code, so SIGPIPE must not end it.
    const auto block_signals = [] {
      sigset_t all;
      ::sigfillset(&all);
      ::pthread_sigmask(SIG_SETMASK, &all, nullptr);
    };
    thread = std::make_shared<spdlog::details::thread_pool>(kLinesKept, 1, block_signals);
    namespace os = spdlog::details::os;
    lines = logger("%v", false);
    log = logger("%Y-%m-%d %H:%M:%S.%e %^%l%$ %v", std::getenv("NO_COLOR") == nullptr &&
                                                       os::in_terminal(stderr) &&
                                                       os::is_color_terminal());
    finish_before_any_end();
  }

  [[nodiscard]] std::shared_ptr<spdlog::logger> logger(const char* pattern, bool coloured) const {
    auto made = std::make_shared<spdlog::async_logger>(
        "neliroute", std::make_shared<StderrSink>(*thread, coloured), thread,
        spdlog::async_overflow_policy::overrun_oldest);
    made->set_pattern(pattern);
    return made;
  }
};

void give(std::shared_ptr<spdlog::logger> Stderr::* logger, spdlog::level::level_enum level,
          std::string_view line) {
  try {
    static Stderr& only = *new Stderr;
    ++given;
    (only.*logger)->log(level, spdlog::string_view_t(line.data(), line.size()));
  } catch (const std::system_error&) {  // there is no thread to be had, which this line may say
    write_last_words(std::string(line) + "\n");
  }
}

}  // namespace

Result<LogLevel> parse_log_level(std::string_view text) {
  for (std::size_t i = 0; i < kLevels.size(); ++i) {
    if (kLevels[i].name == text) return static_cast<LogLevel>(i);
  }
  return Error{Errc::bad_option, fmt::format("\"{}\" is not a log level; choose trace, debug, "
                                             "info, warning, error or off", text)};
}

void start_log(LogLevel level) { least = kLevels[static_cast<std::size_t>(level)].spdlogs; }

void log(Severity severity, std::string_view text) {
  const auto level = severity == Severity::info      ? spdlog::level::info
                     : severity == Severity::warning ? spdlog::level::warn
                                                     : spdlog::level::err;
  if (level < least) return;
  // It may quote untrusted text, which must not look like a line of its own.
  const std::string clean = printable_line(with_flags(text));
  if (const std::scoped_lock lock(diverting); take_instead) return take_instead(clean);
  give(&Stderr::log, level, clean);
}

void divert_log(std::function<void(std::string_view)> take) {
  const std::scoped_lock lock(diverting);
  take_instead = std::move(take);
}

std::function<void(const Notice&)> notice_log() {
  return [](const Notice& notice) { log(notice.severity, notice.text); };
}

void write_stderr(std::string_view line) { give(&Stderr::lines, spdlog::level::info, line); }

void finish_stderr() noexcept {
  const int kept = errno;
  const auto end = std::chrono::steady_clock::now() + kReaderPatience;
  while (settled < given && std::chrono::steady_clock::now() < end) ::poll(nullptr, 0, 1);
  errno = kept;
}

void write_last_words(std::string_view text) noexcept {
  finish_stderr();
  pollfd ready{STDERR_FILENO, POLLOUT, 0};
  if (::poll(&ready, 1, 0) != 1) return;
  // A pipe that is ready takes that much.
  text = text.substr(0, PIPE_BUF);
  static_cast<void>(!::write(STDERR_FILENO, text.data(), text.size()));
}

}  // namespace neliroute::tool
