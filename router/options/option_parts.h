// RouterOptions taken apart: the part of each room below; and the id and the name that a process
// gives itself. Private; the command uses it, too.
//
// Threads: any; all but the last two are pure.   Units: std::chrono.
// Errors: those of ledger_address().
#pragma once

#include <neliroute/options.h>
#include <string>
#include <string_view>

#include "ledgers/ledger_address.h"
#include "ledgers/ledger_needs.h"
#include "neli_core/timing.h"

namespace neliroute {

/// The option by which a group assigns although `assignment` says nothing; empty: there is none.
[[nodiscard]] std::string_view implies_group(const RouterOptions& options) noexcept;
[[nodiscard]] Assignment assignment_of(const RouterOptions& options) noexcept;
[[nodiscard]] Result<LedgerAddress> ledger_address(const RouterOptions& options);
[[nodiscard]] LedgerNeeds ledger_needs(const RouterOptions& options);
[[nodiscard]] TimingRequest timing_request(const RouterOptions& options);
/// What both have; a lease that was not given is the profile's.
[[nodiscard]] WatcherOptions watcher_options(const RouterOptions& options);

/// host_pid_id of this process.
[[nodiscard]] std::string default_process_name(ProcessId id);

}  // namespace neliroute
