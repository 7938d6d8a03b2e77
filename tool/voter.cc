// neliroute voter: one voter of a quorum.
#include <fmt/format.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <csignal>
#include <memory>
#include <neliroute/clock.h>
#include <optional>

#include "router/options/option_parts.h"
#include "tool/admin_port.h"
#include "tool/command_line/commands.h"
#include "tool/command_line/options.h"
#include "tool/command_line/take.h"
#include "tool/command_line/values.h"
#include "tool/print/log.h"
#include "tool/print/output.h"
#include "tool/voter_options.h"
#include "voter/statistics/voter_statistics.h"

namespace neliroute::tool {
namespace {

struct VoterCommandOptions {
  RouterOptions router;  ///< of which it has few
  VoterSettings settings;
  std::optional<std::string> http;
  LogLevel log_level = LogLevel::info;
  bool json = false;
};

void announce(const VoterCommandOptions& options, const AdminPort* admin) {
  const LedgerAddress address = ledger_address(options.router).value();
  const std::uint32_t logs = options.router.logs.value_or(options.settings.logs);
  const std::string& folder = std::get<QuorumConnection>(address).folder;
  if (!options.json) {
    say(fmt::format("neliroute voter: listens on {}, Ctrl-C ends it\n"
                    "  quorum  {}: {} {}, kept for {}, election {}\n"
                    "  files   {}",
                    shown(options.settings.address), shown(describe(address)), logs,
                    logs == 1 ? "log" : "logs", text_of(options.settings.kept),
                    text_of(options.settings.election), shown(folder)));
    return;
  }
  boost::json::object row;
  put_text(row, "voter", options.settings.address);
  put_text(row, "ledger", describe(address));
  put_text(row, "folder", folder);
  row["logs"] = logs;
  row["kept_ms"] = options.settings.kept.count();
  row["election_ms"] = options.settings.election.count();
  if (admin != nullptr) row["http"] = admin->address();
  say(row);
}

Result<std::unique_ptr<AdminPort>> open_admin(
    const std::optional<std::string>& http, const VoterServer& voter,
    const std::shared_ptr<prometheus::Collectable>& metrics) {
  admin::ProbeOptions options;
  options.collectables = {metrics};
  options.lacks = [of = voter.statistics()] { return lacks(*of); };
  options.trouble = [of = voter.statistics()](LocalTime now) { return trouble_of(*of, now); };
  return AdminPort::open_probes(http, std::move(options));
}

/// Until a signal, or until it cannot go on.
int run_voter(const std::string& command, const VoterCommandOptions& options) {
  boost::asio::io_context io(1);
  std::optional<Error> failure;
  auto voter = start_voter(options.router, options.settings, [&](const Error& error) {
    boost::asio::post(io, [&failure, &io, error] {
      failure = error;
      io.stop();
    });
  });
  if (!voter) return fail(command, voter.error());
  const auto metrics = metrics_of(voter->get());
  auto admin = open_admin(options.http, **voter, metrics);
  if (!admin) return fail(command, admin.error());
  announce(options, admin->get());
  boost::asio::signal_set signals(io, SIGINT, SIGTERM);
  signals.async_wait([&io](const boost::system::error_code&, int) { io.stop(); });
  io.run();
  signals.clear();
  end_at_once_on_signals();  // a disk that hangs may keep it
  voter->reset();
  return failure ? fail(command, failure->message(), kExitNo) : kExitYes;
}

}  // namespace

int voter_command(const Arguments& arguments) {
  CommandLine line({"voter",
                    "Runs one of the voters that keep a ledger's logs on their own disks, until "
                    "SIGTERM or Ctrl-C. Start one on each of three machines, or five; the ledger "
                    "is there while more than half of them run.",
                    "",
                    "Example:\n"
                    "  neliroute voter --voter a \\\n"
                    "    --ledger 'quorum://a,b,c/shop?dir=/srv/shop&key-file=/etc/shop.key'"});
  VoterCommandOptions options;
  line.add({.field = "ledger", .flag = "--ledger", .type = "ADDRESS", .heading = "Ledger",
            .help = "quorum://HOST:PORT,.../NAME?dir=FOLDER: all voters, this one among them, and "
                    "where it keeps its files"},
           into(options.router.ledger));
  line.add({.field = "logs", .flag = "--logs", .type = "N", .heading = "Ledger",
            .help = "How many logs it keeps; the same for all voters, for ever (default 1)"},
           into(options.settings.logs, [](const std::string& text) {
             return parse_number(text, 1, 1024);
           }));
  add_voter_options(line, options.settings);
  add_http_option(line, options.http,
                  "Serve metrics and health there; a port alone: for this machine only, 0: any "
                  "free one");
  add_json_flag(line, options.json);
  add_log_level(line, options.log_level);
  if (const auto code = line.parse(arguments)) return *code;
  if (options.settings.address.empty()) {
    return fail(line.name(), "--voter is missing: say which of the voters that --ledger names this "
                             "is, as in --voter 10.0.0.7:7100", kExitUsage);
  }
  if (const auto free = AdminPort::check(options.http); !free) {
    return fail(line.name(), free.error());
  }
  start_log(options.log_level);
  std::signal(SIGPIPE, SIG_IGN);
  end_at_once_on_signals();  // until it has said where it listens, for which nobody may wait
  return run_voter(line.name(), options);
}

}  // namespace neliroute::tool
