// The output and the exit codes of the subcommands.
//
// No untrusted text reaches a terminal raw: names, endpoints and keys are shown() in texts, and
// fail() and log() escape the rest.
//
// Threads: say() and after_output() one, the rest any.   Units: none.
// Errors: say() is false when the line could not be written; see after_output().
#pragma once

#include <boost/json/object.hpp>
#include <neliroute/error.h>
#include <neliroute/route.h>
#include <span>
#include <string>
#include <string_view>

#include "router/text/json_text.h"

namespace neliroute::tool {

// What every subcommand exits with.
inline constexpr int kExitYes = 0;          ///< yes, done, or a planned stop by a signal
inline constexpr int kExitNo = 1;           ///< the answer is no
inline constexpr int kExitUsage = 2;        ///< bad usage, or settings that do not fit
inline constexpr int kExitUnreachable = 3;  ///< the ledger is unreachable, refuses or is silent;
                                            ///< an answer could not be written; or the
                                            ///< program behind an owner hung
inline constexpr int kExitKilled = 130;     ///< the second signal

[[nodiscard]] int exit_code_of(Errc code) noexcept;
/// Any unknown takes precedence over any unowned, and that over yes.
[[nodiscard]] int exit_code_of(std::span<const Verdict> verdicts) noexcept;

/// "neliroute COMMAND"; a program that is named so itself, such as neliroute_placements, is no
/// subcommand.
[[nodiscard]] std::string called(std::string_view command);
/// "neliroute COMMAND: text" on stderr; returns `code`, so that callers can end with it.
int fail(std::string_view command, std::string_view text, int code);
int fail(std::string_view command, const Error& error);
/// "neliroute COMMAND: warning: text" on stderr.
void warn(std::string_view command, std::string_view text);

/// All of it, however long the reader takes. False, with errno: it cannot be written.
bool write_whole(int file, std::string_view text) noexcept;
/// Writes a line on stdout at once. False: nobody reads it (silently: `| head -1` is no error), or
/// it cannot be written, which is reported on stderr once.
bool say(std::string_view line);
bool say(const boost::json::object& row);
/// The exit code: `code`, but neither yes nor no if some of the answer could not be written.
[[nodiscard]] int after_output(int code) noexcept;

/// Appends `text`, which begins in column `indent`, with its lines broken before the 80th.
void wrap(std::string& out, std::string_view text, std::size_t indent);

/// The time of day here and now, "14:05:59.123".
[[nodiscard]] std::string clock_text();

/// SIGTERM and SIGINT end the process at once, as a planned stop: use it while the process holds
/// nothing.
void end_at_once_on_signals();

/// slot, partition, verdict and what else is known.
void put_route(boost::json::object& row, const Route& route);

/// A key or name for people: unprintable or invisible characters are escaped; an empty one is "".
[[nodiscard]] std::string shown(std::string_view text);
/// The same for a whole text, which may contain backslashes and newlines.
[[nodiscard]] std::string printable(std::string_view text);
/// The same for one line.
[[nodiscard]] std::string printable_line(std::string_view text);

}  // namespace neliroute::tool
