// Clauses of docs/protocol.md that can be broken on purpose, so that the simulator and unit tests
// can show that they notice (docs/proof.md). In production mutated() is the constant false and
// costs nothing; only what tests/mutants builds from the same sources defines NELIROUTE_MUTATIONS.
//
// Threads: set before any.   Units: none.   Errors: none.
#pragma once

#include <bitset>
#include <cstddef>
#include <cstdint>

namespace neliroute {

enum class Mutation : std::uint8_t {
  own_by_name,             ///< names decide what is own, not ids
  unreadable_ignored,      ///< a claim whose partitions cannot be read counts for nothing
  newest_own_claim,        ///< an own newer claim does not end an own older epoch
  no_read_back,            ///< an acknowledgement extends the lease, not reading the record
  lease_from_read,         ///< the lease counts from reading a record, not from sending it
  superseded,              ///< rule 4: a foreign claim does not stop the owner
  stale,                   ///< rule 3: a renewal of an older or superseded epoch extends the lease
  no_grace,                ///< rule 6, all of it
  grace_read,              ///< rule 6 (a): does not wait for records read as they arrived
  grace_history,           ///< rule 6 (b): does not wait for existing records
  no_clock_error,          ///< rule 6 (b) without e
  horizon,                 ///< rule 6: does not wait for records before the tail's start
  dates_unread,            ///< rule 6: stamps date what a tail may have left out above its start
  longest_lease,           ///< T* is the process's own T
  lease_bound_early,       ///< T* forgets leases that are in force, and what others state of them
  vouches_unread,          ///< a record claims that its writer has read all that is there
  early_release,           ///< the release is written before leading stops
  gap_rule,                ///< rule 11: a gap ends no epoch
  reread,                  ///< rule 11: after a silence the last record is not read again
  incarnation_plus_one,            ///< an epoch that is not greater than a known one is accepted
  incarnation_impure,              ///< a first claim's incarnation depends on what its reader knows
  incarnation_as_written,  ///< the broker time of a claim does not count for its incarnation
  not_boottime,            ///< a clock that stands still while the process is stopped
  one_now,                 ///< the read time of a record was taken before it was received
  release_in_barrier,      ///< rule 4: the release does not wait for the barrier
  no_release,              ///< exclusive: an ended epoch is never released
  late_again,              ///< rule 1: a claim that is not read back is written again after 20 T
  old_hint,                ///< hints: a foreign claim leaves the old owner in place
  equal_epoch_redirects,   ///< admission: to an owner that the caller knows
  no_hop_limit,            ///< admission: requests are sent on for ever
  never_withdraws,         ///< a process that cannot lead its partitions stays in the group
  refusal_ignored,         ///< what a fenced store knows does not raise the next claim
  settings_ignored,        ///< "One configuration": a process stays beside a senior that differs
  stop_at_claim,           ///< non-exclusive: rule 4 of exclusive mode
  silent_drain,            ///< non-exclusive: a draining process does not renew
  claim_while_draining,    ///< rule 1: a draining process that is assigned again claims
  claim_gives_up,          ///< rule 1: writing a claim gives up what is held
  waits_for_drainer,       ///< rule 9: nobody claims again because the holder drains, or is silent
  stop_when_revoked,       ///< rule 7: no drain
  stops_in_silence,        ///< "Serving on": nobody does
  sleeper_serves_on,       ///< "Serving on": a pause counts as a silence of the log
  stale_for_ever,          ///< "Serving on" has no end
  stale_beside_exclusive,  ///< it goes on beside the claim of a process in exclusive mode
  claims_in_silence,       ///< claims are written to a log that stores nothing
  silence_by_reader,       ///< A1: silence is measured by the reader's clock, not in the log
  obeys_unread,            ///< A3: so is one though later ones may have been left out
  prepares_for_ever,       ///< A5: a designee is excused however often it prepares
  death_unproven,          ///< A1: where stamps are not the broker's, silence alone proves a death
  seat_kept,               ///< A2: a silent holder keeps the seat
  stale_assignments,       ///< A3: an assignment of a former assigner is obeyed
  never_goes_back,         ///< A5: a designee that does not lead stays one
  from_memory,             ///< A7: plans from what it wrote, not from what it read
  leaves_silently,         ///< A8: a leaver does not say so
  never_repeats,           ///< A7: what is not carried out is not repeated
  cordons_ignored,         ///< A11: a member that an override cordons is named all the same
  weights_ignored,         ///< A11: overrides of weights do not count
  pins_ignored,            ///< A11: nor do pins
  pause_ignored,           ///< A11: moves go on while they are paused
  list_undoes_overrides,   ///< A11: a list undoes the overrides behind its `upto`
  lists_not_repeated,      ///< A11: the assigner lists an override once, and never again
  old_lists_count,         ///< A11: a list that is older than the last one counts
  lists_of_elsewhere,      ///< A11: a list counts though its `upto` lies beyond it
  late_starter_moves,      ///< A11: a process that may not know all overrides moves what is led
  own_cordons_ignored,     ///< A11: a member's own cordon is withdrawn
  overrides_without_bound, ///< A11: a list gets longer than a record may be
  flapping_forgiven,       ///< A1: who dies again and again is given something each time
  ranks_ignored,           ///< A2: all claim a free seat at once
  late_reads_count,        ///< A2: who reads its own records a lease late keeps the seat
  never_yields,            ///< A2: a holder that reads worse than others keeps the seat
  yields_never_double,     ///< A2: who yielded before yields again after the same time
  seat_never_lapses,       ///< A2: a holder that does not say that it assigns keeps the seat
  seat_claims_flood,       ///< A2: a free seat is claimed again at once
  believes_early_renewals, ///< A3: a late reader believes who has not read up to its start
  never_revoked,           ///< A4: who is named no more stays assigned
  bans_every_log,          ///< A5: who does not lead in one log is banned from all
  bans_never_double,       ///< A5: each ban is as short as the first
  drainers_lead,           ///< A5: a designee that drains counts as leading
  preparing_fails,         ///< A5: a designee that prepares has no time for it
  all_may_be_banned,       ///< A5: bans hold also where every member is banned
  ignores_all_bans,        ///< A5: where every member is banned, nobody is
  bans_without_end,        ///< A5: bans get longer than an hour
  names_the_first,         ///< A6: does not wait for newcomers
  plans_before_owners,     ///< A7: does not wait until it has heard who leads
  changes_under_way,       ///< A7: names another before the designee has had its time
  plans_unread,            ///< A7: does not wait until it reads its last assignment
  plans_without_pause,     ///< A7: plans with every record
  assigns_behind,          ///< A7: assigns though log 0 is not read to its end
  names_no_successors,     ///< A8: an assigner that leaves leaves naming them to the next
  believes_many_deaths,    ///< A9: does not wait where many seem dead at once
  lease_below_bound,       ///< A10: a lease in which nobody can take over is accepted
  joins_at_once,           ///< "One configuration": a member writes before it has read the logs
  strangers_are_members,   ///< "One configuration": so is a process with other settings
  gaps_ignored,            ///< A1: nobody is given more time because the log stood still
  gaps_without_end,        ///< A1: everybody is, after each gap of many
  seat_lost_to_nobody,     ///< A2: a holder that reads late loses the seat though all do
  moments_reset,           ///< A5: a designee that leads for a moment has all its time again
  preparing_shields_all,   ///< A5: who prepares for one partition is awaited for all
  waits_for_the_longest,   ///< A7: one member's long session delays plans after a restart
  names_in_silence,        ///< A7: somebody is named in a log that the assigner does not read
  ends_unread,             ///< "Serving on": who is named where the assigner reads nothing has time
  returns_unread,          ///< A7: a log that stood still is planned for before owners renewed
  yields_at_once,          ///< A2: what others wrote before they could know of the same lag counts
  lag_forgotten,           ///< A2: who reads nothing for a session lags no more
  late_seat_claims,        ///< A2: a claim counts whichever claim it replaces
  seat_priorities_ignored, ///< A2: the most senior claims a free seat first, whatever it prefers
  silent_members_flow,     ///< A1: what the dead wrote before counts as time of their log
};
inline constexpr std::size_t kMutationCount =
    static_cast<std::size_t>(Mutation::silent_members_flow) + 1;

#ifdef NELIROUTE_MUTATIONS
inline std::bitset<kMutationCount> active_mutations;
inline bool mutated(Mutation m) noexcept {
  return active_mutations[static_cast<std::size_t>(m)];
}
#else
constexpr bool mutated(Mutation) noexcept { return false; }
#endif

}  // namespace neliroute
