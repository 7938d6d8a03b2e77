// Values that only the command reads from a command line, besides the library's options
// (router/options/option_text.h), and values for people to read.
//
// Threads: pure functions, any.   Units: in the names.
// Errors: bad_option, naming the text, what was expected and what to do.
#pragma once

#include <cstdint>
#include <neliroute/error.h>
#include <neliroute/ids.h>
#include <neliroute/time.h>
#include <string>
#include <string_view>

#include "router/options/option_text.h"

namespace neliroute::tool {

/// A time in the past, in milliseconds since 1970: how long ago ("10m"), or the time itself
/// ("2026-01-31T12:00:00Z", "2026-01-31T14:00:00.5+02:00").
[[nodiscard]] Result<milliseconds> parse_since(std::string_view text, milliseconds unix_now);

/// Checks that every partition has a slot, and as many as the others unless that is waived.
[[nodiscard]] Result<void> check_even(SlotCount slots, std::uint32_t partitions,
                                      bool allow_uneven);

/// "250 ms", "3 s", "1.5 s", "2 min".
[[nodiscard]] std::string text_of(milliseconds duration);
/// "1,024".
[[nodiscard]] std::string text_of(std::uint64_t number);

}  // namespace neliroute::tool
