// The log of the tool: spdlog on stderr, one line per notice. Nobody waits for its reader
// (stderr_lines.h).
//
// Threads: start_log() first and once, the rest any.   Units: none.
// Errors: an unknown level is bad_option.
#pragma once

#include <functional>
#include <neliroute/error.h>
#include <string_view>

namespace neliroute::tool {

enum class LogLevel { trace, debug, info, warning, error, off };

[[nodiscard]] Result<LogLevel> parse_log_level(std::string_view text);
void start_log(LogLevel level);
void log(Severity severity, std::string_view text);
/// From now on its lines are passed to `take`, on any thread, and not written: for a caller that
/// draws on the terminal. An empty function ends that; the previous one is not called any more when
/// this returns.
void divert_log(std::function<void(std::string_view line)> take);
/// For the on_notice of the library's options.
[[nodiscard]] std::function<void(const Notice&)> notice_log();

}  // namespace neliroute::tool
