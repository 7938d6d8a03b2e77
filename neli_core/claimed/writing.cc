// ClaimProtocol: writing claims, renewals and releases, and what became of them (rules 1 and 3).
#include <algorithm>
#include <utility>

#include "neli_core/claimed/claim_protocol.h"
#include "neli_core/mutation.h"
#include "neli_core/record/judgement.h"
#include "neli_core/record/packed_records.h"

namespace neliroute {
namespace {

// Renewals that may be in flight at once, and one more for a change of state; so a ledger that was
// unreachable for long does not get a flood of stale ones when it is back.
constexpr std::uint32_t kRenewalsInFlightMax = 2;
constexpr std::uint32_t kReleaseAttemptsMax = 3;

}  // namespace

void ClaimProtocol::note_state_change(Partition partition) {
  log(log_of(partition)).state_changed = true;
}

// All logs are renewed at the same instants, so that a broker wakes its readers once instead of
// once for each log.
LocalTime ClaimProtocol::next_beat() const {
  const microseconds interval = options_.interval;
  return later(*first_now_, ((now_ - *first_now_) / interval + 1) * interval);
}

void ClaimProtocol::keep_renewing(bool every_log) {
  renews_first_log_ = true;
  renews_every_log_ = every_log;
}

bool ClaimProtocol::renews(Log which) const {
  return log(which).held_count != 0 || renews_every_log_ ||
         (renews_first_log_ && which == Log{0});
}

std::optional<LocalTime> ClaimProtocol::sent_at(std::uint64_t seq) const {
  const auto sent = sent_.find(seq);
  return sent == sent_.end() ? std::nullopt : std::optional(sent->second);
}

void ClaimProtocol::schedule_renewals() {
  bool beat = false;
  for (std::uint32_t i = 0; i < logs_.size(); ++i) {
    LogState& l = logs_[i];
    if (!renews(Log{i})) {
      l.next_renewal = kNever;
      l.renewal_due = false;
      l.state_changed = false;
      beat = beat || l.stale_count > 0;  // it is to be said that it ended
      l.stale_count = 0;
    } else if (l.next_renewal == kNever) {
      l.next_renewal = next_beat();
    } else if (now_ >= l.next_renewal) {
      l.renewal_due = true;
      l.next_renewal = next_beat();
      beat = true;
      if (serves_on()) lengthen_words(Log{i});
    }
  }
  if (beat && serves_on()) tell_stale();
}

Record ClaimProtocol::header(RecordType type, Log which) const {
  const LogState& l = log(which);
  Record record = options_.header(type, lease_bound(), l.greatest_incarnation, since_);
  if (l.last_offset >= 0) record.read_until = readable(l.last.stamped);
  if (type == RecordType::renewal && which == Log{0}) record.member = member_;
  if (mutated(Mutation::vouches_unread)) {
    record.read_until = BrokerTime{milliseconds{kIncarnationMax}};
  }
  return record;
}

void ClaimProtocol::write(std::uint64_t seq, Outstanding outstanding, std::string value) {
  while (!sent_.empty() && later(sent_.begin()->second, options_.lease) <= now_) {
    sent_.erase(sent_.begin());
  }
  sent_[seq] = now_;
  wrote_ = true;
  const Log to = outstanding.log;
  outstanding.sent = now_;
  log(to).unanswered_since = std::min(log(to).unanswered_since, now_);
  outstanding_[seq] = std::move(outstanding);
  ready_.writes.push_back({to, seq, std::move(value)});
}

void ClaimProtocol::write_claims(Log which) {
  LogState& l = log(which);
  if (l.claims_due.empty()) return;
  std::vector<Partition> due;
  for (const Partition partition : std::exchange(l.claims_due, {})) {
    state(partition).claim_listed = false;
    if (claim_time(partition) <= now_) {
      due.push_back(partition);
    } else {
      evaluate(partition);  // what came meanwhile put it off
    }
  }
  for (PackedRecord& record :
       claim_records(header(RecordType::claim, which), due, options_.settings.logs, next_seq_,
                     options_.record_bytes_max)) {
    Outstanding outstanding;
    outstanding.log = which;
    outstanding.type = RecordType::claim;
    for (const std::size_t i : record.named) {
      note_claim(due[i], record.seq);
      outstanding.claimed.push_back(due[i]);
    }
    write(record.seq, std::move(outstanding), std::move(record.value));
  }
}

void ClaimProtocol::note_claim(Partition partition, std::uint64_t seq) {
  PartitionState& p = state(partition);
  if (mutated(Mutation::claim_gives_up)) end(partition, StopReason::superseded);
  p.claim = ClaimUnderWay{seq, now_};
  p.claim_due = false;
  p.last_claim_written = now_;
  evaluate(partition);
}

// The next claim outranks what the store has seen. When it is read, it ends the epoch held (rule
// 2). Until then this process leads by that epoch: no other process may lead, and the application
// decides what it writes. A process that leads no more, or hands over, only remembers what its next
// claim must outrank: a claim now would take the partition back from its successor.
void ClaimProtocol::on(const EpochRefused& event) {
  if (event.partition.value() >= partition_count()) return;
  PartitionState& p = state(event.partition);
  LogState& l = log(log_of(event.partition));
  if (!p.own || p.own->epoch >= event.stored) return;  // it refused an older one
  if (mutated(Mutation::refusal_ignored)) return;
  const std::int64_t incarnation = event.stored.incarnation;
  const std::int64_t wanted = next_incarnation(incarnation);
  // Nobody would believe a claim with it; brokers' clocks may step back by less than this.
  if (wanted >
      incarnation_limit(readable(l.last.stamped).value_or(BrokerTime{kLeaseMax}) - kLeaseMax)) {
    if (incarnation <= p.unbelieved_incarnation) return;
    p.unbelieved_incarnation = incarnation;
    ready_.notices.push_back(
        {Severity::error, "partition " + std::to_string(event.partition.value()) +
                              ": a store knows an epoch of inc " + std::to_string(incarnation) +
                              ", a lifetime ahead of the broker's clock; it is not believed"});
    return;
  }
  if (wanted > l.greatest_incarnation) l.greatest_incarnation = wanted;
  p.own->refused = true;
  if (p.own->stale) {  // a successor has written there
    end(event.partition, StopReason::superseded);
    p.claim_due = p.assigned;
    return evaluate(event.partition);
  }
  if (!p.own->leading || p.own->draining || p.own->superseded) return;
  if (!p.claim) p.claim_due = p.assigned;  // one in flight is written again if it falls short
  evaluate(event.partition);
}

void ClaimProtocol::write_renewals(Log which) {
  LogState& l = log(which);
  if (!l.renewal_due && !l.state_changed) return;
  const std::uint32_t in_flight_max = kRenewalsInFlightMax + (l.state_changed ? 1 : 0);
  if (!renews(which) || l.renewals_in_flight >= in_flight_max) return;
  l.renewal_due = false;
  l.state_changed = false;
  std::vector<NamedEpoch> held;
  place(which).for_each([&](Partition partition) {
    const PartitionState& p = state(partition);
    if (!p.own || p.own->log_lost || barriers_.runs(partition)) return;
    const OwnEpoch& own = *p.own;
    if (mutated(Mutation::silent_drain) && own.draining) return;
    held.push_back({partition, own.epoch, p.serves() && !own.draining,
                    p.serves() && own.draining, own.stale});
  });
  auto records = epoch_records(header(RecordType::renewal, which), held, options_.settings.logs,
                               next_seq_, options_.record_bytes_max);
  // Who holds nothing does not become anybody's senior by saying so, as with a greeting.
  const bool wrote = wrote_ || !records.empty();
  if (records.empty()) {
    // Barriers run under all that it holds. A member says even then that it lives.
    if (l.held_count != 0 && !(member_ && which == Log{0})) return;
    Record record = header(RecordType::renewal, which);
    record.seq = next_seq_++;
    records.push_back({record.seq, encode_record(record), {}});
  }
  for (PackedRecord& record : records) {
    Outstanding outstanding;
    outstanding.log = which;
    outstanding.type = RecordType::renewal;
    outstanding.ends_batch = &record == &records.back();
    write(record.seq, std::move(outstanding), std::move(record.value));
  }
  wrote_ = wrote;
  ++l.renewals_in_flight;
}

void ClaimProtocol::write_releases(Log which) {
  LogState& l = log(which);
  if (mutated(Mutation::no_release)) l.releases.clear();
  if (l.releases.empty()) return;
  const std::vector<PendingRelease> releases = std::exchange(l.releases, {});
  std::vector<NamedEpoch> named;
  for (const PendingRelease& r : releases) named.push_back({r.partition, r.epoch});
  auto records = epoch_records(header(RecordType::release, which), named, options_.settings.logs,
                               next_seq_, options_.record_bytes_max);
  for (PackedRecord& record : records) {
    Outstanding outstanding;
    outstanding.log = which;
    outstanding.type = RecordType::release;
    for (const std::size_t i : record.named) outstanding.released.push_back(releases[i]);
    write(record.seq, std::move(outstanding), std::move(record.value));
  }
}

void ClaimProtocol::on(const WriteAcknowledged& event) { finish(event.seq, true, event.offset); }
void ClaimProtocol::on(const WriteFailed& event) { finish(event.seq, false, -1); }

void ClaimProtocol::finish(std::uint64_t seq, bool stored, std::int64_t offset) {
  const auto found = outstanding_.find(seq);
  if (found == outstanding_.end()) return;
  const Outstanding outstanding = std::move(found->second);
  LogState& l = log(outstanding.log);
  const bool was_stuck = is_stuck(outstanding.log);
  outstanding_.erase(found);
  note_unanswered(outstanding.log, was_stuck);
  if (outstanding.ends_batch) --l.renewals_in_flight;
  if (mutated(Mutation::no_read_back) && stored && outstanding.type == RecordType::renewal) {
    place(outstanding.log).for_each([&](Partition partition) {
      if (state(partition).own) extend(partition, sent_plus_lease(seq));
    });
  }
  if (!stored) {
    give_up_claim(seq, outstanding.claimed);
  } else if (offset >= 0 && !outstanding.claimed.empty()) {
    l.stored_claims[offset] = StoredClaim{seq, outstanding.claimed};
    give_up_lost_claims(outstanding.log);
  }
  for (PendingRelease release : outstanding.released) {
    if (stored) {
      announce(TransitionKind::released, release.partition, release.epoch);
    } else if (++release.attempts < kReleaseAttemptsMax) {
      l.releases.push_back(release);
    }
  }
}

// A claim that is known not to be in the log need not be awaited for 2 T.
void ClaimProtocol::give_up_claim(std::uint64_t seq, const std::vector<Partition>& claimed) {
  for (const Partition partition : claimed) {
    PartitionState& p = state(partition);
    if (!p.claim || p.claim->seq != seq) continue;
    p.claim.reset();
    p.claim_due = p.assigned;
    evaluate(partition);
  }
}

// The tail has passed the offset where the claim was stored, and found another record there: the
// log lost acknowledged records, but none yet that this process had read.
void ClaimProtocol::give_up_lost_claims(Log which) {
  LogState& l = log(which);
  while (!l.stored_claims.empty() && l.stored_claims.begin()->first < l.next) {
    const StoredClaim lost = std::move(l.stored_claims.begin()->second);
    l.stored_claims.erase(l.stored_claims.begin());
    give_up_claim(lost.seq, lost.partitions);
  }
}

// The log ends below where the claim was stored, so it has lost it. Nothing that this process had
// read was lost, or the tail would have found a gap.
void ClaimProtocol::give_up_claims_above(Log which, std::int64_t end) {
  auto& stored = log(which).stored_claims;
  for (auto lost = stored.lower_bound(end); lost != stored.end(); lost = stored.erase(lost)) {
    give_up_claim(lost->second.seq, lost->second.partitions);
  }
}

}  // namespace neliroute
