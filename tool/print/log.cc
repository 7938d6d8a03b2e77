#include "tool/print/log.h"

#include <fmt/format.h>
#include <spdlog/details/os.h>
#include <spdlog/sinks/ansicolor_sink.h>
#include <spdlog/spdlog.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "tool/command_line/flags.h"
#include "tool/print/output.h"
#include "tool/print/stderr_lines.h"

namespace neliroute::tool {
namespace {

constexpr std::array<std::pair<std::string_view, LogLevel>, 6> kLevels = {{
    {"trace", LogLevel::trace},
    {"debug", LogLevel::debug},
    {"info", LogLevel::info},
    {"warning", LogLevel::warning},
    {"error", LogLevel::error},
    {"off", LogLevel::off},
}};

spdlog::level::level_enum spdlog_level(LogLevel level) {
  switch (level) {
    case LogLevel::trace:
      return spdlog::level::trace;
    case LogLevel::debug:
      return spdlog::level::debug;
    case LogLevel::info:
      return spdlog::level::info;
    case LogLevel::warning:
      return spdlog::level::warn;
    case LogLevel::error:
      return spdlog::level::err;
    case LogLevel::off:
      break;
  }
  return spdlog::level::off;
}

using StderrSink = spdlog::sinks::ansicolor_sink<spdlog::details::console_mutex>;

/// spdlog's own sinks for stderr wait for its reader. They write to any stream, which is this one.
std::FILE* lines_to_stderr() {
  static std::FILE* const stream = [] {
    cookie_io_functions_t functions{};
    functions.write = [](void*, const char* bytes, std::size_t count) {
      // The stream passes on what it has whenever its buffer is full.
      static std::string& line = *new std::string;
      line.append(bytes, count);
      if (line.ends_with('\n')) write_stderr(std::exchange(line, {}));
      return static_cast<ssize_t>(count);
    };
    return ::fopencookie(nullptr, "w", functions);
  }();
  return stream;
}

std::mutex diverting;
std::function<void(std::string_view)> take_instead;  // under `diverting`

}  // namespace

Result<LogLevel> parse_log_level(std::string_view text) {
  for (const auto& [name, level] : kLevels) {
    if (name == text) return level;
  }
  return Error{Errc::bad_option, fmt::format("\"{}\" is not a log level; choose trace, debug, "
                                             "info, warning, error or off", text)};
}

void start_log(LogLevel level) {
  namespace os = spdlog::details::os;
  const bool coloured = std::getenv("NO_COLOR") == nullptr && os::in_terminal(stderr) &&
                        os::is_color_terminal();
  auto logger = std::make_shared<spdlog::logger>(
      "neliroute", std::make_shared<StderrSink>(
                       lines_to_stderr(),
                       coloured ? spdlog::color_mode::always : spdlog::color_mode::never));
  logger->set_pattern("%Y-%m-%d %H:%M:%S.%e %^%l%$ %v");
  logger->set_level(spdlog_level(level));
  spdlog::set_default_logger(std::move(logger));
}

void log(Severity severity, std::string_view text) {
  // It may quote untrusted text, which must not look like a line of its own.
  const std::string clean = printable_line(with_flags(text));
  const auto level = severity == Severity::info      ? spdlog::level::info
                     : severity == Severity::warning ? spdlog::level::warn
                                                     : spdlog::level::err;
  if (const std::scoped_lock lock(diverting); take_instead) {
    if (spdlog::should_log(level)) take_instead(clean);
    return;
  }
  spdlog::log(level, "{}", clean);
}

void divert_log(std::function<void(std::string_view)> take) {
  const std::scoped_lock lock(diverting);
  take_instead = std::move(take);
}

std::function<void(const Notice&)> notice_log() {
  return [](const Notice& notice) { log(notice.severity, notice.text); };
}

}  // namespace neliroute::tool
