// The options that make a process a voter of its ledger's quorum.
//
// Threads: one; what is told while a voter runs comes from its own.   Units: std::chrono.
// Errors: bad_option, naming the option and what to do.
#pragma once

#include <functional>
#include <memory>
#include <neliroute/error.h>
#include <neliroute/options.h>

#include "ledgers/start_voter.h"
#include "tool/command_line/command_line.h"

namespace prometheus {
class Collectable;
}  // namespace prometheus

namespace neliroute::tool {

/// --voter, --election and --kept. --logs is the library's.
void add_voter_options(CommandLine& line, VoterSettings& settings);

/// For its operator; null: of none.
[[nodiscard]] std::shared_ptr<prometheus::Collectable> metrics_of(const VoterServer* voter);

/// Its notices go to the log. `ended` as VoterServer has it.
[[nodiscard]] Result<std::unique_ptr<VoterServer>> start_voter(
    const RouterOptions& router, VoterSettings settings,
    std::function<void(const Error&)> ended);

}  // namespace neliroute::tool
