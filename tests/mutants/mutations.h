// The mutations of neli_core/mutation.h by name, for programs that are built with them.
//
// Threads: set before any.   Units: none.   Errors: false.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <string_view>

#include "neli_core/mutation.h"

namespace neliroute {

inline constexpr std::array<std::string_view, kMutationCount> kMutationNames{
    "own_by_name", "unreadable_ignored", "newest_own_claim", "no_read_back", "lease_from_read",
    "superseded", "stale", "no_grace", "grace_read", "grace_history", "no_clock_error", "horizon",
    "dates_unread",
    "longest_lease", "lease_bound_early", "vouches_unread", "early_release", "gap_rule", "reread",
    "incarnation_plus_one", "incarnation_impure", "incarnation_as_written", "not_boottime",
    "one_now", "release_in_barrier", "no_release", "late_again", "old_hint",
    "equal_epoch_redirects", "no_hop_limit", "never_withdraws", "refusal_ignored",
    "settings_ignored", "stop_at_claim", "silent_drain", "claim_while_draining", "claim_gives_up",
    "waits_for_drainer", "stop_when_revoked", "stops_in_silence", "sleeper_serves_on",
    "stale_for_ever", "stale_beside_exclusive", "claims_in_silence", "silence_by_reader",
    "obeys_unread", "prepares_for_ever",
    "death_unproven", "seat_kept",
    "stale_assignments", "never_goes_back", "from_memory", "leaves_silently", "never_repeats",
    "cordons_ignored", "weights_ignored", "pins_ignored", "pause_ignored", "list_undoes_overrides",
    "lists_not_repeated", "old_lists_count", "lists_of_elsewhere", "late_starter_moves",
    "own_cordons_ignored", "overrides_without_bound", "flapping_forgiven", "ranks_ignored",
    "late_reads_count", "never_yields", "yields_never_double",
    "seat_never_lapses", "seat_claims_flood", "believes_early_renewals", "never_revoked",
    "bans_every_log", "bans_never_double", "drainers_lead",
    "preparing_fails", "all_may_be_banned", "ignores_all_bans", "bans_without_end",
    "names_the_first",
    "plans_before_owners", "changes_under_way", "plans_unread", "plans_without_pause",
    "assigns_behind", "names_no_successors", "believes_many_deaths", "lease_below_bound",
    "joins_at_once", "strangers_are_members", "gaps_ignored", "gaps_without_end",
    "seat_lost_to_nobody", "moments_reset", "preparing_shields_all", "waits_for_the_longest",
    "names_in_silence", "ends_unread", "returns_unread", "yields_at_once",
    "lag_forgotten", "late_seat_claims", "seat_priorities_ignored", "silent_members_flow"};

[[nodiscard]] constexpr std::optional<Mutation> mutation_named(std::string_view name) noexcept {
  const auto found = std::find(kMutationNames.begin(), kMutationNames.end(), name);
  if (found == kMutationNames.end()) return std::nullopt;
  return static_cast<Mutation>(found - kMutationNames.begin());
}

#ifdef NELIROUTE_MUTATIONS
/// Breaks these and no others. Names, joined by "+".
[[nodiscard]] inline bool mutate(std::string_view names) {
  active_mutations.reset();
  while (!names.empty()) {
    const std::size_t plus = std::min(names.find('+'), names.size());
    const auto mutation = mutation_named(names.substr(0, plus));
    if (!mutation) return false;
    active_mutations.set(static_cast<std::size_t>(*mutation));
    names.remove_prefix(std::min(plus + 1, names.size()));
  }
  return true;
}
#endif

}  // namespace neliroute
