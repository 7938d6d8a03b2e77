#include "router/options/option_text.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <chrono>

#include "kafka/kafka_options.h"
#include "neli_core/record/record.h"
#include "router/options/option_checks.h"

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

Result<milliseconds> parse_positive_duration(std::string_view text) {
  auto value = parse_duration(text);
  if (value && value->count() == 0) {
    return bad(std::string(text) + " is no time at all; it must be above 0");
  }
  return value;
}

Result<std::optional<GroupProtocol>> parse_group_protocol(std::string_view text) {
  if (text == "auto") return std::optional<GroupProtocol>{};
  constexpr std::array kProtocols{GroupProtocol::classic, GroupProtocol::consumer};
  if (const auto protocol = one_of(text, kProtocols)) return protocol;
  return bad(quoted(text) + " is not a group protocol; choose auto, consumer (KIP-848, Kafka 4.0 "
                            "and later) or classic");
}

Result<std::string> parse_text(std::string_view text) {
  if (text.empty()) return bad("must not be empty");
  return std::string(text);
}

Result<std::string> parse_endpoint(std::string_view text) {
  if (auto checked = check_endpoint(text); !checked) return checked.error();
  return std::string(text);
}

/// Stores what was parsed, if it could be.
template <class Target, class Value>
Result<void> put(Target& target, Result<Value> value) {
  if (!value) return value.error();
  target = std::move(*value);
  return {};
}

using Text = std::string_view;
using Options = RouterOptions;

struct Option {
  Text name;
  Result<void> (*set)(Options&, Text);
};

Result<void> set_lane(Options& o, Text text) {
  const auto lane = parse_number(text, 0, kLaneMax);
  if (!lane) return lane.error();
  o.lane = Lane{*lane};
  return {};
}

Result<void> set_hash_tags(Options& o, Text text) {
  const auto on = parse_flag(text);
  if (!on) return on.error();
  o.hash.tags = *on ? HashTags::on : HashTags::off;
  return {};
}

Result<void> set_no_hints(Options& o, Text text) {
  const auto none = parse_flag(text);
  if (!none) return none.error();
  o.hints = !*none;
  return {};
}

Result<void> set_property(Options& o, Text text) {
  auto property = parse_property(text);
  if (!property) return property.error();
  o.kafka.properties[property->first] = std::move(property->second);
  return {};
}

// Keyed by the command's names.
constexpr std::array kOptions = {
    Option{"X", set_property},
    Option{"allow-uneven", [](Options& o, Text t) { return put(o.allow_uneven, parse_flag(t)); }},
    Option{"brokers", [](Options& o, Text t) { return put(o.kafka.brokers, parse_text(t)); }},
    Option{"clock-error",
           [](Options& o, Text t) { return put(o.timing.clock_error, parse_duration(t)); }},
    Option{"endpoint",
           [](Options& o, Text t) { return put(o.process.endpoint, parse_endpoint(t)); }},
    Option{"group", [](Options& o, Text t) { return put(o.group, parse_text(t)); }},
    Option{"group-protocol",
           [](Options& o, Text t) { return put(o.group_protocol, parse_group_protocol(t)); }},
    Option{"groups",
           [](Options& o, Text t) { return put(o.timing.groups, parse_number(t, 1, 1000)); }},
    Option{"hang-limit",
           [](Options& o, Text t) { return put(o.timing.hang_limit, parse_positive_duration(t)); }},
    Option{"hash", [](Options& o, Text t) { return put(o.hash.hash, parse_hash_option(t)); }},
    Option{"hash-tags", set_hash_tags},
    Option{"interval",
           [](Options& o, Text t) { return put(o.timing.interval, parse_positive_duration(t)); }},
    Option{"lane", set_lane},
    Option{"lease",
           [](Options& o, Text t) { return put(o.timing.lease, parse_positive_duration(t)); }},
    Option{"local-clock-error",
           [](Options& o, Text t) { return put(o.timing.local_clock_error, parse_duration(t)); }},
    Option{"logs",
           [](Options& o, Text t) { return put(o.logs, parse_number(t, 1, kLogCountMax)); }},
    Option{"mode", [](Options& o, Text t) { return put(o.mode, parse_mode_option(t)); }},
    Option{"name", [](Options& o, Text t) { return put(o.process.name, parse_text(t)); }},
    Option{"no-hints", set_no_hints},
    Option{"partitions",
           [](Options& o, Text t) {
             return put(o.partitions, parse_number(t, 1, kPartitionCountMax));
           }},
    Option{"profile",
           [](Options& o, Text t) { return put(o.timing.profile, parse_profile_option(t)); }},
    Option{"roles",
           [](Options& o, Text t) { return put(o.roles, parse_number(t, 1, kSlotCountMax)); }},
    Option{"session",
           [](Options& o, Text t) { return put(o.timing.session, parse_positive_duration(t)); }},
    Option{"slots", [](Options& o, Text t) { return put(o.slots, parse_slots(t)); }},
    Option{"timeout",
           [](Options& o, Text t) { return put(o.kafka.timeout, parse_positive_duration(t)); }},
    Option{"topic", [](Options& o, Text t) { return put(o.kafka.topic, parse_topic(t)); }},
    Option{"assignment",
           [](Options& o, Text t) { return put(o.assignment, parse_assignment_option(t)); }},
    Option{"variation",
           [](Options& o, Text t) { return put(o.variation, parse_variation_option(t)); }},
    Option{"weight",
           [](Options& o, Text t) { return put(o.weight, parse_number(t, 0, kWeightMax)); }},
};

const Option* find_option(std::string_view name) noexcept {
  const auto* found = std::find_if(kOptions.begin(), kOptions.end(),
                                   [&](const Option& one) { return one.name == name; });
  return found == kOptions.end() ? nullptr : found;
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
  if (!is_topic_name(text)) {
    return bad(quoted(text) + " is no name of a topic; write 1 to " +
               std::to_string(kTopicNameMax) + " of a-z, A-Z, 0-9, \".\", \"_\" and \"-\", but "
                                               "not \".\" or \"..\" alone");
  }
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

Result<void> set_option(RouterOptions& options, std::string_view name, std::string_view text) {
  const Option* const option = find_option(name);
  if (option == nullptr) return bad("there is no option " + std::string(name));
  return option->set(options, text);
}

bool is_option(std::string_view name) noexcept { return find_option(name) != nullptr; }

}  // namespace neliroute
