// Which librdkafka properties a user may set, and which clients know them.
//
// Threads: pure functions, any.   Units: none.   Errors: none.
#pragma once

#include <string_view>

namespace neliroute {

/// Why a user may not set this property, and what to use instead; empty: it is allowed.
[[nodiscard]] std::string_view why_refused(std::string_view property) noexcept;

/// Whether only producers, or only consumers, know this property.
[[nodiscard]] bool is_producer_property(std::string_view property) noexcept;
[[nodiscard]] bool is_consumer_property(std::string_view property) noexcept;
/// Whether only consumers that are in a group know it.
[[nodiscard]] bool is_group_property(std::string_view property) noexcept;

/// Whether its value names a file that each client reads when it is made.
[[nodiscard]] bool is_file_property(std::string_view property) noexcept;

/// Whether its value must never be shown.
[[nodiscard]] bool is_secret_property(std::string_view property) noexcept;

}  // namespace neliroute
