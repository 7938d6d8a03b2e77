// The SQL objects of the logs in a PostgreSQL database, and their names.
//
//   log        a row for each log: which one it is, its next position, its oldest one that is kept
//   record     their records
//   append()   the one way to add some: it gives them their positions and stamps, tells listeners,
//              and removes what is too old
//   claim      the newest claim of each partition
//   owned()    for a store in the same database: whether nobody has claimed since, and nobody can
//   make_logs()  adds a topic's rows
//   standbys()   how many servers might take over
//
// Threads: pure functions, any.   Units: none.   Errors: bad_option.
#pragma once

#include <neliroute/error.h>
#include <string>
#include <string_view>

namespace neliroute {

/// For psql or any client; harmless if all is there. `schema` fits check_schema_name().
[[nodiscard]] std::string postgres_schema(std::string_view schema);
/// The same within a transaction that is open.
[[nodiscard]] std::string postgres_schema_body(std::string_view schema);
/// Names that need no quotes, and nothing else.
[[nodiscard]] Result<void> check_schema_name(std::string_view schema);

/// append() raises this, where these are not the logs that the caller had read.
inline constexpr std::string_view kOtherLogs = "NR001";

}  // namespace neliroute
