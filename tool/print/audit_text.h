// What an audit found, for people and as JSON.
//
// Threads: pure functions, any.   Units: in the names.   Errors: none.
#pragma once

#include <boost/json/object.hpp>
#include <string>

#include "audit/audit.h"
#include "ledgers/log_read.h"

namespace neliroute::tool {

/// Several lines: what happened, what the rules say, and the records that show it.
[[nodiscard]] std::string text_of(const Finding& finding);
[[nodiscard]] boost::json::object json_of(const Finding& finding);

/// Which part of a log was read, and whether retention cut that short.
[[nodiscard]] std::string text_of(const LogRead& log);
[[nodiscard]] boost::json::object json_of(const LogRead& log);

/// One line: how much was read, and what was found.
[[nodiscard]] std::string text_of(const AuditTotals& totals);
[[nodiscard]] boost::json::object json_of(const AuditTotals& totals);

/// "2026-01-31T12:00:00.123Z"
[[nodiscard]] std::string time_text(BrokerTime time);

}  // namespace neliroute::tool
