#include "tool/print/log.h"

#include <fmt/format.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <array>
#include <cstdlib>
#include <memory>
#include <mutex>
#include <string>
#include <utility>

#include "tool/command_line/flags.h"
#include "tool/print/output.h"
#include "tool/print/progress.h"

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
  const bool plain = std::getenv("NO_COLOR") != nullptr;
  auto logger = std::make_shared<spdlog::logger>(
      "neliroute", std::make_shared<spdlog::sinks::stderr_color_sink_mt>(
                       plain ? spdlog::color_mode::never : spdlog::color_mode::automatic));
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
  if (!spdlog::should_log(level)) return;  // nor waits for a terminal that has stalled
  const ProgressAside aside;
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
