// ClaimProtocol: what the records that were read mean (rules 1 to 4, 6, 10 and 11).
#include <algorithm>
#include <optional>

#include "neli_core/claimed/claim_protocol.h"
#include "neli_core/mutation.h"
#include "neli_core/record/judgement.h"
#include "neli_core/settings_mode.h"

namespace neliroute {
namespace {

// Names are for people and may be equal.
bool is_own(const Record& record, const CoreOptions& self) {
  if (mutated(Mutation::own_by_name)) return record.process.name == self.process.name;
  return record.id == self.id;
}

// When its broker appended it, if that is believed.
std::optional<BrokerTime> appended_at(const Received& event, const CoreOptions& self) {
  if (!self.believe_broker_time || !event.store_stamped) return std::nullopt;
  return event.stamped;
}

}  // namespace

void ClaimProtocol::on(const Received& event) {
  LogState& l = log(event.log);
  const bool was_caught_up = l.caught_up();
  if (!l.read(event.offset)) return;
  l.last_offset = event.offset;
  l.last = identity_of(*event.value, event.stamped);
  if (!l.check_pending) note_answer(event.log);
  const auto appended = appended_at(event, options_);
  if (!l.first_stamp && l.dates_history) l.first_stamp = appended;
  auto at_least = appended ? readable(*appended) : std::nullopt;
  if (at_least) *at_least -= options_.clock_error;
  // What a tail reads again after a restart is not what it read last.
  if (!l.is_history(event.offset) || !history_was_read()) agreement_.note_time(at_least);
  if (const auto* record = std::get_if<Record>(event.value)) {
    on_record(event, *record);
  } else if (std::holds_alternative<Ignored>(*event.value)) {
    ++counters_.records_ignored;
  }
  give_up_lost_claims(event.log);
  if (!was_caught_up && l.caught_up()) evaluate_all(event.log);
}

void ClaimProtocol::on_record(const Received& event, const Record& record) {
  if (!mutated(Mutation::longest_lease)) lease_bound_.read(event, record, now_);
  LogState& l = log(event.log);
  // A newcomer's record does not count: it may know no more than this process does.
  if (record.max_lease && l.is_history(event.offset)) l.history_bound_known = true;
  const bool own = is_own(record, options_);
  if (!own) {
    ++counters_.records_foreign;
    if (since_is_possible(record, event)) {
      agreement_.note(record, event.stamped, record.lease.value_or(lease_bound()), now_,
                      !l.is_history(event.offset));
    }
  } else {
    ++counters_.records_own;
    own_read_at_ = now_;
    const auto sent = sent_at(record.seq);
    if (sent && !l.check_pending) lease_bound_.read_back(event.log, *sent);
    // A process that only joined has not said under which settings it leads; and by a record that
    // is older than its lease it leads nothing, while others may have begun since.
    const bool counts = record.seq >= since_from_seq_ && now_ < sent_plus_lease(record.seq);
    if (!since_ && counts) since_ = since_told(record, event.stamped);
  }
  const Judgement judged = judge(record, event.stamped, options_.lane);
  l.greatest_incarnation =
      std::max(l.greatest_incarnation,
               incarnation_told(record, judged, event.stamped, event.offset));
  if (judged == Judgement::other_lane) ++counters_.records_other_lane;
  if (judged == Judgement::impossible_epoch) ++counters_.records_ignored;
  if (judged != Judgement::heeded) return;
  if (event.log == Log{0} && !l.is_history(event.offset)) note_flow(event, own);
  if (!own) note_member(event, record);
  switch (record.type) {
    case RecordType::claim:
      return on_claim(event, record);
    case RecordType::renewal:
      return on_renewal(event, record);
    case RecordType::release:
      return on_release(event, record);
  }
}

// The settings of the first process are the group's, so a date from the future is not believed.
bool ClaimProtocol::since_is_possible(const Record& record, const Received& event) const {
  const auto appended = appended_at(event, options_);
  if (!record.since || !appended) return true;
  return BrokerTime{milliseconds{*record.since}} <= *appended + options_.clock_error;
}

Reading ClaimProtocol::reading_of(const Received& event, const Record& record) const {
  Reading reading{now_, record.lease.value_or(lease_bound()), std::nullopt, false};
  reading.exclusive = record.settings && mode_of(*record.settings) == Mode::exclusive;
  if (log(event.log).is_history(event.offset)) {
    reading.history_stamp = appended_at(event, options_);
  }
  return reading;
}

// The lease that an own record entitles to; long over if the time of sending is not known.
LocalTime ClaimProtocol::sent_plus_lease(std::uint64_t seq) const {
  if (mutated(Mutation::lease_from_read)) return later(now_, options_.lease);
  const auto sent = sent_.find(seq);
  return sent == sent_.end() ? kLongAgo : later(sent->second, options_.lease);
}

void ClaimProtocol::on_claim(const Received& event, const Record& record) {
  LogState& l = log(event.log);
  if (mutated(Mutation::unreadable_ignored) && !record.parts) return;
  Epoch epoch = claim_epoch(record, event.stamped, event.offset);
  if (mutated(Mutation::incarnation_impure) && record.incarnation == 0 &&
      l.greatest_incarnation != 0) {
    epoch.incarnation = l.greatest_incarnation;
  }
  l.greatest_incarnation = std::max(l.greatest_incarnation, epoch.incarnation);
  if (!record.parts) ++counters_.claims_unreadable;
  const Reading reading = reading_of(event, record);
  for_each_claimed(record, place(event.log), [&](Partition partition) {
    set_vacant(partition, false);
    if (is_own(record, options_)) {
      on_own_claim(partition, epoch, event, record);
    } else {
      state(partition).history.foreign_claim(epoch, record.id, reading);
      on_foreign_claim(partition, epoch);
    }
    evaluate(partition);
  });
}

void ClaimProtocol::on_own_claim(Partition partition, const Epoch& epoch, const Received& event,
                             const Record& record) {
  PartitionState& p = state(partition);
  LogState& l = log(event.log);
  // Read again after a gap: not what was claimed anew since.
  if (p.own && is_of_lost_log(*p.own, epoch)) return;
  if (p.claim && p.claim->seq <= record.seq) p.claim.reset();
  const Epoch greatest = p.history.greatest();
  p.history.own_claim(epoch, options_.id);
  // It is not known which epoch has the greatest incarnation; it may be before the tail's start.
  const bool falls = epoch <= greatest || epoch.incarnation < l.greatest_incarnation;
  if (falls && !mutated(Mutation::incarnation_plus_one)) {
    // The topic was recreated, or the claim arrived late and knew less; an epoch must never fall.
    if (epoch <= greatest) {
      l.greatest_incarnation =
          std::max(l.greatest_incarnation, next_incarnation(greatest.incarnation));
    }
    release(partition, epoch);
    if (p.own) p.own->outlived = true;
    p.claim_due = p.assigned;
    p.last_claim_written = kLongAgo;  // the broker took it, so the next one need not wait
    return;
  }
  // Rule 2: not wanted any more. Rule 8: nor by a leaving process. (What is held unassigned
  // drains.)
  if (!p.own && (!p.assigned || closing_.begun())) return release(partition, epoch);
  const bool draining = p.own && p.own->draining;
  if (mutated(Mutation::newest_own_claim) && p.own && !p.own->superseded) return;
  OwnEpoch next;
  next.epoch = epoch;
  next.lease_until = l.check_pending ? kLongAgo : sent_plus_lease(record.seq);
  next.claim_read = now_;
  next.claim_stamp = appended_at(event, options_);
  next.draining = draining && !p.assigned;
  // A draining process leads on to the end of its lease; in exclusive mode it has stopped already.
  if (p.own && (!p.own->superseded || !exclusive())) {
    next.lease_until = std::max(next.lease_until, p.own->lease_until);
  }
  if (p.own) {
    next.serves_until = std::max(next.lease_until, p.own->serves_until);
    next.leading = p.own->leading && now_ < next.serves_until;
    if (p.own->leading && !next.leading) stop(partition, StopReason::lapsed, now_);
    drop(partition);
  }
  p.own = next;
  p.claim_due = false;
  ++held_count_;
  ++l.held_count;
  set_epoch_lease(partition);
  if (p.serves()) announce(TransitionKind::acquired, partition, epoch);
  if (p.serves() && next.draining) announce(TransitionKind::draining, partition, epoch);
  // A process that still waits has nothing to add to its claim, except if the claim took so long (a
  // new producer's first record does) that its lease would not last to the next beat.
  const bool short_lived = next.lease_until < later(now_, options_.lease / 2);
  if (next.leading || short_lived) note_state_change(partition);
}

// After a gap the log may show again what came before the epoch that was held then.
bool ClaimProtocol::is_of_lost_log(const OwnEpoch& own, const Epoch& epoch) const {
  return own.log_lost && epoch <= own.epoch;
}

// A log that lost the own claim may make its epoch once more, or a lower one, where the incarnation
// was ahead of the brokers' time. Such a claim is at or above the own one's place, or new.
bool ClaimProtocol::is_shown_again(Partition partition, const Epoch& epoch) const {
  const OwnEpoch& own = *state(partition).own;
  return is_of_lost_log(own, epoch) && epoch.offset < own.epoch.offset &&
         log(log_of(partition)).is_history(epoch.offset);
}

// Rule 4: the newest claim ends every earlier epoch. Exclusive mode stops at once; non-exclusive
// mode goes on until its successor leads, so that a planned move has no unowned moment.
void ClaimProtocol::on_foreign_claim(Partition partition, const Epoch& epoch) {
  PartitionState& p = state(partition);
  if (!p.own || p.own->superseded || is_shown_again(partition, epoch)) return;
  p.own->superseded = true;
  if (mutated(Mutation::early_release) && exclusive()) return release(partition, p.own->epoch);
  if (mutated(Mutation::superseded)) return;
  if (exclusive() || !p.serves() || mutated(Mutation::stop_at_claim)) {
    end(partition, StopReason::superseded);
  } else if (!p.own->draining) {
    p.own->draining = true;
    announce(TransitionKind::draining, partition, p.own->epoch);
    note_state_change(partition);
  }
  if (p.own && serves_on()) set_lease_word(partition);
}

void ClaimProtocol::on_renewal(const Received& event, const Record& record) {
  bool unread_claim = false;
  for_each_named(record, place(event.log), [&](Partition partition, const Epoch& epoch) {
    if (is_own(record, options_)) {
      on_own_renewal(partition, epoch, record);
    } else {
      unread_claim |= on_foreign_renewal(partition, epoch, event, record);
    }
  });
  if (unread_claim) gap(event.log, GapReason::unread_claim);
}

void ClaimProtocol::on_own_renewal(Partition partition, const Epoch& epoch, const Record& record) {
  PartitionState& p = state(partition);
  const bool ended = p.own && (p.own->superseded || p.own->outlived);
  const bool current = p.own && (mutated(Mutation::stale) ||
                                 (p.own->epoch == epoch && !p.own->log_lost &&
                                  (!ended || (!exclusive() && p.own->draining))));
  if (!current) {
    ++counters_.renewals_stale;
  } else if (!log(log_of(partition)).check_pending) {
    extend(partition, sent_plus_lease(record.seq));
  }
}

// Returns whether it proves that a claim was missed.
bool ClaimProtocol::on_foreign_renewal(Partition partition, const Epoch& epoch,
                                   const Received& event, const Record& record) {
  PartitionState& p = state(partition);
  if (p.own && epoch >= p.own->epoch && !p.history.claim_was_read(epoch)) {
    if (serves_on()) end(partition, StopReason::gap);
    return true;
  }
  const std::uint32_t logs = options_.settings.logs;
  const bool draining = record.draining.contains(partition, logs);
  const bool leads = draining || record.leading.contains(partition, logs);
  if (p.history.is_valid(epoch)) {
    p.history.renewal(epoch, record.id, draining, reading_of(event, record));
    if (leads) set_vacant(partition, draining && !p.assigned);
  } else {
    ++counters_.renewals_stale;
  }
  const bool newer = p.own && (epoch > p.own->epoch ||
                               (p.own->log_lost && !is_shown_again(partition, epoch)));
  if (leads && !exclusive() && newer && p.own->superseded) {
    end(partition, StopReason::superseded);  // rule 4: the successor leads, so the drain is over
  }
  evaluate(partition);
  return false;
}

void ClaimProtocol::on_release(const Received& event, const Record& record) {
  if (is_own(record, options_)) return;
  bool unread_claim = false;
  const Reading reading = reading_of(event, record);
  for_each_named(record, place(event.log), [&](Partition partition, const Epoch& epoch) {
    PartitionState& p = state(partition);
    if (p.own && epoch >= p.own->epoch && !p.history.claim_was_read(epoch)) {
      unread_claim = true;
      if (serves_on()) end(partition, StopReason::gap);
      return;
    }
    const bool newest = p.history.is_valid(epoch);
    if (!p.history.release(epoch, record.id, reading)) {
      ++counters_.releases_refused;
    } else if (newest && !p.assigned) {
      set_vacant(partition, true);
    }
    evaluate(partition);
  });
  if (unread_claim) gap(event.log, GapReason::unread_claim);
}

}  // namespace neliroute
