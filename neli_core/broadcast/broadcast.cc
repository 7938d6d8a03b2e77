#include "neli_core/broadcast/broadcast.h"

#include <algorithm>
#include <neliroute/detail/assert.h>
#include <string>
#include <utility>

#include "neli_core/timing.h"

namespace neliroute {
namespace {

std::string ms(milliseconds value) { return std::to_string(value.count()) + " ms"; }

// How long ago the broker stamped it, as far as this machine's wall clock can tell.
microseconds age_of(const Heard& event) {
  return event.wall.time_since_epoch() - event.stamped.time_since_epoch();
}

}  // namespace

// --- Options -------------------------------------------------------------------------------------

Result<void> BroadcastOptions::validate() const {
  if (auto valid = core.validate(); !valid) return valid;
  return check_broadcast_timing(core.mode, core.lease, session, local_clock_error, core.interval,
                                groups);
}

Result<Broadcast> Broadcast::make(BroadcastOptions options) {
  options.core.settings.mode = to_string(options.core.mode);
  options.core.settings.variation = to_string(Variation::broadcast);
  if (auto valid = options.validate(); !valid) return valid.error();
  return Broadcast(std::move(options));
}

Broadcast::Broadcast(BroadcastOptions options)
    : options_(std::move(options)),
      leases_(std::make_shared<LeaseVector>(options_.core.settings.partitions)),
      partitions_(options_.core.settings.partitions),
      deadlines_(options_.core.settings.partitions),
      barriers_(options_.core.settings.partitions, options_.core.lease),
      closing_(options_.core.lease) {
  if (!options_.hints) return;
  CoreOptions beside = options_.core;
  // Each of two brokers may differ by e from this machine.
  beside.clock_error = 2 * options_.local_clock_error;
  beside_.emplace(beside, options_.beat());
}

// --- Time ----------------------------------------------------------------------------------------

void Broadcast::step(const Event& event, LocalTime now) {
  tick(now);
  std::visit(
      [this](const auto& e) {
        if (beside_) beside_->on(e, now_);
        on(e);
      },
      event);
  tick(now);
}

void Broadcast::tick(LocalTime now) {
  NELIROUTE_ASSERT(now >= now_, "time must not run backwards");
  now_ = now;
  if (!first_now_) first_now_ = now;
  while (deadlines_.earliest() <= now_) evaluate(deadlines_.first());
  if (beside_ && closing_.reason() != StopReason::conflict && !has_stopped()) {
    if (auto error = beside_->conflict(now_)) refuse(std::move(*error), now_);
  }
  advance_subscription();
  advance_closing();
  schedule_broadcast();
}

// With hint claims, settings are compared before this process takes part.
void Broadcast::advance_subscription() {
  if (subscribed_ || closing_.begun()) return;
  if (beside_ && beside_->undecided_until(now_)) return;
  if (beside_ && !beside_->history_was_read() && now_ < later(*first_now_, kHistoryBound)) return;
  ready_.subscribe = subscribed_ = true;
}

LocalTime Broadcast::joins_by() const noexcept {
  if (!first_now_ || !beside_) return now_;
  return beside_->undecided_until(now_).value_or(later(*first_now_, kHistoryBound));
}

// After this process was stopped it writes once, not once for every beat that it missed.
void Broadcast::schedule_broadcast() {
  if (now_ < next_broadcast_ || has_stopped()) return;
  broadcast_due_ = true;
  const microseconds beat = options_.beat();
  next_broadcast_ = next_broadcast_ == kLongAgo
                        ? later(now_, beat)
                        : later(next_broadcast_, ((now_ - next_broadcast_) / beat + 1) * beat);
}

Ready Broadcast::take_ready() {
  if (std::exchange(broadcast_due_, false)) {
    ready_.broadcast = true;
    ++counters_.broadcasts;
  }
  if (beside_ && (!closed() || ready_.closed)) beside_->write(ready_, now_);
  return std::exchange(ready_, Ready{});
}

LocalTime Broadcast::next_deadline() const noexcept {
  LocalTime next = deadlines_.earliest();
  if (!has_stopped()) next = std::min(next, next_broadcast_);
  if (beside_ && !closed()) next = std::min(next, beside_->next_deadline());
  if (!subscribed_) next = std::min(next, joins_by());
  return std::min(next, closing_.until());
}

// --- V, and who leads by it ----------------------------------------------------------------------

void Broadcast::on(const Heard& event) {
  if (event.partition.value() >= partition_count()) return;
  State& p = state(event.partition);
  if (!p.assigned) {
    ++counters_.records_unassigned;
    return;
  }
  ++counters_.records_heard;
  if (!heeded(event)) return;
  p.newest = std::max(p.newest.value_or(event.stamped), event.stamped);
  p.newest_offset = event.offset;
  // No stamp counts as more than e in the future, so no lease is longer than T + e.
  const microseconds age = std::max<microseconds>(age_of(event), -options_.local_clock_error);
  const LocalTime until = event.read + (lease() - age);
  if (until <= now_) {
    ++counters_.records_stale;
    notice_once(stale_told_, Severity::warning,
                "a record of partition " + std::to_string(event.partition.value()) + " is " +
                    std::to_string(age.count() / 1000) +
                    " ms old when it is read, the lease is " + ms(lease()) +
                    ": a backlog, or this machine's clock is ahead of the broker's; it does not "
                    "make a leader");
  } else {
    stale_told_ = false;
  }
  if (until <= p.lease_until) return;
  p.lease_until = until;
  if (p.leading) leases_->set(event.partition, until, p.generation);
  evaluate(event.partition);
}

bool Broadcast::heeded(const Heard& event) {
  if (exclusive() && options_.require_broker_time && !event.store_stamped) {
    ++counters_.records_not_stamped;
    notice_once(not_stamped_told_, Severity::error,
                "records are stamped by their writers: exclusive broadcast needs "
                "message.timestamp.type=LogAppendTime, else nobody leads; alter the topic");
    return false;
  }
  not_stamped_told_ = false;
  if (-age_of(event) <= options_.local_clock_error) {
    ahead_told_ = false;
    return true;
  }
  // This proves that the assumption that clocks are within e does not hold.
  ++counters_.records_ahead;
  notice_once(ahead_told_, Severity::error,
              "the broker's clock is " + std::to_string(-age_of(event).count() / 1000) +
                  " ms ahead of this machine's, the local clock error is " +
                  ms(options_.local_clock_error) +
                  "; synchronise the clocks or raise `timing.local_clock_error`" +
                  (exclusive() ? "; nothing is led by such records" : ""));
  return !exclusive();
}

// Applies what depends on time, and sets the partition's next deadline.
void Broadcast::evaluate(Partition partition) {
  State& p = state(partition);
  LocalTime next = kNever;
  if (p.leading && now_ >= p.lease_until) {
    ++counters_.lapses;
    stop(partition,
         p.assigned         ? StopReason::lapsed
         : closing_.begun() ? closing_.reason()
                            : StopReason::superseded,
         p.lease_until);
  }
  // Only this process waits for its barrier here, before it leads the partition again.
  next = std::min(next, barriers_.advance(partition, now_, ready_));
  if (barriers_.is_stuck(partition, now_) && p.assigned && !closing_.begun()) {
    refuse(barriers_.stuck(partition), later(now_, lease()));
  }
  if (!p.leading && may_lead(partition)) {
    if (now_ >= p.grace_end) {
      start(partition);
    } else {
      next = std::min(next, p.grace_end);
    }
  }
  if (p.leading) next = std::min(next, p.lease_until);
  deadlines_.set(partition, next);
}

bool Broadcast::may_lead(Partition partition) const {
  const State& p = state(partition);
  return p.assigned && !barriers_.runs(partition) && now_ < p.lease_until;
}

void Broadcast::start(Partition partition) {
  State& p = state(partition);
  p.leading = true;
  ++leading_count_;
  p.epoch = Epoch{p.newest->time_since_epoch().count(), p.newest_offset};
  ++p.generation;
  if (beside_) beside_->lead(partition, now_);
  leases_->set(partition, p.lease_until, p.generation);
  announce(TransitionKind::acquired, partition);
}

void Broadcast::stop(Partition partition, StopReason reason, LocalTime at) {
  State& p = state(partition);
  p.leading = p.draining = false;
  --leading_count_;
  if (beside_) beside_->stop(partition);
  leases_->set(partition, kLongAgo, p.generation);
  barriers_.begin({TransitionKind::stopped, partition, p.epoch, std::min(at, now_), reason,
                   p.lease_until},
                  now_, ready_);
}

void Broadcast::on(const BarrierDone& event) {
  if (barriers_.end(event)) evaluate(event.partition);
}

// --- The group -----------------------------------------------------------------------------------

void Broadcast::on(const GroupAssigned& event) {
  ++ready_.rebalances_done;
  std::uint32_t count = 0;
  event.partitions.for_each(kPartitionCountMax, [&](Partition partition) {
    if (partition.value() >= partition_count()) {
      count = std::max(count, partition.value() + 1);
      return;
    }
    State& p = state(partition);
    if (closing_.begun() || p.assigned) return;
    p.assigned = true;
    if (exclusive()) p.grace_end = later(now_, lease());
    if (p.leading && std::exchange(p.draining, false)) {
      announce(TransitionKind::acquired, partition);
      if (beside_) beside_->drain(partition, false);
    }
    evaluate(partition);
  });
  if (count > 0 && count_told_.value_or(0) < count) other_partition_count(count, "at least ");
}

void Broadcast::on(const GroupRevoked& event) {
  ++ready_.rebalances_done;  // at once: a barrier never blocks a rebalance
  event.partitions.for_each(partition_count(), [this](Partition partition) {
    if (state(partition).assigned) revoke(partition);
  });
}

// Non-exclusive: V is not refreshed any more and lapses by T; until then both lead, which is the
// overlap that the paper wants. Exclusive: a process that knows it was revoked need not wait for
// that.
void Broadcast::revoke(Partition partition) {
  State& p = state(partition);
  p.assigned = false;
  if (exclusive()) {
    if (p.leading) {
      stop(partition, closing_.begun() ? closing_.reason() : StopReason::superseded, now_);
    }
    p.lease_until = kLongAgo;
  } else if (p.leading && !std::exchange(p.draining, true)) {
    announce(TransitionKind::draining, partition);
    if (beside_) beside_->drain(partition, true);
  }
  evaluate(partition);
}

// Only hints suffer, until the log is read again.
void Broadcast::on(const GapFound& event) {
  ready_.restart_tails.push_back(event.log);
  ready_.notices.push_back({Severity::error, "log " + std::to_string(event.log.value()) + ": " +
                                                 to_string(event.reason) +
                                                 "; it is read again"});
}

// --- M is a constant -----------------------------------------------------------------------------

void Broadcast::on(const PartitionsCounted& event) {
  if (event.count == partition_count()) return count_told_.reset();
  if (count_told_ != event.count) other_partition_count(event.count, "");
}

// A process that starts now maps role j to another partition than the running ones do. So in
// exclusive mode nobody may go on.
void Broadcast::other_partition_count(std::uint32_t count, const char* least) {
  count_told_ = count;
  const std::string text = "the topic has " + (least + std::to_string(count)) +
                           " partitions, but this process runs with " +
                           std::to_string(partition_count()) +
                           ": the number must not change while a group runs, as a process "
                           "that starts now maps the same roles to other partitions";
  if (exclusive()) {
    refuse({Errc::ledger_unfit, text + "; stop all processes and start them with the new number"},
           now_);
  } else {
    ready_.notices.push_back({Severity::error, text + ". Going on with the old number; stop all "
                                                      "processes and start them with the new one"});
  }
}

// --- Leaving -------------------------------------------------------------------------------------

void Broadcast::on(const CloseRequested& event) {
  closing_.ask(event.until, now_);
  if (closing_.stage() != ClosingStage::asked) return;
  closing_.drain();
  ready_.leave_group = subscribed_;
  subscribed_ = true;  // and never again
  for (std::uint32_t p = 0; p < partition_count(); ++p) {
    if (partitions_[p].assigned) revoke(Partition{p});
  }
}

// A leaving process need not wait for its vector to lapse if the successor says that it leads.
void Broadcast::end_drains() {
  for (std::uint32_t i = 0; i < partition_count(); ++i) {
    const Partition partition{i};
    if (!state(partition).leading || !beside_->has_successor(partition, now_)) continue;
    stop(partition, closing_.reason(), now_);
    evaluate(partition);
  }
}

void Broadcast::advance_closing() {
  if (closing_.stage() == ClosingStage::draining && beside_) end_drains();
  if (closing_.ends(ClosingStage::draining, now_, [this] { return leading_count_ == 0; })) {
    closing_.stop(now_);
    for (std::uint32_t i = 0; i < partition_count(); ++i) {
      const Partition partition{i};
      if (state(partition).leading) stop(partition, closing_.reason(), now_);
      evaluate(partition);
    }
  }
  if (closing_.ends(ClosingStage::stopping, now_, [this] { return barriers_.none_runs(); })) {
    closing_.close(ready_);
  }
}

void Broadcast::refuse(Error error, LocalTime drain_until) {
  if (closing_.refuse(std::move(error), ready_)) on(CloseRequested{drain_until});
}

// --- What it writes ------------------------------------------------------------------------------

RoleState Broadcast::role_state(Partition partition) const noexcept {
  const State& p = state(partition);
  if (p.leading && now_ < p.lease_until) {
    return p.draining ? RoleState::draining : RoleState::leading;
  }
  return p.assigned ? RoleState::looking : RoleState::following;
}

std::optional<Epoch> Broadcast::epoch(Partition partition) const noexcept {
  const State& p = state(partition);
  return p.leading ? std::optional(p.epoch) : std::nullopt;
}

void Broadcast::notice_once(bool& told, Severity severity, std::string text) {
  if (!std::exchange(told, true)) ready_.notices.push_back({severity, std::move(text)});
}

void Broadcast::announce(TransitionKind kind, Partition partition) {
  ready_.transitions.push_back({kind, partition, state(partition).epoch, now_});
}

}  // namespace neliroute
