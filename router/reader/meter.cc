#include "router/reader/meter.h"

#include <algorithm>

#include "neli_core/record/judgement.h"

namespace neliroute {
namespace {

// Records in flight; further ones are not measured.
constexpr std::size_t kSentMax = 1024;

Count counted_as(Ignored why) {
  switch (why) {
    case Ignored::not_json:
      return Count::ignored_not_json;
    case Ignored::unknown_type:
      return Count::ignored_unknown_type;
    case Ignored::no_lane:
      return Count::ignored_no_lane;
    case Ignored::malformed:
      return Count::ignored_malformed;
    case Ignored::empty:
      return Count::ignored_empty;
  }
  return Count::end;
}

std::optional<Count> counted_as(StopReason reason) {
  switch (reason) {
    case StopReason::superseded:
      return Count::stopped_superseded;
    case StopReason::closed:
      return Count::stopped_closed;
    case StopReason::lapsed:
      return Count::stopped_lapsed;
    case StopReason::gap:
      return Count::stopped_gap;
    case StopReason::conflict:
      return Count::stopped_conflict;
    case StopReason::none:
      break;
  }
  return std::nullopt;
}

}  // namespace

void Meter::before(const Event& event, const Core* core, LocalTime now) {
  renewed_.reset();
  if (const auto* received = std::get_if<Received>(&event)) return hear(*received, core, now);
  if (std::holds_alternative<WriteAcknowledged>(event)) return add(Count::writes_stored);
  if (const auto* failed = std::get_if<WriteFailed>(&event)) {
    sent_.erase(failed->seq);
    return add(Count::writes_failed);
  }
  if (const auto* assigned = std::get_if<GroupAssigned>(&event)) {
    return hear_group(*assigned, core, now);
  }
  if (const auto* revoked = std::get_if<GroupRevoked>(&event)) {
    return hear_group(*revoked, core, now);
  }
}

void Meter::hear_group(const GroupAssigned& event, const Core* core, LocalTime now) {
  add(Count::rebalances_assigned);
  if (awaited_.empty()) awaited_since_ = now;
  event.partitions.for_each(core->leases()->size(), [&](Partition p) {
    assigned_.insert(p);
    if (!core->leads(p, now)) awaited_.insert(p);
  });
  note_assigned(now);
}

void Meter::hear_group(const GroupRevoked& event, const Core*, LocalTime now) {
  add(event.lost ? Count::rebalances_lost : Count::rebalances_revoked);
  event.partitions.for_each(kPartitionCountMax, [this](Partition p) {
    assigned_.erase(p);
    awaited_.erase(p);
  });
  note_assigned(now);
}

void Meter::note_assigned(LocalTime now) {
  assigned_count_.store(static_cast<std::uint32_t>(assigned_.size()), std::memory_order_relaxed);
  last_rebalance_.store(now, std::memory_order_relaxed);
}

void Meter::hear(const Received& event, const Core* core, LocalTime now) {
  if (const auto* why = std::get_if<Ignored>(event.value)) return add(counted_as(*why));
  if (const auto* other = std::get_if<AssignmentRecord>(event.value)) {
    const bool own = other->id == self_;
    if (own) sent_.erase(other->seq);
    add(own ? Count::records_own : Count::records_other);
    if (other->lane != lane_) add(Count::ignored_other_lane);
    return;
  }
  const auto& record = std::get<Record>(*event.value);
  const bool own = record.id == self_;
  add(own ? Count::records_own : Count::records_other);
  switch (judge(record, event.stamped, lane_)) {
    case Judgement::other_lane:
      return add(Count::ignored_other_lane);
    case Judgement::impossible_epoch:
      return add(Count::ignored_impossible_epoch);
    case Judgement::heeded:
      if (own) hear_own(event.log, record, core, now);
  }
}

void Meter::hear_own(Log log, const Record& record, const Core* core, LocalTime now) {
  if (const auto sent = sent_.find(record.seq); sent != sent_.end()) {
    if (record.type == RecordType::claim) claim_round_trips_.note(now - sent->second);
    if (record.type == RecordType::renewal) renewal_round_trips_.note(now - sent->second);
    sent_.erase(sent);
  }
  if (record.type != RecordType::renewal) return;
  const auto look = [&](Partition partition) {
    const LocalTime until = core->lease_until(partition);
    if (until <= now) return;  // it did not lead, or its lease has lapsed, which is counted
    if (!renewed_ || until < renewed_->second) renewed_.emplace(partition, until);
  };
  const LogPlace place{log, logs_, core->leases()->size()};
  record.leading.for_each(place, look);
  record.draining.for_each(place, look);
}

void Meter::after(const Core* core, const RejectedRecords& rejected, LocalTime now) {
  set(Count::ignored_stale, rejected.stale);
  set(Count::ignored_refused_release, rejected.refused_releases);
  set(Count::ignored_ahead, rejected.ahead);
  set(Count::ignored_not_stamped, rejected.not_stamped);
  set(Count::ignored_unassigned, rejected.unassigned);
  if (!renewed_) return;
  const auto [partition, until] = *renewed_;
  if (core->lease_until(partition) > until) lease_margins_.note(until - now);
  renewed_.reset();
}

void Meter::note(const AssignmentChange& change, const Core* core, LocalTime now) {
  std::visit([&](const auto& event) { hear_group(event, core, now); }, change);
}

void Meter::note(const AssignmentStatus& status) {
  set(Count::members_living, status.members);
  set(Count::assigns, status.assigns ? 1 : 0);
  set(Count::seats_claimed, status.seats_claimed);
  set(Count::assignments_written, status.assignments_written);
  set(Count::assignments_refused, status.assignments_refused);
  set(Count::member_deaths, status.deaths);
  set(Count::member_false_deaths, status.false_deaths);
  set(Count::assignment_waits, status.waits);
  set(Count::designees_given_up, status.given_up);
  set(Count::seats_yielded, status.yields);
  set(Count::assigner_waits,
      status.waits_for ? static_cast<std::uint64_t>(*status.waits_for) + 1 : 0);
  set(Count::overrides, status.overrides);
  set(Count::moves_paused, status.moves_paused ? 1 : 0);
  set(Count::overrides_ignored, status.overrides_ignored);
}

void Meter::note(const Ready& ready, LocalTime now) {
  for (const Write& write : ready.writes) {
    if (sent_.size() >= kSentMax) sent_.erase(sent_.begin());
    sent_[write.seq] = now;
  }
  for (const Transition& transition : ready.transitions) note(transition, now);
  add(Count::log_gaps, ready.restart_tails.size());
  if (ready.expedite) add(Count::heartbeats_expedited);
}

void Meter::note(const Transition& transition, LocalTime now) {
  if (transition.kind == TransitionKind::acquired) {
    add(Count::acquired);
    if (awaited_.erase(transition.partition) > 0 && awaited_.empty()) {
      rebalance_durations_.note(now - awaited_since_);
    }
  }
  if (transition.kind == TransitionKind::barrier_overdue) add(Count::barriers_overdue);
  if (transition.kind != TransitionKind::stopped) return;
  if (const auto count = counted_as(transition.reason)) add(*count);
}

void Meter::note_gaps(std::span<const microseconds> gaps) {
  for (const microseconds gap : gaps) gaps_.note(gap);
}

void Meter::note_overlaps(std::span<const microseconds> overlaps) {
  for (const microseconds overlap : overlaps) overlaps_.note(overlap);
}

}  // namespace neliroute
