// Runs with clauses of the protocol broken on purpose (neli_core/mutation.h): does the simulator
// notice? Only in the program that was built for it; in the other one there are no mutations.
//
// Threads: one.   Units: none.   Errors: false.
#pragma once

#include <string>

#include "tests/sim/seeds/campaign.h"

namespace neliroute::sim {

/// Names, joined by "+".
[[nodiscard]] bool mutate(const std::string& names);
/// A row for each mutation; whether each was noticed.
[[nodiscard]] bool mutation_table(const CampaignOptions& options);
/// Whether every seed in the file still breaks what it broke.
[[nodiscard]] bool check_pinned(const std::string& file, bool assigner);

}  // namespace neliroute::sim
