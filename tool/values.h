// From the texts of a command line to values, and back for people to read.
//
// Threads: pure functions, any.   Units: in the names.
// Errors: bad_option, naming the text, what was expected and what to do.
#pragma once

#include <cstdint>
#include <neliroute/error.h>
#include <neliroute/hash.h>
#include <neliroute/slot.h>
#include <neliroute/time.h>
#include <string>
#include <string_view>
#include <utility>

#include "neli_core/options.h"
#include "neli_core/timing.h"

namespace neliroute::tool {

/// "250ms", "3s", "1m": a whole number and its unit. A bare number is refused: of what?
[[nodiscard]] Result<milliseconds> parse_duration(std::string_view text);

/// A time in the past, in milliseconds since 1970: how long ago ("10m"), or the time itself
/// ("2026-01-31T12:00:00Z", "2026-01-31T14:00:00.5+02:00").
[[nodiscard]] Result<milliseconds> parse_since(std::string_view text, milliseconds unix_now);

/// A whole number, least..most.
[[nodiscard]] Result<std::uint32_t> parse_number(std::string_view text, std::uint32_t least,
                                                 std::uint32_t most);

/// A name that Kafka takes for a topic.
[[nodiscard]] Result<std::string> parse_topic(std::string_view text);
[[nodiscard]] Result<SlotCount> parse_slots(std::string_view text);
[[nodiscard]] Result<Hash> parse_hash_option(std::string_view text);
[[nodiscard]] Result<Mode> parse_mode_option(std::string_view text);
[[nodiscard]] Result<Variation> parse_variation_option(std::string_view text);
[[nodiscard]] Result<Profile> parse_profile_option(std::string_view text);

/// "key=value". The value is never part of an error: it may be a secret.
[[nodiscard]] Result<std::pair<std::string, std::string>> parse_property(std::string_view text);

/// What every partition needs: a slot, and as many as the others unless that is waived.
[[nodiscard]] Result<void> check_even(SlotCount slots, std::uint32_t partitions,
                                      bool allow_uneven);

/// "250 ms", "3 s", "1.5 s", "2 min".
[[nodiscard]] std::string text_of(milliseconds duration);
/// "1,024".
[[nodiscard]] std::string text_of(std::uint64_t number);

}  // namespace neliroute::tool
