// ClaimProtocol: leading and stopping, graces and barriers, and when a claim may be written
// (rules 1, 4 to 7, 9 and 10).
#include <algorithm>
#include <limits>

#include "neli_core/claimed/claim_protocol.h"
#include "neli_core/mutation.h"

namespace neliroute {
namespace {

constexpr Epoch kEveryEpoch{std::numeric_limits<std::int64_t>::max(),
                            std::numeric_limits<std::int64_t>::max()};

}  // namespace

// Applies every rule of one partition that depends on time, and sets its next deadline.
void ClaimProtocol::evaluate(Partition partition) {
  PartitionState& p = state(partition);
  LocalTime next = kNever;
  if (p.own && p.own->leading) look_at_lease(partition);
  if (p.own && p.own->leading && now_ >= p.warm_until) serve(partition);
  next = std::min(next, barriers_.advance(partition, now_, ready_));
  if (barriers_.is_stuck(partition, now_) && p.assigned && !closing_.begun()) {
    refuse(barriers_.stuck(partition), later(now_, options_.lease));
  }
  if (p.own && !p.own->leading && may_lead(partition)) {
    const LocalTime grace = grace_end(partition);
    if (grace <= now_) {
      start_or_resume(partition);
    } else {
      next = std::min(next, grace);
    }
  }
  if (p.own && p.own->leading) {
    const LocalTime ends = p.own->stale ? p.own->serves_until : p.own->lease_until;
    next = std::min({next, ends, p.warm_until});
  }
  const LocalTime claim = prepare(partition, claim_time(partition));
  if (claim > now_) {
    next = std::min(next, claim);
  } else if (!p.claim_listed) {
    p.claim_listed = true;  // take_ready() writes it
    log(log_of(partition)).claims_due.push_back(partition);
  }
  p.history.forget(now_, p.own ? p.own->epoch : kEveryEpoch);
  deadlines_.set(partition, next);
}

void ClaimProtocol::evaluate_all(Log log) {
  place(log).for_each([this](Partition partition) { evaluate(partition); });
}

bool ClaimProtocol::may_lead(Partition partition) const {
  const PartitionState& p = state(partition);
  // Before `since` is known, nobody can tell which of two configurations came first.
  const bool newest = !p.own->superseded && !p.own->outlived;
  return seniority_told() && newest && !barriers_.runs(partition) && now_ < p.own->lease_until &&
         (p.assigned || p.own->draining);
}

// Rule 6. Non-exclusive mode waits only for owners in exclusive mode: two groups that differ in it
// can have begun at the same time, where none could read the other's log.
LocalTime ClaimProtocol::grace_end(Partition partition) const {
  if (mutated(Mutation::no_grace)) return kLongAgo;
  const PartitionState& p = state(partition);
  const LogState& l = log(log_of(partition));
  const OwnEpoch& own = *p.own;
  const auto broker_wait = [&](BrokerTime over) -> LocalTime {
    const milliseconds e = mutated(Mutation::no_clock_error) ? milliseconds{0}
                                                             : options_.clock_error;
    const milliseconds wait = over + e - *own.claim_stamp;
    return later(own.claim_read, with_drift(std::max(wait, milliseconds{0})));
  };
  LocalTime end = kLongAgo;
  const auto wait_for = [&](const EpochHistory::Known& known) {
    if (!exclusive() && !known.exclusive) return;
    if (known.released_at != kNever) return;                                         // (r)
    if (mutated(known.over_stamp ? Mutation::grace_history : Mutation::grace_read)) return;
    LocalTime over = known.over_at;                                                  // (a)
    if (own.claim_stamp && known.over_stamp) {
      over = std::min(over, broker_wait(*known.over_stamp));                         // (b)
    }
    end = std::max(end, over);
  };
  for (const EpochHistory::Known& known : p.history.foreign()) wait_for(known);
  if (const EpochHistory::Known* folded = p.history.folded()) wait_for(*folded);
  if (!exclusive() || mutated(Mutation::horizon)) return end;
  // Epochs whose records are all before the tail's start.
  const milliseconds bound = history_bound(l);
  LocalTime horizon = later(l.started_at, with_drift(bound));
  if (own.claim_stamp && l.first_stamp && *l.first_stamp <= *own.claim_stamp) {
    horizon = std::min(horizon, broker_wait(*l.first_stamp + bound));
  }
  return std::max(end, horizon);
}

// T* of the records before the tail's start. A process that read no history knows only that no
// lease is longer than the longest possible one.
milliseconds ClaimProtocol::history_bound(const LogState& log) const {
  return log.history_bound_known ? lease_bound() : kLeaseMax;
}

// Exclusive: a claim makes the leader stop. So a process does not claim while it would have to wait
// itself for records before its tail's start. The leader's records give the broker's time.
LocalTime ClaimProtocol::claim_after_history(Partition partition) const {
  const LogState& l = log(log_of(partition));
  if (!exclusive() || mutated(Mutation::no_grace) || mutated(Mutation::horizon)) return kLongAgo;
  // A living owner soon renews what so far only the history shows.
  const LocalTime renewed = later(l.started_at, 3 * options_.interval);
  LocalTime led_until = kLongAgo;
  for (const EpochHistory::Known& known : state(partition).history.foreign()) {
    if (known.released_at != kNever) continue;
    const LocalTime over = known.over_stamp ? std::min(known.over_at, renewed) : known.over_at;
    led_until = std::max(led_until, over);
  }
  LocalTime at = std::min(led_until, later(l.started_at, with_drift(history_bound(l))));
  const auto told = readable(l.last.stamped);
  if (options_.believe_broker_time && l.first_stamp && told) {
    const milliseconds bound = history_bound(l) + options_.clock_error;
    const milliseconds wait = std::clamp(*l.first_stamp + bound - *told, milliseconds{0}, bound);
    at = std::min(at, later(l.last_answer, with_drift(wait)));
  }
  return at;
}

void ClaimProtocol::start_or_resume(Partition partition) {
  PartitionState& p = state(partition);
  p.own->leading = true;
  options_.prepare_timeout.count() > 0 ? begin_warming_up(partition) : serve(partition);
}

// From here on the answer is no; the application is notified and has a barrier to complete.
void ClaimProtocol::stop(Partition partition, StopReason reason, LocalTime at) {
  PartitionState& p = state(partition);
  at = std::min(at, now_);
  // Where it served on, the lease is long over; the application has as long from here.
  const LocalTime by =
      p.own->stale ? later(at, options_.lease) : std::max(at, p.own->lease_until);
  const bool untold = p.warm_up_untold.has_value();
  p.own->leading = p.own->stale = false;
  set_warm_until(partition, kNever);
  leases_->set(partition, kLongAgo, p.generation);
  if (untold) return;  // to the application it is as if this process had gone on waiting
  set_preparation(partition, Preparation::none);
  barriers_.begin({TransitionKind::stopped, partition, p.own->epoch, at, reason, by}, now_,
                  ready_);
}

// Gives the epoch up for ever.
void ClaimProtocol::drop(Partition partition) {
  PartitionState& p = state(partition);
  const Epoch epoch = p.own->epoch;
  p.own.reset();
  --held_count_;
  --log(log_of(partition)).held_count;
  release(partition, epoch);
}

void ClaimProtocol::end(Partition partition, StopReason reason) {
  PartitionState& p = state(partition);
  if (!p.own) return;
  if (p.own->leading) stop(partition, reason, std::min(now_, p.own->serves_until));
  drop(partition);
}

// Written after the barrier, if one runs under the epoch.
void ClaimProtocol::release(Partition partition, const Epoch& epoch) {
  // After a gap, own claims are read once more, even that of an epoch whose barrier still runs.
  const bool waits = !mutated(Mutation::release_in_barrier);
  if (waits && barriers_.put_off_release(partition, epoch)) return;
  // Its claim is lost, and that of another process made the same epoch, by which that one leads.
  const EpochHistory::Known* known = state(partition).history.find(epoch);
  if (known != nullptr && known->claim_read && known->id != options_.id) return;
  log(log_of(partition)).releases.push_back({epoch, partition, 0});
}

void ClaimProtocol::extend(Partition partition, LocalTime until) {
  PartitionState& p = state(partition);
  if (until <= p.own->lease_until) return;
  // A lease that has ended lapses first, even if its extension arrives with the same event.
  if (p.own->leading && now_ >= p.own->lease_until) evaluate(partition);
  if (!p.own) return;
  p.own->lease_until = until;
  if (now_ < until) p.own->another_named.reset();  // the next silence is another one
  if (p.own->leading) set_lease_word(partition);
  evaluate(partition);
}

// The generation rises only with an epoch that is about to be announced: until readers get that
// epoch, each of their lookups reads the snapshot again.
void ClaimProtocol::set_epoch_lease(Partition partition) {
  PartitionState& p = state(partition);
  if (p.serves()) ++p.generation;
  set_lease_word(partition);
}

// When a log has shown what it withheld: three intervals after it fell silent for the last time. A
// record whose fate is not known may be the first of a silence, until two have passed.
LocalTime ClaimProtocol::heard_out_at(const LogState& log) const {
  if (!serves_on() || mutated(Mutation::claims_in_silence)) return kLongAgo;
  const LocalTime returned = later(log.returned_at, 3 * options_.interval);
  if (log.unanswered_since == kNever) return returned;
  return std::max(returned, later(log.unanswered_since, 2 * options_.interval));
}

// Rule 9: when an assignee whose claim was superseded claims again.
LocalTime ClaimProtocol::claim_again_at(Partition partition) const {
  const PartitionState& p = state(partition);
  const auto& newest = p.history.newest();
  if (!newest || newest->id == options_.id) return kLongAgo;
  const EpochHistory::Known* known = p.history.find(newest->epoch);
  if (known == nullptr) return kLongAgo;
  LocalTime at = known->over_at;
  if (!mutated(Mutation::waits_for_drainer)) {
    if (known->draining_since != kNever) {
      at = std::min(at, later(known->draining_since, 2 * options_.interval));
    }
    if (!exclusive()) at = std::min(at, later(known->last_read, 3 * options_.interval));
  }
  at = std::min(known->released_at, std::max(at, heard_out_at(log(log_of(partition)))));
  // The group's new assignee comes first: it held nothing, and need not wait.
  if (newest->previous_id != options_.id) at = later(at, 2 * options_.interval);
  return at;
}

// When a claim may be written; kNever if none is due, or something else must happen first.
LocalTime ClaimProtocol::claim_time(Partition partition) const {
  const PartitionState& p = state(partition);
  const LogState& l = log(log_of(partition));
  if (!p.assigned || closing_.begun() || barriers_.runs(partition)) return kNever;
  if (!l.caught_up() || l.check_pending || is_stuck(log_of(partition))) return kNever;
  LocalTime at = kNever;
  if (p.claim) {
    at = later(p.claim->written, (mutated(Mutation::late_again) ? 20 : 2) * options_.lease);
  } else if (p.claim_due) {
    at = kLongAgo;
  } else if (!p.own || p.own->superseded || p.own->outlived) {
    at = claim_again_at(partition);
  }
  if (at == kNever) return kNever;
  // A process that subscribed before it had read the history is a member, but may have the wrong
  // mode.
  if (const auto undecided = agreement_.undecided_until(now_)) at = std::max(at, *undecided);
  at = std::max(at, claim_after_history(partition));
  if (p.preparation == Preparation::running) at = std::max(at, p.prepare_until);
  // Do not write in a loop to a broker that refuses at once.
  return p.last_claim_written == kLongAgo
             ? at
             : std::max(at, later(p.last_claim_written, options_.interval));
}

void ClaimProtocol::on(const BarrierDone& event) {
  const auto releases = barriers_.end(event);
  if (!releases) return;
  if (*releases) release(event.partition, event.epoch);
  // No renewal named it while the barrier ran. Thousands that end one by one share one renewal.
  if (state(event.partition).own && barriers_.none_runs()) note_state_change(event.partition);
  evaluate(event.partition);
}

}  // namespace neliroute
