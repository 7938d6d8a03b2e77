// What the command says on stderr: its log, one line per notice, and the lines of subcommands.
//
// A thread of spdlog writes them, and nobody waits for it: a log whose reader has stopped (a pipe
// that nobody drains, a terminal after Ctrl-S) would stop an owner. The newest lines are kept for
// such a reader. How many older ones were lost is said in their place once it reads again.
//
// Threads: start_log() first and once, the rest any.   Units: none.
// Errors: an unknown level is bad_option. What stderr cannot take, as its disk is full, is lost.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <neliroute/error.h>
#include <string_view>

namespace neliroute::tool {

enum class LogLevel { trace, debug, info, warning, error, off };

/// For a reader that has stopped: some 200 KiB, and hours of a quiet owner.
inline constexpr std::size_t kLinesKept = 2048;
/// How long a process that ends gives a slow reader to take the rest.
inline constexpr std::chrono::milliseconds kReaderPatience{1000};

[[nodiscard]] Result<LogLevel> parse_log_level(std::string_view text);
void start_log(LogLevel level);
void log(Severity severity, std::string_view text);
/// From now on its lines are passed to `take`, on any thread, and not written: for a caller that
/// draws on the terminal. An empty function ends that; the previous one is not called any more when
/// this returns.
void divert_log(std::function<void(std::string_view line)> take);
/// For the on_notice of the library's options.
[[nodiscard]] std::function<void(const Notice&)> notice_log();

/// A line as it is, whatever the level.
void write_stderr(std::string_view line);
/// Waits until all lines are written, for kReaderPatience at most. exit() and a crash do so by
/// themselves. For a signal handler, too.
void finish_stderr() noexcept;
/// The last words of a process, after its lines, if they fit now. For a signal handler, too.
void write_last_words(std::string_view text) noexcept;

}  // namespace neliroute::tool
