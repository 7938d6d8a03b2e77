// ClaimProtocol: how far the logs were read, and whether that still holds (rule 11).
#include <algorithm>
#include <neliroute/detail/assert.h>
#include <utility>

#include "neli_core/claimed/claim_protocol.h"
#include "neli_core/mutation.h"
#include "neli_core/record/judgement.h"

namespace neliroute {

void ClaimProtocol::on(const TailStarted& event) {
  NELIROUTE_ASSERT(event.log.value() < logs_.size(), "a tail of a log that is none of ours");
  LogState& l = log(event.log);
  // Whatever restarted a running tail: if it starts elsewhere than at its next offset, that is a
  // gap.
  if (l.goes_on(event)) return give_up_claims_above(event.log, event.end);
  if (l.started) give_up(event.log, GapReason::restarted);
  if (event.log == Log{0}) flow_.lost();
  l.start(event);
  l.started_at = now_;
  l.first_stamp.reset();
  // Else the newest record of whoever may still lead is read, if there is one, and says T*.
  l.history_bound_known = event.below != Below::older;
  l.dates_history = event.below != Below::unread || mutated(Mutation::dates_unread);
  l.last_offset = -1;
  l.check_pending = false;
  note_answer(event.log);
  evaluate_all(event.log);
}

void ClaimProtocol::on(const LogPosition& event) {
  LogState& l = log(event.log);
  if (!l.started) return;
  const bool was_caught_up = l.caught_up();
  l.reach(event.next);
  // The log was longer before: this is another log, or it was truncated.
  if (!l.caught_up()) return gap(event.log, GapReason::truncated);
  if (!l.check_pending) note_answer(event.log);
  give_up_lost_claims(event.log);
  if (!was_caught_up) evaluate_all(event.log);
}

void ClaimProtocol::note_answer(Log which) {
  LogState& l = log(which);
  l.last_answer = now_;
  l.reread_requested = false;
  l.reread_at = later(now_, options_.lease / 2);
}

// Requests the last record again after T/2 without an answer, and believes nothing after T: the log
// may have been truncated, or recreated, while this process could not look. A process that was
// stopped finds itself here before it handles its backlog.
void ClaimProtocol::check_silence(Log which) {
  LogState& l = log(which);
  if (!l.started) return;
  const bool silent = now_ - l.last_answer > options_.lease && !mutated(Mutation::reread);
  if (!l.check_pending && silent) {
    l.check_pending = true;
    l.reread_requested = false;  // an answer to the old request proves nothing about now
    // Records received from here on may be of another log, and cannot prove their own log.
    l.reread_offset = l.last_offset;
    l.reread_expected = l.last;
  }
  if (l.reread_requested && now_ >= l.reread_at) l.reread_requested = false;
  if (l.reread_requested || (now_ < l.reread_at && !l.check_pending)) return;
  if (!l.check_pending) {
    l.reread_offset = l.last_offset;
    l.reread_expected = l.last;
  }
  l.reread_requested = true;
  // An answer counts for T: do not keep querying a ledger that needs longer than T/2 for one.
  l.reread_at = later(now_, l.check_pending ? options_.lease : options_.lease / 2);
  ready_.rereads.push_back({which, ++l.question, l.reread_offset});
}

void ClaimProtocol::on(const Reread& event) {
  LogState& l = log(event.log);
  if (!l.started || !l.reread_requested || event.question != l.question) return;
  // If nothing was read, there is nothing to read again, so nobody knows what was missed.
  const bool unknown = l.reread_offset < 0 && l.check_pending;
  const bool changed = l.reread_offset >= 0 && event.found != l.reread_expected;
  if ((unknown || changed) && !mutated(Mutation::reread)) {
    return gap(event.log, unknown ? GapReason::unread : GapReason::changed);
  }
  const bool was_pending = std::exchange(l.check_pending, false);
  note_answer(event.log);
  if (was_pending) evaluate_all(event.log);
}

void ClaimProtocol::on(const GapFound& event) { gap(event.log, event.reason); }

void ClaimProtocol::gap(Log which, GapReason reason) {
  give_up(which, reason);
  ready_.restart_tails.push_back(which);
}

void ClaimProtocol::give_up(Log which, GapReason reason) {
  LogState& l = log(which);
  ++counters_.gaps;
  ready_.notices.push_back(
      {Severity::error, "log " + std::to_string(which.value()) + ": " + to_string(reason) +
                            (serves_on() ? "; its partitions are served on, and claimed again"
                                         : "; its partitions are given up and claimed again")});
  lease_bound_.gap(which);
  l.stop();
  l.check_pending = false;
  l.reread_requested = false;
  l.reread_at = kNever;
  l.stored_claims.clear();
  // If it was recreated, this process's claims must outrank what it knew in the old one, and what
  // others acquired there later.
  if (l.greatest_incarnation != 0) {
    l.greatest_incarnation = next_incarnation(l.greatest_incarnation);
  }
  place(which).for_each([this](Partition partition) {
    PartitionState& p = state(partition);
    if (mutated(Mutation::gap_rule)) return;
    if (serves_on() && p.serves()) {
      p.own->log_lost = p.own->outlived = true;
      set_lease_word(partition);
    } else {
      end(partition, StopReason::gap);
    }
    set_vacant(partition, false);
    p.history.gap();
    p.claim.reset();
    p.claim_due = p.assigned;
    evaluate(partition);
  });
}

}  // namespace neliroute
