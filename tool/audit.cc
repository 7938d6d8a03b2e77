// neliroute audit: checks a ledger's records against the protocol.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <utility>

#include "audit/audit.h"
#include "ledgers/ledgers.h"
#include "router/options/option_parts.h"
#include "tool/command_line/commands.h"
#include "tool/command_line/options.h"
#include "tool/command_line/take.h"
#include "tool/command_line/values.h"
#include "tool/print/audit_text.h"
#include "tool/print/output.h"
#include "tool/print/progress.h"

namespace neliroute::tool {
namespace {

milliseconds unix_now() {
  return std::chrono::duration_cast<milliseconds>(
      std::chrono::system_clock::now().time_since_epoch());
}

int audit(const std::string& command, const CommonOptions& options,
          std::optional<milliseconds> since) {
  const RouterOptions router = options.for_router();
  const auto address = ledger_address(router);
  if (!address) return fail(command, address.error());
  std::optional<BrokerTime> from;
  if (since) from = BrokerTime{*since};
  AuditOptions how;
  how.lane = router.lane;
  how.dense = positions_are_dense(*address);
  how.clock_error = watcher_timing(timing_request(router)).clock_error;
  const auto tell = [&](const auto& what) {
    options.json ? say(json_of(what)) : say(text_of(what));
  };
  Auditor auditor(how, tell);
  Progress progress("reading " + options.where());
  std::uint64_t records = 0;
  const auto logs = read_store(
      *address, ledger_needs(router), from,
      [&](const Received& record) {
        auditor.on(record);
        progress.count(++records, "records");
      },
      router.on_notice);
  if (!logs) return fail(command, logs.error());
  auditor.finish();
  for (const LogRead& log : *logs) tell(log);
  tell(auditor.totals());
  return auditor.totals().findings > 0 ? kExitNo : kExitYes;
}

}  // namespace

int audit_command(const Arguments& arguments) {
  CommandLine line({"audit",
                    "Checks a ledger's records against the protocol's rules. It finds two "
                    "leaders and early ones in exclusive mode, gaps in non-exclusive mode, and "
                    "epochs that fall. Needs no running process, joins no group.", "",
                    "A finding is certain: whatever the network did, and as long as two\n"
                    "broker timestamps differ from the truth by no more than --clock-error\n"
                    "TIME (default: the profile's). A note may have a harmless reason.\n"
                    "--timeout limits each silence of the ledger, not the run. Exit codes: 0 no\n"
                    "findings; 1 findings; 2 bad usage; 3 the ledger is unreachable or refuses.\n"
                    "Example: neliroute audit --since 10m --json | jq 'select(.finding)'"});
  CommonOptions options;
  options.log_level = LogLevel::warning;
  std::optional<milliseconds> since;
  add_common_options(line, options, Part::reader);
  line.add({.flag = "--since", .type = "TIME",
            .help = "From then on: how long ago (10m), or when (2026-01-31T12:00:00Z); default: "
                    "all that is kept"},
           into(since, [](const std::string& text) { return parse_since(text, unix_now()); }));
  if (const auto code = line.parse(arguments)) return *code;
  if (!line.positionals().empty()) {
    return fail(line.name(), fmt::format("\"{}\" is not an option", line.positionals().front()),
                kExitUsage);
  }
  if (const auto checked = options.check(); !checked) return fail(line.name(), checked.error());
  start_log(options.log_level);
  std::signal(SIGPIPE, SIG_IGN);
  return audit(line.name(), options, since);
}

}  // namespace neliroute::tool
