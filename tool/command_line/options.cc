#include "tool/command_line/options.h"

#include <algorithm>
#include <utility>

#include "router/options/option_checks.h"
#include "router/options/option_parts.h"
#include "tool/command_line/take.h"
#include "tool/command_line/values.h"

namespace neliroute::tool {
namespace {

void add_row(CommandLine& line, const OptionRow& row, RouterOptions& router, Part part) {
  line.add(row.of(part),
           [&row, &router](const std::string& text) { return row.set(router, text); });
}

/// Finds out about a bad --ledger, or one that no command can use, before anything is done.
Result<void> check_ledger(const RouterOptions& router) {
  const auto address = ledger_address(router);
  if (!address) return address.error();
  if (!std::holds_alternative<MemoryConnection>(*address)) return {};
  return Error{Errc::bad_option, "`ledger` " + router.ledger + " is for the Routers of one "
                                 "program; a command needs one that others reach"};
}

}  // namespace

void add_slot_options(CommandLine& line, RouterOptions& router) {
  for (const OptionRow& row : router_options()) {
    if (row.heading == "Slots") add_row(line, row, router, Part::reader);
  }
}

void add_wait_flag(CommandLine& line, CommonOptions& options) {
  line.add({.field = "missing_topic", .flag = "--wait", .takes = OptionText::Takes::flag,
            .heading = "Timing",
            .help = "Wait without a time limit for an owner to create the logs, not only for "
                    "--timeout"},
           [&options](const std::string&) -> Result<void> {
             options.missing_topic = MissingTopic::wait_for_ever;
             return {};
           });
}

void add_json_flag(CommandLine& line, bool& json) {
  add_flag(line, "--json", "Print JSON, one object per line", json);
}

void add_log_level(CommandLine& line, LogLevel& level) {
  line.add({.flag = "--log-level", .type = "LEVEL",
            .choices = "trace debug info warning error off",
            .help = "trace, debug, info, warning, error or off"},
           into(level, parse_log_level));
}

void add_key_options(CommandLine& line, KeyOptions& keys) {
  line.add({.flag = "--keys", .type = "FILE",
            .help = "More keys, one per line (LF or CRLF); empty lines are skipped; - is stdin"},
           into(keys.file));
  add_flag(line, "--base64", "All keys are given in base64, as they may be any bytes",
           keys.base64);
}

void add_common_options(CommandLine& line, CommonOptions& options, Part part) {
  for (const OptionRow& row : router_options()) {
    if (row.field != "kafka.timeout") {
      add_row(line, row, options.router, part);
    } else {  // its default depends on the lease
      line.add(row.of(part), into(options.timeout, parse_positive_duration));
    }
  }
  line.after([&options] { return check_ledger(options.router); });
  const OptionText drain{.flag = "--drain-timeout", .type = "TIME", .heading = "Timing",
                         .help = "How long a planned leave may take (default: 3 x session + 4 x "
                                 "interval, in exclusive mode 2 x lease + session; with "
                                 "--assignment group lease + session, at most 10s)",
                         .shown = static_cast<unsigned>(Part::owner)};
  line.add(drain.of(part), into(options.drain_timeout, parse_duration));
  line.heading("General");
  add_json_flag(line, options.json);
  add_log_level(line, options.log_level);
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

std::string CommonOptions::where() const {
  const auto address = ledger_address(router);
  return address ? describe(*address) : router.ledger;
}

std::string CommonOptions::connecting() const { return "connecting to " + where(); }

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
