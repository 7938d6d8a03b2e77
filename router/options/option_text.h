// Options as people write them: on a command line, in a settings file or in an environment
// variable. Private; the command uses it, too.
//
// Threads: pure functions, any.   Units: in the names.
// Errors: bad_option, naming the text, what was expected and what to do.
#pragma once

#include <cstdint>
#include <neliroute/error.h>
#include <neliroute/ids.h>
#include <neliroute/options.h>
#include <neliroute/settings.h>
#include <neliroute/time.h>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace neliroute {

/// The whole text as a number; nullopt if it is none or too great.
[[nodiscard]] std::optional<std::uint64_t> number_of(std::string_view text);
/// "250ms", "3s", "1m": a whole number and its unit. A bare number is refused: its unit is unknown.
[[nodiscard]] Result<milliseconds> parse_duration(std::string_view text);
/// The same, above 0.
[[nodiscard]] Result<milliseconds> parse_positive_duration(std::string_view text);
/// A whole number, least..most.
[[nodiscard]] Result<std::uint32_t> parse_number(std::string_view text, std::uint32_t least,
                                                 std::uint32_t most);
/// A name that Kafka accepts for a topic.
[[nodiscard]] Result<std::string> parse_topic(std::string_view text);
[[nodiscard]] Result<SlotCount> parse_slots(std::string_view text);
[[nodiscard]] Result<Hash> parse_hash_option(std::string_view text);
[[nodiscard]] Result<Mode> parse_mode_option(std::string_view text);
[[nodiscard]] Result<Variation> parse_variation_option(std::string_view text);
[[nodiscard]] Result<Assignment> parse_assignment_option(std::string_view text);
/// "auto": nullopt.
[[nodiscard]] Result<std::optional<GroupProtocol>> parse_group_protocol(std::string_view text);
[[nodiscard]] Result<Profile> parse_profile_option(std::string_view text);
/// key=value. Its message does not repeat the text, which may be a secret.
[[nodiscard]] Result<std::pair<std::string, std::string>> parse_property(std::string_view text);
/// A flag's value in a variable or a settings file: "true", "1", "yes", "on", or the contrary.
[[nodiscard]] Result<bool> parse_flag(std::string_view text);

}  // namespace neliroute
