// What the subcommands say, and how they end.
//
// Threads: any.   Units: none.   Errors: say() is false when nobody reads any more.
#pragma once

#include <boost/json/object.hpp>
#include <span>
#include <string>
#include <string_view>

#include "neli_core/result.h"
#include "router/route.h"

namespace neliroute::tool {

// What every subcommand exits with.
inline constexpr int kExitYes = 0;          ///< yes, done, or a planned stop by a signal
inline constexpr int kExitNo = 1;           ///< the answer is no
inline constexpr int kExitUsage = 2;        ///< bad usage, or settings that do not fit
inline constexpr int kExitUnreachable = 3;  ///< the ledger is unreachable, refuses or is silent
inline constexpr int kExitKilled = 130;     ///< the second signal

[[nodiscard]] int exit_code_of(Errc code) noexcept;
/// Any unknown before any unowned before yes.
[[nodiscard]] int exit_code_of(std::span<const Verdict> verdicts) noexcept;

/// "neliroute COMMAND: text" on stderr; returns `code`, so that callers can end with it.
int fail(std::string_view command, std::string_view text, int code);
int fail(std::string_view command, const Error& error);

/// A line on stdout, flushed. False: nobody reads it.
bool say(std::string_view line);
bool say(const boost::json::object& row);

/// {"inc":..,"offset":..}
[[nodiscard]] boost::json::object json_of(const Epoch& epoch);
/// {"key":..}, or {"key_base64":..} where JSON could not carry it: not UTF-8.
void put_key(boost::json::object& row, std::string_view key);
/// slot, partition, verdict and what else is known.
void put_route(boost::json::object& row, const Route& route);

[[nodiscard]] bool is_utf8(std::string_view text) noexcept;
[[nodiscard]] std::string base64(std::string_view bytes);
/// For people: what would not print, or not be seen, is escaped; the empty key is "".
[[nodiscard]] std::string shown(std::string_view key);

}  // namespace neliroute::tool
