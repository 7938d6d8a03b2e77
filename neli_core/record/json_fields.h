// One field of a record's JSON, as the type that it stands for. Null, or of another type: no value.
// Private to the records' codec.
//
// Threads: pure functions, any.   Units: milliseconds on the wire.   Errors: no value.
#pragma once

#include <boost/json/value.hpp>
#include <cstdint>
#include <neliroute/ids.h>
#include <neliroute/time.h>
#include <optional>
#include <string>

#include "neli_core/record/log_parts.h"
#include "neli_core/record/record.h"

namespace neliroute {

namespace json = boost::json;

[[nodiscard]] std::optional<std::int64_t> integer_of(const json::value* value);
[[nodiscard]] std::optional<std::int64_t> incarnation_of(const json::value* value);
[[nodiscard]] std::optional<std::uint32_t> small_of(const json::value* value);
[[nodiscard]] bool truth_of(const json::value* value);
[[nodiscard]] std::string text_of(const json::value* value);
[[nodiscard]] std::optional<ProcessId> id_of(const json::value* value);
[[nodiscard]] std::optional<milliseconds> lease_of(const json::value* value);
[[nodiscard]] std::optional<LogParts> parts_of(const json::value* value);
[[nodiscard]] std::optional<PartitionRanges> ranges_of(const json::value* value);

}  // namespace neliroute
