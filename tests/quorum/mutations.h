// The mutations of quorum/mutation.h by name, for programs that are built with them.
//
// Threads: set before any.   Units: none.   Errors: false.
#pragma once

#include <algorithm>
#include <array>
#include <string_view>

#include "quorum/mutation.h"

namespace neliroute::quorum {

inline constexpr std::array<std::string_view, kMutationCount> kMutationNames{
    "older_log_voted_for", "polls_of_older_logs", "votes_beside_leader", "two_votes_in_a_term",
    "vote_not_stored", "answers_before_stored", "commits_older_terms", "conflicts_kept",
    "own_disk_assumed", "learners_counted", "stamp_of_leader_alone",
    "never_steps_down", "target_never_lowered", "target_never_reset", "priority_ignored",
    "lost_disk_votes", "forms_without_all", "two_changes_at_once", "replaces_at_once",
    "changes_alone", "leads_on_for_ever", "hands_over_too_early",
    "trusts_the_sick"};

/// From now on this clause is broken. False: there is none of this name.
inline bool mutate(std::string_view name) {
  const auto found = std::ranges::find(kMutationNames, name);
  if (found == kMutationNames.end()) return false;
  active_mutation = static_cast<Mutation>(found - kMutationNames.begin());
  return true;
}

}  // namespace neliroute::quorum
