#include "router/options/option_table.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "neli_core/record/record.h"
#include "router/options/option_checks.h"
#include "router/options/option_text.h"

namespace neliroute {
namespace {

using Text = std::string_view;
using Options = RouterOptions;
using Takes = OptionText::Takes;

constexpr unsigned kOwner = static_cast<unsigned>(Part::owner);
constexpr unsigned kNoMember = kOwner | static_cast<unsigned>(Part::reader);  // who has to say it

/// Stores what was parsed, if it could be.
template <class Target, class Value>
Result<void> put(Target& target, Result<Value> value) {
  if (!value) return value.error();
  target = static_cast<Target>(std::move(*value));
  return {};
}

Result<std::string> parse_text(Text text) {
  if (text.empty()) return Error{Errc::bad_option, "must not be empty"};
  return std::string(text);
}

Result<void> set_endpoint(Options& o, Text text) {
  if (auto checked = check_endpoint(text); !checked) return checked;
  o.process.endpoint = text;
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

// In the order of the help.
constexpr OptionRow kRows[] = {
    {{.field = "kafka.brokers", .flag = "--brokers", .takes = Takes::list,
      .type = "HOST:PORT,...", .heading = "Ledger",
      .help = "Kafka's brokers (default 127.0.0.1:9092)", .first_day = true},
     [](Options& o, Text t) { return put(o.kafka.brokers, parse_text(t)); }},
    {{.field = "kafka.topic", .flag = "--topic", .type = "NAME", .heading = "Ledger",
      .help = "Kafka's topic (default neliroute)", .first_day = true},
     [](Options& o, Text t) { return put(o.kafka.topic, parse_topic(t)); }},
    {{.field = "ledger", .flag = "--ledger", .type = "ADDRESS", .heading = "Ledger",
      .help = "kafka://HOST:PORT,.../TOPIC, etcd://HOST:PORT,.../PREFIX, "
              "postgres://USER@HOST/DATABASE?topic=NAME or quorum://HOST:PORT,.../NAME, in place "
              "of --brokers and --topic",
      .first_day = true},
     [](Options& o, Text t) { return put(o.ledger, parse_text(t)); }},
    {{.field = "group", .flag = "--group", .type = "NAME", .heading = "Ledger",
      .help = "Who belongs together; with Kafka's group its name (default neliroute)",
      .shown = kOwner},
     [](Options& o, Text t) { return put(o.group, parse_text(t)); }},
    {{.field = "lane", .flag = "--lane", .type = "N", .heading = "Ledger",
      .help = "One of several disjoint groups over the same slots (default 0)"},
     [](Options& o, Text t) { return put(o.lane, parse_number(t, 0, kLaneMax)); }},
    {{.field = "partitions", .flag = "--partitions", .type = "N", .heading = "Ledger",
      .help = "Any number up to that of slots (default: the running group's, or 64); with "
              "--assignment group that of the topic (default: an existing topic's, or 64)",
      .reader_help = "What the owners run with (default: what their records say, or what the topic "
                     "has)"},
     [](Options& o, Text t) { return put(o.partitions, parse_number(t, 1, kPartitionCountMax)); }},
    {{.field = "logs", .flag = "--logs", .type = "N", .heading = "Ledger",
      .help = "Partitions that carry records (default 4, or all if fewer; 1 beyond Kafka)"},
     [](Options& o, Text t) { return put(o.logs, parse_number(t, 1, kLogCountMax)); }},
    {{.field = "kafka.properties", .flag = "-X", .takes = Takes::each, .type = "KEY=VALUE",
      .heading = "Ledger",
      .help = "Any librdkafka property, for TLS and SASL; may be repeated. Put secrets into "
              "NELIROUTE_X (one per line) or the settings file, not here"},
     set_property},

    {{.field = "slots", .flag = "--slots", .type = "N", .heading = "Slots",
      .help = "How many slots there are (default 1024)", .first_day = true, .shown = kNoMember},
     [](Options& o, Text t) { return put(o.slots, parse_slots(t)); }},
    {{.field = "hash", .flag = "--hash", .type = "NAME", .choices = "xxh3 crc16 murmur2",
      .heading = "Slots", .help = "xxh3, crc16 or murmur2 (default xxh3)", .shown = kNoMember},
     [](Options& o, Text t) { return put(o.hash.hash, parse_hash_option(t)); }},
    {{.field = "hash.tags", .flag = "--hash-tags", .takes = Takes::flag, .heading = "Slots",
      .help = "Hash only the part in {braces}, by Redis' rules", .shown = kNoMember},
     set_hash_tags},
    {{.field = "allow_uneven", .flag = "--allow-uneven", .takes = Takes::flag, .heading = "Slots",
      .help = "Slots need not be a multiple of partitions", .shown = kNoMember},
     [](Options& o, Text t) { return put(o.allow_uneven, parse_flag(t)); }},

    {{.field = "process.endpoint", .flag = "--endpoint", .type = "HOST:PORT",
      .heading = "Process", .help = "Where callers connect: the answer of `route` (required)",
      .first_day = true, .shown = kOwner},
     set_endpoint},
    {{.field = "process.name", .flag = "--name", .type = "NAME", .heading = "Process",
      .help = "For people; names may collide (default host_pid_id)",
      .first_day = true, .shown = kOwner},
     [](Options& o, Text t) { return put(o.process.name, parse_text(t)); }},
    {{.field = "mode", .flag = "--mode", .type = "MODE", .choices = "non_exclusive exclusive",
      .heading = "Process",
      .help = "non_exclusive: at least one owner, overlaps while slots move; exclusive: at most "
              "one owner, gaps while slots move (default non_exclusive)",
      .first_day = true, .shown = kOwner},
     [](Options& o, Text t) { return put(o.mode, parse_mode_option(t)); }},

    {{.field = "timing.profile", .flag = "--profile", .type = "NAME",
      .choices = "fast balanced steady", .heading = "Timing",
      .help = "Interval and session: fast (100 ms, 500 ms), balanced (500 ms, 3 s; the default) "
              "or steady (2 s, 10 s)", .first_day = true},
     [](Options& o, Text t) { return put(o.timing.profile, parse_profile_option(t)); }},
    {{.field = "timing.lease", .flag = "--lease", .type = "TIME", .heading = "Timing",
      .help = "How long one renewal entitles its sender to lead",
      .reader_help = "Assumed to be the owners' lease until one of them states it"},
     [](Options& o, Text t) { return put(o.timing.lease, parse_positive_duration(t)); }},
    {{.field = "kafka.timeout", .flag = "--timeout", .type = "TIME", .heading = "Timing",
      .help = "Give up if no broker answers within this time of starting (default 10s)",
      .reader_help = "Answer within this time (default: the larger of 10s and lease + 1s)",
      .override_help = "End within this time (default: the larger of 10s and lease + 1s to read "
                       "what is there, then 30s to carry it out)"},
     [](Options& o, Text t) { return put(o.kafka.timeout, parse_positive_duration(t)); }},
    {{.field = "timing.interval", .flag = "--interval", .type = "TIME", .heading = "Timing",
      .help = "Time between two renewals", .shown = kOwner},
     [](Options& o, Text t) { return put(o.timing.interval, parse_positive_duration(t)); }},
    {{.field = "timing.clock_error", .flag = "--clock-error", .type = "TIME", .heading = "Timing",
      .help = "Bound on the error between two broker timestamps", .shown = kOwner},
     [](Options& o, Text t) { return put(o.timing.clock_error, parse_duration(t)); }},
    {{.field = "timing.session", .flag = "--session", .type = "TIME", .heading = "Timing",
      .help = "Silent for longer, this process is replaced (at least 300ms, whatever the broker "
              "has). With --assignment group: session of the group member; with the consumer "
              "protocol the broker decides", .first_day = true, .shown = kOwner},
     [](Options& o, Text t) { return put(o.timing.session, parse_positive_duration(t)); }},
    {{.field = "timing.hang_limit", .flag = "--hang-limit", .type = "TIME", .heading = "Timing",
      .help = "--assignment group: a process whose executor is blocked for longer leaves it "
              "(default and minimum: half of the session, at least 1s; with classic all of it, at "
              "least 2s). With an assigner --session counts", .shown = kOwner},
     [](Options& o, Text t) { return put(o.timing.hang_limit, parse_positive_duration(t)); }},
    {{.field = "timing.serve_stale", .flag = "--serve-stale", .type = "TIME", .heading = "Timing",
      .help = "Non-exclusive mode: serve on for so long while Kafka is silent (default 15m; 0: "
              "until the lease ends). A process that is cut off alone serves beside its successor "
              "for as long",
      .reader_help = "Name owners for so long while Kafka is silent, if they say that they serve "
                     "on (default 15m)"},
     [](Options& o, Text t) { return put(o.timing.serve_stale, parse_duration(t)); }},
    {{.field = "group_protocol", .flag = "--group-protocol", .type = "NAME",
      .choices = "auto consumer classic", .heading = "Timing",
      .help = "--assignment group: auto, consumer or classic (default auto)", .shown = kOwner},
     [](Options& o, Text t) { return put(o.group_protocol, parse_group_protocol(t)); }},

    {{.field = "variation", .flag = "--variation", .type = "NAME", .choices = "claimed broadcast",
      .heading = "Variation",
      .help = "claimed: the order of claims decides; broadcast: the NELI paper's own, which trusts "
              "clocks and the group (default claimed)", .shown = kOwner},
     [](Options& o, Text t) { return put(o.variation, parse_variation_option(t)); }},
    {{.field = "assignment", .flag = "--assignment", .type = "NAME", .choices = "assigner group",
      .heading = "Variation",
      .help = "Who decides which process should claim what: assigner, one of the processes, "
              "without any group; or group, Kafka's consumer group (default assigner; group with "
              "broadcast, --group-protocol or --hang-limit)", .shown = kOwner},
     [](Options& o, Text t) { return put(o.assignment, parse_assignment_option(t)); }},
    {{.field = "weight", .flag = "--weight", .type = "N", .heading = "Variation",
      .help = "assigner: how much this process should own beside the others, from 0, nothing, to "
              "1000 (default 1)", .shown = kOwner},
     [](Options& o, Text t) { return put(o.weight, parse_number(t, 0, kWeightMax)); }},
    {{.field = "seat_priority", .flag = "--seat-priority", .type = "N", .heading = "Variation",
      .help = "assigner: where none assigns, the process of the highest seat priority, 0 to 100, "
              "becomes the assigner (default 50); it takes nothing from one that assigns",
      .shown = kOwner},
     [](Options& o, Text t) { return put(o.seat_priority, parse_number(t, 0, kSeatPriorityMax)); }},
    {{.field = "timing.local_clock_error", .flag = "--local-clock-error", .type = "TIME",
      .heading = "Variation",
      .help = "broadcast: bound on the error between the broker's clock and this machine's",
      .shown = kOwner},
     [](Options& o, Text t) { return put(o.timing.local_clock_error, parse_duration(t)); }},
    {{.field = "timing.groups", .flag = "--groups", .type = "N", .heading = "Variation",
      .help = "broadcast: how many groups share the topic; each writes N times less often (default "
              "1)", .shown = kOwner},
     [](Options& o, Text t) { return put(o.timing.groups, parse_number(t, 1, 1000)); }},
    {{.field = "roles", .flag = "--roles", .type = "N", .heading = "Variation",
      .help = "How many roles there are, role j on partition j mod M (default: one per slot)",
      .shown = kOwner},
     [](Options& o, Text t) { return put(o.roles, parse_number(t, 1, kSlotCountMax)); }},
    {{.field = "hints", .flag = "--no-hints", .takes = Takes::flag, .heading = "Variation",
      .help = "broadcast: write no claims, so that no caller can find the owner", .shown = kOwner},
     set_no_hints},
};

}  // namespace

OptionText OptionText::of(Part part) const {
  OptionText text = *this;
  if (part != Part::owner && !reader_help.empty()) text.help = reader_help;
  if (part == Part::override && !override_help.empty()) text.help = override_help;
  text.shown &= static_cast<unsigned>(part);
  return text;
}

std::span<const OptionRow> router_options() noexcept { return kRows; }

std::string variable_of(std::string_view flag) {
  std::string name(flag.substr(flag.find_first_not_of('-')));
  std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) {
    return c == '-' ? '_' : static_cast<char>(std::toupper(c));
  });
  return "NELIROUTE_" + name;
}

}  // namespace neliroute
