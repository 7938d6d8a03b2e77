#include "tool/voter_options.h"

#include <csignal>
#include <utility>

#include "metrics/voter_metrics.h"
#include "router/options/option_parts.h"
#include "tool/admin_port.h"
#include "tool/command_line/take.h"
#include "tool/print/log.h"

namespace neliroute::tool {

void add_voter_options(CommandLine& line, VoterSettings& settings) {
  line.add({.field = "voter", .flag = "--voter", .type = "HOST:PORT",
            .help = "Which of the voters that --ledger names this process is"},
           into(settings.address));
  line.add({.field = "voter.election", .flag = "--election", .type = "TIME",
            .help = "A voter: after so long without a word of the leader another one is elected; "
                    "the same for all voters (default 300ms)"},
           into(settings.election, parse_positive_duration));
  line.add({.field = "voter.kept", .flag = "--kept", .type = "TIME",
            .help = "A voter: for how long it keeps records (default 20m)"},
           into(settings.kept, parse_positive_duration));
}

std::shared_ptr<prometheus::Collectable> metrics_of(const VoterServer* voter) {
  return voter == nullptr ? nullptr : std::make_shared<VoterMetrics>(voter->statistics());
}

Result<std::unique_ptr<VoterServer>> start_voter(const RouterOptions& router,
                                                 VoterSettings settings,
                                                 std::function<void(const Error&)> ended) {
  const auto address = ledger_address(router);
  if (!address) return address.error();
  raise_file_limit();
  std::signal(SIGXFSZ, SIG_IGN);  // a limit of files' sizes is an error of the disk
  settings.logs = router.logs.value_or(settings.logs);
  return neliroute::start_voter(*address, settings, {notice_log(), std::move(ended)});
}

}  // namespace neliroute::tool
