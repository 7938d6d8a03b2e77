#include "router/options/option_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>

#include "ledgers/topic_name.h"
#include "neli_core/record/record.h"

namespace neliroute {
namespace {

Error bad(std::string what) { return {Errc::bad_option, std::move(what)}; }

std::string quoted(std::string_view text) { return "\"" + std::string(text) + "\""; }

template <class Choice, std::size_t N>
std::optional<Choice> one_of(std::string_view text, const std::array<Choice, N>& choices) {
  const auto found = std::find_if(choices.begin(), choices.end(),
                                  [&](Choice choice) { return to_string(choice) == text; });
  return found == choices.end() ? std::nullopt : std::optional(*found);
}

}  // namespace

std::optional<std::uint64_t> number_of(std::string_view text) {
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  if (text.empty() || error != std::errc{} || stop != end) return std::nullopt;
  return value;
}

Result<milliseconds> parse_duration(std::string_view text) {
  const auto digits = text.substr(0, text.find_first_not_of("0123456789"));
  const std::string_view unit = text.substr(digits.size());
  std::uint64_t scale = 0;
  if (unit == "ms") scale = 1;
  if (unit == "s") scale = 1000;
  if (unit == "m") scale = 60'000;
  const auto count = number_of(digits);
  // A day: far above any duration of the protocol, far below an overflow.
  constexpr std::uint64_t kMost = 24ULL * 3600 * 1000;
  const std::string given(text);
  if (count && unit.empty()) {
    return bad(given + " has no unit; write " + given + "ms, " + given + "s or " + given + "m");
  }
  if (!count || scale == 0) {
    return bad(quoted(text) + " is not a duration; write a whole number and its unit, as in "
                              "250ms, 3s or 1m");
  }
  if (*count > kMost / scale) return bad(given + " is more than a day");
  return milliseconds{static_cast<std::int64_t>(*count * scale)};
}

Result<milliseconds> parse_positive_duration(std::string_view text) {
  auto value = parse_duration(text);
  if (value && value->count() == 0) {
    return bad(std::string(text) + " is no time at all; it must be above 0");
  }
  return value;
}

Result<std::uint32_t> parse_number(std::string_view text, std::uint32_t least,
                                   std::uint32_t most) {
  const auto value = number_of(text);
  if (!value || *value < least || *value > most) {
    return bad(quoted(text) + " is not a whole number from " + std::to_string(least) + " to " +
               std::to_string(most));
  }
  return static_cast<std::uint32_t>(*value);
}

Result<std::string> parse_topic(std::string_view text) {
  if (text.empty()) return bad("must not be empty");
  if (auto fits = check_topic_name(text); !fits) return fits.error();
  return std::string(text);
}

Result<SlotCount> parse_slots(std::string_view text) {
  const auto value = parse_number(text, 1, kSlotCountMax);
  if (!value) return value.error();
  return SlotCount{*value};
}

Result<Hash> parse_hash_option(std::string_view text) {
  if (const auto hash = parse_hash(text)) return *hash;
  return bad(quoted(text) + " is not a hash that neliroute knows; choose xxh3, crc16 (Redis "
                            "Cluster's) or murmur2 (Kafka's)");
}

Result<Mode> parse_mode_option(std::string_view text) {
  constexpr std::array kModes{Mode::non_exclusive, Mode::exclusive};
  if (const auto mode = one_of(text, kModes)) return *mode;
  return bad(quoted(text) + " is not a mode; choose non_exclusive (at least one owner) or "
                            "exclusive (at most one owner)");
}

Result<Variation> parse_variation_option(std::string_view text) {
  constexpr std::array kVariations{Variation::claimed, Variation::broadcast};
  if (const auto variation = one_of(text, kVariations)) return *variation;
  return bad(quoted(text) + " is not a variation; choose claimed (the order of claims decides) or "
                            "broadcast (the NELI paper's own)");
}

Result<Assignment> parse_assignment_option(std::string_view text) {
  constexpr std::array kAssignments{Assignment::group, Assignment::assigner};
  if (const auto assignment = one_of(text, kAssignments)) return *assignment;
  return bad(quoted(text) + " is no source of assignments; choose group (Kafka's) or assigner (one "
                            "of the processes)");
}

Result<std::optional<GroupProtocol>> parse_group_protocol(std::string_view text) {
  if (text == "auto") return std::optional<GroupProtocol>{};
  constexpr std::array kProtocols{GroupProtocol::classic, GroupProtocol::consumer};
  if (const auto protocol = one_of(text, kProtocols)) return protocol;
  return bad(quoted(text) + " is not a group protocol; choose auto, consumer (KIP-848, Kafka 4.0 "
                            "and later) or classic");
}

Result<Profile> parse_profile_option(std::string_view text) {
  if (const auto profile = parse_profile(text)) return *profile;
  return bad(quoted(text) + " is not a profile; choose fast, balanced or steady");
}

Result<std::pair<std::string, std::string>> parse_property(std::string_view text) {
  const auto equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    return bad("a librdkafka property is written key=value, as in `kafka.properties` "
               "security.protocol=SASL_SSL");
  }
  return std::pair{std::string(text.substr(0, equals)), std::string(text.substr(equals + 1))};
}

Result<bool> parse_flag(std::string_view text) {
  constexpr std::array<std::string_view, 4> kTrue{"true", "1", "yes", "on"};
  constexpr std::array<std::string_view, 4> kFalse{"false", "0", "no", "off"};
  if (std::find(kTrue.begin(), kTrue.end(), text) != kTrue.end()) return true;
  if (std::find(kFalse.begin(), kFalse.end(), text) != kFalse.end()) return false;
  return bad(quoted(text) + " is neither true nor false");
}

}  // namespace neliroute
