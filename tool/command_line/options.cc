#include "tool/command_line/options.h"

#include <algorithm>
#include <utility>

#include "router/options/option_checks.h"
#include "router/options/option_parts.h"
#include "tool/command_line/take.h"
#include "tool/command_line/values.h"

namespace neliroute::tool {
namespace {

/// An option of the library, by the name that it has there.
CommandLine::Take set(RouterOptions& router, const char* name) {
  return [&router, name](const std::string& text) { return set_option(router, name, text); };
}

Result<milliseconds> positive_duration(const std::string& text) {
  RouterOptions options;
  if (auto taken = set_option(options, "timeout", text); !taken) return taken.error();
  return options.kafka.timeout;
}

void add_ledger_options(CommandLine& line, CommonOptions& options, Part part) {
  RouterOptions& router = options.router;
  line.heading("Ledger");
  line.list("--brokers", "HOST:PORT,...", "Kafka's brokers (default 127.0.0.1:9092)",
            set(router, "brokers"));
  line.value("--topic", "NAME", "Ledger topic (default neliroute)", set(router, "topic"));
  line.heading(part == Part::owner ? "Ledger" : "");
  line.value("--group", "NAME",
             "Who belongs together; with Kafka's group its name (default neliroute)",
             set(router, "group"));
  line.heading("Ledger");
  line.value("--lane", "N", "One of several disjoint groups over the same slots (default 0)",
             set(router, "lane"));
  add_partitions_option(line, options.router,
                        part == Part::owner
                            ? "Partitions of the topic (default: an existing topic's, or 64); with "
                              "an assigner any number up to that of slots (default: the "
                              "running group's, or 64)"
                            : "What the owners run with (default: what their records say, or what "
                              "the topic has)");
  line.value("--logs", "N", "Partitions that carry records (default 4, or all if fewer)",
             set(router, "logs"));
  line.values("-X", "KEY=VALUE", "Any librdkafka property, for TLS and SASL; may be repeated. Put "
              "secrets into NELIROUTE_X (one per line) or the settings file, not here",
              set(router, "X"));
}

const char* timeout_text(Part part) {
  switch (part) {
    case Part::owner:
      return "Give up if no broker answers within this time of starting (default 10s)";
    case Part::reader:
    case Part::list:
      return "Answer within this time (default: the larger of 10s and lease + 1s)";
    case Part::wish:
      return "End within this time (default: the larger of 10s and lease + 1s to read what is "
             "there, then 30s for the wish)";
  }
  return "";
}

void add_timing_options(CommandLine& line, CommonOptions& options, Part part) {
  RouterOptions& router = options.router;
  line.heading("Timing");
  line.value("--profile", "NAME", "Interval and session: fast (100 ms, 500 ms), balanced (500 ms, "
             "3 s; the default) or steady (2 s, 10 s)",
             set(router, "profile"));
  line.choices({"fast", "balanced", "steady"});
  line.value("--lease", "TIME",
             part == Part::owner
                 ? "How long one renewal entitles its sender to lead"
                 : "Assumed to be the owners' lease until one of them states it",
             set(router, "lease"));
  line.value("--timeout", "TIME", timeout_text(part), into(options.timeout, positive_duration));
  line.heading(part == Part::owner ? "Timing" : "");
  line.value("--interval", "TIME", "Time between two renewals",
             set(router, "interval"));
  line.value("--clock-error", "TIME", "Bound on the error between two broker timestamps",
             set(router, "clock-error"));
  line.value("--session", "TIME", "Session of the group member; with the consumer protocol the "
             "broker decides. With an assigner: silent for longer, this process is replaced "
             "(at least 300ms, whatever the broker has)", set(router, "session"));
  line.value("--hang-limit", "TIME", "A process whose executor is blocked for longer leaves the "
             "group (default and minimum: half of the session, at least 1s; with classic all "
             "of it, at least 2s); not with an assigner, where --session counts",
             set(router, "hang-limit"));
  line.value("--drain-timeout", "TIME", "How long a planned leave may take (default: lease + "
             "session, at most 10s; with an assigner 2 x lease + session)",
             into(options.drain_timeout, parse_duration));
  line.value("--group-protocol", "NAME",
             "auto, consumer or classic (default auto); not with an assigner",
             set(options.router, "group-protocol"));
  line.choices({"auto", "consumer", "classic"});
}

void add_process_options(CommandLine& line, CommonOptions& options, Part part) {
  line.heading(part == Part::owner ? "Process" : "");
  line.value("--endpoint", "HOST:PORT", "Where callers connect: the answer of `route` (required)",
             set(options.router, "endpoint"));
  line.value("--name", "NAME", "For people; names may collide (default host_pid_startms)",
             set(options.router, "name"));
  line.value("--mode", "MODE", "non_exclusive: at least one owner, overlaps while slots move; "
             "exclusive: at most one owner, gaps while slots move (default non_exclusive)",
             set(options.router, "mode"));
  line.choices({"non_exclusive", "exclusive"});
}

void add_variation_options(CommandLine& line, CommonOptions& options, Part part) {
  RouterOptions& router = options.router;
  line.heading(part == Part::owner ? "Variation" : "");
  line.value("--variation", "NAME", "claimed: the order of claims decides; broadcast: the NELI "
             "paper's own, which trusts clocks and the group (default claimed)",
             set(router, "variation"));
  line.choices({"claimed", "broadcast"});
  line.value("--assignment", "NAME", "Who decides which process should claim what: group, Kafka's "
             "consumer group; or assigner, one of the processes, without any group (default group)",
             set(router, "assignment"));
  line.choices({"group", "assigner"});
  line.value("--weight", "N", "assigner: how much this process should own beside the others, from "
             "0, nothing, to 1000 (default 1)", set(router, "weight"));
  line.value("--local-clock-error", "TIME", "broadcast: bound on the error between the broker's "
             "clock and this machine's", set(router, "local-clock-error"));
  line.value("--groups", "N", "broadcast: how many groups share the topic; each writes N times "
             "less often (default 1)", set(router, "groups"));
  line.value("--roles", "N", "How many roles there are, role j on partition j mod M (default: one "
             "per slot)", set(router, "roles"));
  line.flag("--no-hints", "broadcast: write no claims, so that no caller can find the owner",
            [&router] { router.hints = false; });
}

}  // namespace

void add_slot_options(CommandLine& line, RouterOptions& router) {
  line.value("--slots", "N", "How many slots there are (default 1024)",
             set(router, "slots"));
  line.value("--hash", "NAME", "xxh3, crc16 or murmur2 (default xxh3)",
             set(router, "hash"));
  line.choices({"xxh3", "crc16", "murmur2"});
  line.flag("--hash-tags", "Hash only the part in {braces}, by Redis' rules",
            [&router] { router.hash.tags = HashTags::on; });
}

void add_partitions_option(CommandLine& line, RouterOptions& router, std::string help) {
  line.value("--partitions", "N", std::move(help),
             set(router, "partitions"));
}

void add_wait_flag(CommandLine& line, CommonOptions& options) {
  line.heading("Timing");
  line.flag("--wait", "Wait without a time limit for an owner to create the topic, not only for "
            "--timeout", [&options] {
    options.missing_topic = MissingTopic::wait_for_ever;
  });
}

void add_json_flag(CommandLine& line, bool& json) {
  line.flag("--json", "Print JSON, one object per line", json);
}

void add_log_level(CommandLine& line, LogLevel& level) {
  line.value("--log-level", "LEVEL", "trace, debug, info, warning, error or off",
             into(level, parse_log_level));
  line.choices({"trace", "debug", "info", "warning", "error", "off"});
}

void add_keys_option(CommandLine& line, std::optional<std::string>& file, std::string help) {
  line.value("--keys", "FILE", std::move(help), into(file));
}

void add_common_options(CommandLine& line, CommonOptions& options, Part part) {
  add_ledger_options(line, options, part);
  const bool members_say = part == Part::wish || part == Part::list;  // how many there are
  line.heading(members_say ? "" : "Slots");
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
  line.allow_in_file({"-X", "--absent", "--allow-uneven", "--assignment", "--brokers",
                      "--clock-error", "--control", "--control-token", "--count", "--deadline",
                      "--drain-timeout", "--dry-run", "--endpoint", "--events", "--exec",
                      "--explain", "--group", "--group-protocol", "--groups", "--hang-limit",
                      "--hash", "--hash-tags", "--hop-limit", "--http", "--interval", "--json",
                      "--key", "--keys", "--lane", "--lease", "--listen", "--local-clock-error",
                      "--log-level", "--logs", "--mode", "--name", "--no-hints", "--notify",
                      "--once", "--partitions", "--port", "--prepare-timeout", "--profile",
                      "--requests", "--roles", "--session", "--since", "--slots", "--stay",
                      "--stop-timeout", "--timeout", "--tls-cert", "--tls-key", "--topic",
                      "--trust-peers", "--upstream", "--upstream-ca", "--upstream-tls",
                      "--variation", "--wait", "--waiting-limit", "--weight", "--whole",
                      "--xds-cluster", "--xds-dir", "--xds-sample"});
}

Result<void> CommonOptions::check() const {
  if (auto reached = check_hash(router.slots, router.hash); !reached) return reached;
  if (!router.partitions) return {};
  return check_even(router.slots, *router.partitions, router.allow_uneven);
}

milliseconds CommonOptions::timeout_or_default(milliseconds lease) const {
  constexpr milliseconds kLeast{10'000};
  return timeout.value_or(std::max(kLeast, lease + milliseconds{1000}));
}

LocalTime CommonOptions::timed_from(LocalTime began, LocalTime connected) const {
  const bool waits = missing_topic == MissingTopic::wait_for_ever;
  return timeout && !waits ? began : connected;
}

std::string CommonOptions::connecting() const {
  return "connecting to " + router.kafka.brokers;
}

milliseconds CommonOptions::timeout_at_start() const {
  return timeout_or_default(*watcher_options(router).lease);
}

RouterOptions CommonOptions::for_router() const {
  RouterOptions made = router;
  made.kafka.timeout = timeout_at_start();
  made.on_notice = notice_log();
  return made;
}

WatcherOptions CommonOptions::for_watcher() const {
  WatcherOptions made = watcher_options(router);
  made.kafka.timeout = timeout_at_start();
  made.missing_topic = missing_topic;
  made.on_notice = notice_log();
  return made;
}

}  // namespace neliroute::tool
