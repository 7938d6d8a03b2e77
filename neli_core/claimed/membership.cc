// ClaimProtocol: the group's suggestions, one configuration, and leaving (rules 7 and 8).
#include <algorithm>
#include <utility>

#include "neli_core/claimed/claim_protocol.h"
#include "neli_core/mutation.h"

namespace neliroute {
namespace {

// A ledger that works stores a release by then, however short the bound was.
constexpr milliseconds kReleaseLeast{500};

}  // namespace

void ClaimProtocol::on(const GroupAssigned& event) {
  ++ready_.rebalances_done;
  ready_.assignments.emplace_back(event);
  joined_ = true;
  event.partitions.for_each(kPartitionCountMax, [this](Partition partition) {
    if (partition.value() >= partition_count()) {
      if (partitions_added_told_) return;
      partitions_added_told_ = true;
      ready_.notices.push_back(
          {Severity::error, "the group assigned partition " + std::to_string(partition.value()) +
                                ", but this process runs with " +
                                std::to_string(partition_count()) +
                                " partitions: the topic has grown. Nobody owns the new ones; stop "
                                "all processes and start them with the new number"});
      return;
    }
    PartitionState& p = state(partition);
    if (closing_.begun() || p.assigned) return;
    p.assigned = true;
    if (p.own) p.own->another_named.reset();
    ++assigned_count_;
    set_vacant(partition, false);
    if (p.own && p.own->draining && !p.own->superseded &&
        !mutated(Mutation::claim_while_draining)) {
      p.own->draining = false;  // assigned again before another process claimed it: lead on
      p.claim_due = p.own->refused || p.own->log_lost;
      if (p.serves()) announce(TransitionKind::acquired, partition, p.own->epoch);
      note_state_change(partition);
    } else {
      p.claim_due = true;
    }
    evaluate(partition);
  });
}

void ClaimProtocol::on(const GroupRevoked& event) {
  ++ready_.rebalances_done;  // at once: a barrier never blocks a rebalance
  ready_.assignments.emplace_back(event);
  newcomer_ = false;  // this is what it was asked for
  event.partitions.for_each(partition_count(), [this](Partition partition) {
    if (state(partition).assigned) revoke(partition);
  });
}

void ClaimProtocol::revoke(Partition partition) {
  PartitionState& p = state(partition);
  p.assigned = false;
  --assigned_count_;
  p.claim_due = false;
  drop_preparation(partition);
  if (p.own && p.own->leading && mutated(Mutation::stop_when_revoked)) {
    end(partition, StopReason::superseded);
  } else if (p.own && p.own->leading && p.warms_up()) {
    end(partition, StopReason::superseded);  // nobody is served yet
  } else if (p.own && !p.own->leading) {
    drop(partition);
  }
  if (p.own && p.own->leading && !p.own->draining) {
    p.own->draining = true;
    announce(TransitionKind::draining, partition, p.own->epoch);
    note_state_change(partition);
  }
  evaluate(partition);
}

void ClaimProtocol::named_for_others(const PartitionRanges& partitions) {
  if (closing_.begun()) return;
  partitions.for_each(partition_count(), [this](Partition partition) {
    PartitionState& p = state(partition);
    if (p.own && p.own->stale && !p.assigned) {
      p.own->another_named = flow_.mark(options_.serve_stale_beside);
    }
  });
}

// Who is named in a log that the assigner does not read, or while log 0 stands still, has had no
// time to lead.
void ClaimProtocol::assigner_reads(const PartitionRanges& unread) {
  if (closing_.begun()) return;
  const milliseconds beside = options_.serve_stale_beside;
  for (std::uint32_t p = 0; p < partition_count(); ++p) {
    std::optional<OwnEpoch>& own = state(Partition{p}).own;
    if (!own || !own->stale || !own->another_named) continue;
    if (unread.contains(Partition{log_of(Partition{p}).value()}) &&
        !mutated(Mutation::ends_unread)) {
      own->another_named = flow_.mark(beside);
    } else if (flow_.until_silent(*own->another_named, beside) == microseconds{0}) {
      lapse(Partition{p}, now_);
    }
  }
}

// Who was named before has had no time that another assigner could have seen.
void ClaimProtocol::assigner_begins() {
  for (PartitionState& p : partitions_) {
    if (p.own && p.own->another_named) {
      p.own->another_named = flow_.mark(options_.serve_stale_beside);
    }
  }
}

void ClaimProtocol::on(const CloseRequested& event) {
  closing_.ask(event.until, now_);
  released_by_ = std::min(released_by_, event.released_by);
}

void ClaimProtocol::refuse(Error error, LocalTime drain_until) {
  if (closing_.refuse(std::move(error), ready_)) on(CloseRequested{drain_until});
}

bool ClaimProtocol::claims_under_way() const {
  return std::any_of(partitions_.begin(), partitions_.end(),
                     [](const PartitionState& p) { return p.claim.has_value(); });
}

bool ClaimProtocol::releases_under_way() const {
  const auto waiting = [](const LogState& l) { return !l.releases.empty(); };
  const auto sent = [](const auto& entry) { return entry.second.type == RecordType::release; };
  return std::any_of(logs_.begin(), logs_.end(), waiting) ||
         std::any_of(outstanding_.begin(), outstanding_.end(), sent);
}

// Rule 8: leave the group, drain until successors lead or the bound has passed, then stop.
void ClaimProtocol::advance_closing() {
  if (closing_.ends(ClosingStage::asked, now_, [this] { return !claims_under_way(); })) {
    closing_.drain();
    tell_leaving_stale();
    ready_.leave_group = subscribed_;
    subscribed_ = true;  // and never again
    for (std::uint32_t p = 0; p < partition_count(); ++p) {
      if (state(Partition{p}).assigned) revoke(Partition{p});
    }
  }
  if (closing_.ends(ClosingStage::draining, now_, [this] { return held_count_ == 0; })) {
    closing_.stop(now_);
    released_by_ = std::max(released_by_, later(now_, kReleaseLeast));
    for (std::uint32_t p = 0; p < partition_count(); ++p) {
      end(Partition{p}, closing_.reason());
      evaluate(Partition{p});
    }
  }
  const auto all_done = [this] {
    return barriers_.none_runs() && (now_ >= released_by_ || !releases_under_way());
  };
  if (closing_.ends(ClosingStage::stopping, now_, all_done)) closing_.close(ready_);
}

void ClaimProtocol::advance_subscription() {
  if (subscribed_ || closing_.begun()) return;
  if (!history_was_read() || agreement_.undecided_until(now_)) return;
  subscribed_ = true;
  ready_.subscribe = true;
}

bool ClaimProtocol::history_was_read() const {
  return now_ >= later(*first_now_, kHistoryBound) || all_caught_up(logs_);
}

// Claims wait until the doubt ends, which may be earlier than its bound.
void ClaimProtocol::follow_doubt() {
  const auto before = std::exchange(doubt_until_, agreement_.undecided_until(now_));
  if (!before || (doubt_until_ && *doubt_until_ >= *before)) return;
  for (std::uint32_t p = 0; p < partition_count(); ++p) {
    if (state(Partition{p}).assigned) evaluate(Partition{p});
  }
}

// Nothing that it said counts any more, so others may have begun with other settings meanwhile. If
// its return made it their senior, one process that was frozen for an hour would end a whole group.
void ClaimProtocol::forget_seniority() {
  if (!since_ && !wrote_) return;
  // What it wrote last may still be its first record, on its way.
  LocalTime spoke = own_read_at_;
  if (!since_ && !sent_.empty()) spoke = std::max(spoke, sent_.rbegin()->second);
  if (now_ < later(spoke, options_.lease)) return;
  // Nobody could begin while all logs were silent. If who starts then by mistake became everybody's
  // senior, it would end the group.
  if (serves_awake() && !is_passed_over()) return;
  since_.reset();
  since_from_seq_ = next_seq_;
  wrote_ = false;
}

void ClaimProtocol::check_agreement() {
  if (closing_.reason() == StopReason::conflict) return;
  if (closing_.stage() >= ClosingStage::stopping) return;
  // One log may show a newcomer before another shows those that came first.
  if (!history_was_read()) return;
  std::optional<SettingsAgreement::Seniority> own;
  if (since_) own = SettingsAgreement::Seniority{*since_, options_.id};
  if (wrote_ && !since_) return;  // some process must be first, and it is not known which
  if (auto error = agreement_.conflict(own, now_)) refuse(std::move(*error), now_);
}

}  // namespace neliroute
