#include "tool/options.h"

#include <algorithm>
#include <utility>

#include "tool/values.h"

namespace neliroute::tool {
namespace {

/// A Take that parses and stores.
template <class Target, class Parse>
CommandLine::Take into(Target& target, Parse parse) {
  return [&target, parse](const std::string& text) -> Result<void> {
    auto value = parse(text);
    if (!value) return value.error();
    target = std::move(*value);
    return {};
  };
}

CommandLine::Take text_into(std::string& target, bool may_be_empty = false) {
  return [&target, may_be_empty](const std::string& text) -> Result<void> {
    if (text.empty() && !may_be_empty) return Error{Errc::bad_option, "must not be empty"};
    target = text;
    return {};
  };
}

auto number(std::uint32_t least, std::uint32_t most) {
  return [least, most](const std::string& text) { return parse_number(text, least, most); };
}

Result<milliseconds> positive_duration(const std::string& text) {
  auto value = parse_duration(text);
  if (value && value->count() == 0) {
    return Error{Errc::bad_option, text + " is no time at all; it must be above 0"};
  }
  return value;
}

Result<std::optional<GroupProtocol>> group_protocol(const std::string& text) {
  if (text == "auto") return std::optional<GroupProtocol>{};
  for (const auto one : {GroupProtocol::classic, GroupProtocol::consumer}) {
    if (to_string(one) == text) return std::optional{one};
  }
  return Error{Errc::bad_option, "\"" + text + "\" is not a group protocol; choose auto, consumer "
                                 "(KIP-848, Kafka 4.0 and later) or classic"};
}

void add_ledger_options(CommandLine& line, CommonOptions& options, Part part) {
  KafkaOptions& kafka = options.router.kafka;
  line.heading("Ledger");
  line.list("--brokers", "HOST:PORT,...", "Kafka's brokers (default 127.0.0.1:9092)",
            text_into(kafka.brokers));
  line.value("--topic", "NAME", "Ledger topic (default neliroute)", into(kafka.topic, parse_topic));
  line.heading(part == Part::owner ? "Ledger" : "");
  line.value("--group", "NAME", "Kafka group that shares the slots out (default neliroute)",
             text_into(kafka.group));
  line.heading("Ledger");
  line.value("--lane", "N", "One of several disjoint groups over the same slots (default 0)",
             [&kafka](const std::string& text) -> Result<void> {
               const auto lane = parse_number(text, 0, kLaneMax);
               if (!lane) return lane.error();
               kafka.lane = Lane{*lane};
               return {};
             });
  add_partitions_option(line, options.router,
                        part == Part::owner
                            ? "Partitions of the topic; without it an existing topic's, or 64"
                            : "Partitions of the topic; without it those that it has");
  line.value("--logs", "N", "Partitions that carry records (default 4, or all if fewer)",
             into(kafka.logs, number(1, kLogCountMax)));
  line.values("-X", "KEY=VALUE", "Any librdkafka property, for TLS and SASL; may be repeated. Put "
              "secrets into NELIROUTE_X (one a line) or the settings file, not here",
              [&kafka](const std::string& text) -> Result<void> {
                auto property = parse_property(text);
                if (!property) return property.error();
                kafka.properties[property->first] = property->second;
                return {};
              });
}

void add_timing_options(CommandLine& line, CommonOptions& options, Part part) {
  TimingRequest& timing = options.router.timing;
  line.heading("Timing");
  line.value("--profile", "NAME", "fast, balanced or steady: interval and session (100 ms, 500 ms; "
             "500 ms, 3 s; 2 s, 10 s; default balanced)",
             into(timing.profile, parse_profile_option));
  line.choices({"fast", "balanced", "steady"});
  line.value("--lease", "TIME",
             part == Part::owner
                 ? "How long one renewal entitles its sender"
                 : "Taken for the owners' lease until one of them tells it",
             into(timing.lease, positive_duration));
  line.value("--timeout", "TIME",
             part == Part::owner
                 ? "Give up if no broker answered by then at start (default 10s)"
                 : "Answer by then at the latest (default: the larger of 10s and lease + 1s)",
             into(options.timeout, positive_duration));
  line.heading(part == Part::owner ? "Timing" : "");
  line.value("--interval", "TIME", "Time between two renewals",
             into(timing.interval, positive_duration));
  line.value("--clock-error", "TIME", "Bound on the error between two broker timestamps",
             into(timing.clock_error, parse_duration));
  line.value("--session", "TIME", "Session of the group member; with the consumer protocol the "
             "broker decides", into(timing.session, positive_duration));
  line.value("--hang-limit", "TIME", "A process whose executor is blocked for longer leaves the "
             "group (default, and least: half of the session, 1s at least; with classic all of "
             "it, 2s at least)", into(timing.hang_limit, positive_duration));
  line.value("--drain-timeout", "TIME", "How long a planned leave may take (default: the lease, "
             "10s at most)", into(options.drain_timeout, parse_duration));
  line.value("--group-protocol", "NAME", "auto, consumer or classic (default auto)",
             into(options.router.kafka.protocol, group_protocol));
  line.choices({"auto", "consumer", "classic"});
}

void add_process_options(CommandLine& line, CommonOptions& options, Part part) {
  line.heading(part == Part::owner ? "Process" : "");
  line.value("--endpoint", "HOST:PORT", "What callers connect to: the answer to `route` (required)",
             [&options](const std::string& text) -> Result<void> {
               if (auto checked = check_endpoint(text); !checked) return checked;
               options.router.process.endpoint = text;
               return {};
             });
  line.value("--name", "NAME", "For people; names may collide (default host_pid_startms)",
             text_into(options.router.process.name));
  line.value("--mode", "MODE", "non_exclusive: at least one owner, overlaps while slots move; "
             "exclusive: at most one owner, gaps while slots move (default non_exclusive)",
             into(options.router.mode, parse_mode_option));
  line.choices({"non_exclusive", "exclusive"});
}

void add_variation_options(CommandLine& line, CommonOptions& options, Part part) {
  RouterOptions& router = options.router;
  line.heading(part == Part::owner ? "Variation" : "");
  line.value("--variation", "NAME", "claimed: the order of claims decides; broadcast: the NELI "
             "paper's own, which trusts clocks and the group (default claimed)",
             into(router.variation, parse_variation_option));
  line.choices({"claimed", "broadcast"});
  line.value("--local-clock-error", "TIME", "broadcast: bound on the error between the broker's "
             "clock and this machine's", into(router.timing.local_clock_error, parse_duration));
  line.value("--groups", "N", "broadcast: how many groups share the topic; each writes N times "
             "less often (default 1)", into(router.timing.groups, number(1, 1000)));
  line.value("--roles", "N", "How many roles there are, role j on partition j mod M (default: one "
             "a slot)", into(router.roles, number(1, kSlotCountMax)));
  line.flag("--no-hints", "broadcast: write no claims beside, so that no caller finds the owner",
            [&router] { router.hints = false; });
}

}  // namespace

void add_slot_options(CommandLine& line, RouterOptions& router) {
  line.value("--slots", "N", "How many slots there are (default 1024)",
             into(router.slots, parse_slots));
  line.value("--hash", "NAME", "xxh3, crc16 or murmur2 (default xxh3)",
             into(router.hash.hash, parse_hash_option));
  line.choices({"xxh3", "crc16", "murmur2"});
  line.flag("--hash-tags", "Hash only what stands in {braces}, by Redis' rules",
            [&router] { router.hash.tags = HashTags::on; });
}

void add_partitions_option(CommandLine& line, RouterOptions& router, std::string help) {
  line.value("--partitions", "N", std::move(help),
             into(router.kafka.partitions, number(1, kPartitionCountMax)));
}

void add_wait_flag(CommandLine& line, CommonOptions& options) {
  line.heading("Timing");
  line.flag("--wait", "Wait for the topic as long as it takes an owner to make it, not for "
            "--timeout only", [&options] {
    options.router.kafka.missing_topic = MissingTopic::wait_for_ever;
  });
}

void add_json_flag(CommandLine& line, bool& json) {
  line.flag("--json", "Print JSON, an object a line", json);
}

void add_log_level(CommandLine& line, LogLevel& level) {
  line.value("--log-level", "LEVEL", "trace, debug, info, warning, error or off",
             into(level, parse_log_level));
  line.choices({"trace", "debug", "info", "warning", "error", "off"});
}

void add_keys_option(CommandLine& line, std::optional<std::string>& file, std::string help) {
  line.value("--keys", "FILE", std::move(help), [&file](const std::string& text) -> Result<void> {
    file = text;
    return {};
  });
}

void add_common_options(CommandLine& line, CommonOptions& options, Part part) {
  add_ledger_options(line, options, part);
  line.heading("Slots");
  add_slot_options(line, options.router);
  line.flag("--allow-uneven", "Slots need not be a multiple of partitions",
            options.router.allow_uneven);
  add_process_options(line, options, part);
  add_timing_options(line, options, part);
  add_variation_options(line, options, part);
  line.heading("General");
  add_json_flag(line, options.json);
  add_log_level(line, options.log_level);
  allow_all_settings_in_file(line);
}

void allow_all_settings_in_file(CommandLine& line) {
  line.allow_in_file({"-X", "--allow-uneven", "--brokers", "--clock-error", "--count",
                      "--drain-timeout", "--endpoint", "--events", "--explain", "--group",
                      "--group-protocol", "--groups", "--hang-limit", "--hash", "--hash-tags",
                      "--http", "--interval", "--json", "--keys", "--lane", "--lease",
                      "--local-clock-error", "--log-level", "--logs", "--mode", "--name",
                      "--no-hints", "--once",
                      "--partitions", "--port", "--profile", "--roles", "--session", "--since",
                      "--slots", "--stay", "--timeout", "--topic", "--variation", "--wait"});
}

Result<void> CommonOptions::check() const {
  if (auto reached = check_hash(router.slots, router.hash); !reached) return reached;
  if (!router.kafka.partitions) return {};
  return check_even(router.slots, *router.kafka.partitions, router.allow_uneven);
}

milliseconds CommonOptions::timeout_or_default(milliseconds lease) const {
  constexpr milliseconds kLeast{10'000};
  return timeout.value_or(std::max(kLeast, lease + milliseconds{1000}));
}

std::string CommonOptions::connecting() const {
  return "connecting to " + router.kafka.brokers;
}

RouterOptions CommonOptions::for_open() const {
  RouterOptions made = router;
  made.kafka.timeout = timeout_or_default(watcher_timing(router.timing).lease);
  made.timing.mode = made.mode;
  made.timing.variation = made.variation;
  made.log = notice_log();
  return made;
}

}  // namespace neliroute::tool
