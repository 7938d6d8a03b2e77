// Clauses of the quorum that can be broken on purpose, so that its simulator can show that it
// notices. In production mutated() is the constant false; only what tests/quorum builds from the
// same sources defines NELIROUTE_MUTATIONS.
//
// Threads: set before any.   Units: none.   Errors: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

namespace neliroute::quorum {

enum class Mutation : std::uint8_t {
  older_log_voted_for,     ///< a candidate's log may lack what is committed
  polls_of_older_logs,     ///< the poll does not ask how old the candidate's log is
  votes_beside_leader,     ///< who hears a leader gives votes
  two_votes_in_a_term,     ///< a second candidate gets one, too
  vote_not_stored,         ///< a restarted voter has forgotten its vote
  answers_before_stored,   ///< answers leave before what they say is on disk
  commits_older_terms,     ///< an entry of an earlier leader counts as committed by itself
  conflicts_kept,          ///< entries that differ from the leader's are kept
  own_disk_assumed,        ///< a leader counts itself before its disk has the entry
  learners_counted,        ///< who only copies the log counts for the majority
  stamp_of_leader_alone,   ///< stamps fall with the next leader's clock
  never_steps_down,        ///< a leader that nobody answers leads on
  target_never_lowered,    ///< who has a lower priority never stands
  target_never_reset,      ///< after an election in vain all stand at once
  priority_ignored,        ///< so they do from the start
  lost_disk_votes,         ///< an empty voter gives votes
  forms_without_all,       ///< a log begins though one voter was not asked
  two_changes_at_once,     ///< a change of the voters does not wait for the one before
  replaces_at_once,        ///< a lost voter is replaced in one step
  changes_alone,           ///< a leader removes voters though most were told otherwise
  leads_on_for_ever,       ///< a leader hands over to nobody
  hands_over_too_early,    ///< a leader hands over to who has not all of its entries
  trusts_the_sick,         ///< whoever was lost again and again leads again as soon as others
};
inline constexpr std::size_t kMutationCount =
    static_cast<std::size_t>(Mutation::trusts_the_sick) + 1;

#ifdef NELIROUTE_MUTATIONS
inline std::optional<Mutation> active_mutation;
inline bool mutated(Mutation m) noexcept { return active_mutation == m; }
#else
constexpr bool mutated(Mutation) noexcept { return false; }
#endif

}  // namespace neliroute::quorum
