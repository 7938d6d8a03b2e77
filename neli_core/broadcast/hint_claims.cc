#include "neli_core/broadcast/hint_claims.h"

#include <algorithm>
#include <string>
#include <utility>

#include "neli_core/record/judgement.h"
#include "neli_core/record/packed_records.h"

namespace neliroute {
namespace {

// Renewals of a log that may be in flight at once.
constexpr std::uint32_t kHintsInFlightMax = 3;
// Beats of silence after which the writer of a newer claim counts as gone.
constexpr int kSilentBeats = 3;
// How many times per beat claims are written: a claim waits that long for others to share its
// record.
constexpr int kClaimsABeat = 10;

}  // namespace

HintClaims::HintClaims(const CoreOptions& options, milliseconds beat)
    : options_(options),
      beat_(beat),
      partitions_(options.settings.partitions),
      logs_(options.settings.logs),
      agreement_(options.settings, options.lane),
      lease_bound_(options) {}

// --- What the process does -----------------------------------------------------------------------

void HintClaims::lead(Partition partition, LocalTime now) {
  claims_at_ = std::min(claims_at_, later(now, beat_ / kClaimsABeat));
  State& p = state(partition);
  p.leading = p.claim_due = true;
  p.draining = p.has_successor = false;
}

void HintClaims::drain(Partition partition, bool draining) {
  state(partition).draining = draining;
  log_of(partition).renewal_due = true;
}

// A claim in flight is released when it is read back.
void HintClaims::stop(Partition partition) {
  State& p = state(partition);
  p.leading = p.draining = p.claim_due = false;
  p.claim_seq = 0;
  if (const auto own = std::exchange(p.own, std::nullopt)) {
    log_of(partition).releases[*own].push_back(partition);
  }
}

// --- What it reads -------------------------------------------------------------------------------

void HintClaims::on(const TailStarted& event, LocalTime) {
  logs_[event.log.value()].start(event);
}

void HintClaims::on(const LogPosition& event, LocalTime) {
  LogState& l = logs_[event.log.value()];
  if (l.started) l.reach(event.next);
}

// Claims in that log may be gone: they are written again when the log is read again.
void HintClaims::on(const GapFound& event, LocalTime) {
  LogState& l = logs_[event.log.value()];
  lease_bound_.gap(event.log);
  l.stop();
  l.read_until.reset();
  l.releases.clear();
  place(event.log).for_each([this](Partition partition) {
    State& p = state(partition);
    p.own.reset();
    p.claim_seq = 0;
    p.claim_due = p.leading;
    p.has_successor = false;
  });
}

void HintClaims::on(const Received& event, LocalTime now) {
  LogState& l = logs_[event.log.value()];
  if (!l.read(event.offset)) return;
  l.read_until = readable(event.stamped);
  const auto* record = std::get_if<Record>(event.value);
  if (record == nullptr) return;
  lease_bound_.read(event, *record, now);
  if (record->id != options_.id) {
    agreement_.note(*record, event.stamped, record->lease.value_or(options_.lease), now,
                    !l.is_history(event.offset));
  } else if (!since_) {
    since_ = event.stamped.time_since_epoch().count();
  }
  const Judgement judged = judge(*record, event.stamped, options_.lane);
  l.greatest_incarnation =
      std::max(l.greatest_incarnation,
               incarnation_told(*record, judged, event.stamped, event.offset));
  if (judged != Judgement::heeded) return;
  switch (record->type) {
    case RecordType::claim:
      return on_claim(event, *record, now);
    case RecordType::renewal:
      return on_renewal(event, *record, now);
    case RecordType::release:
      return on_release(event, *record);
  }
}

void HintClaims::note_newest(State& p, const Epoch& epoch, LocalTime now) {
  if (epoch < p.newest) return;
  p.newest = epoch;
  p.newest_until = later(now, kSilentBeats * beat_);
}

void HintClaims::on_claim(const Received& event, const Record& record, LocalTime now) {
  LogState& l = logs_[event.log.value()];
  const Epoch epoch = claim_epoch(record, event.stamped, event.offset);
  l.greatest_incarnation = std::max(l.greatest_incarnation, epoch.incarnation);
  for_each_claimed(record, place(event.log), [&](Partition partition) {
    State& p = state(partition);
    const bool newer = epoch > p.newest;
    note_newest(p, epoch, now);
    // One that cannot be read is of another version. It stops nobody here from leading, but from
    // being found, as callers take it for a claim of all.
    if (!record.parts || record.id != options_.id) return;
    const bool awaited = p.leading && p.claim_seq == record.seq;
    if (awaited) p.claim_seq = 0;
    if (awaited && newer) {
      p.own = epoch;
      p.has_successor = false;
      l.renewal_due = true;  // by it others learn who leads
      return;
    }
    // The topic was recreated: others believe it if it is above what is remembered of the old one.
    if (awaited) {
      p.claim_due = true;
      l.greatest_incarnation =
          std::max(l.greatest_incarnation, next_incarnation(p.newest.incarnation));
    }
    l.releases[epoch].push_back(partition);
  });
}

void HintClaims::on_renewal(const Received& event, const Record& record, LocalTime now) {
  for_each_named(record, place(event.log), [&](Partition partition, const Epoch& epoch) {
    State& p = state(partition);
    note_newest(p, epoch, now);
    const bool successor = record.id != options_.id && p.own && epoch > *p.own;
    if (!successor || epoch != p.newest) return;
    p.has_successor = record.leading.contains(partition, options_.settings.logs);
  });
}

void HintClaims::on_release(const Received& event, const Record& record) {
  for_each_named(record, place(event.log), [&](Partition partition, const Epoch& epoch) {
    State& p = state(partition);
    if (epoch == p.newest) p.newest_until = kLongAgo;
  });
}

// Others believe the newest claim only. A process that leads on after a claim whose writer is gone,
// since the partition came back to it, must claim again to be found.
bool HintClaims::claims_again(const State& p, LocalTime now) const {
  return p.leading && !p.draining && p.own && *p.own < p.newest && now >= p.newest_until;
}

void HintClaims::on(const WriteAcknowledged& event, LocalTime) {
  const auto renewal = on_the_way_.find(event.seq);
  if (renewal == on_the_way_.end()) return;
  --logs_[renewal->second.value()].in_flight;
  on_the_way_.erase(renewal);
}

void HintClaims::on(const WriteFailed& event, LocalTime now) {
  on(WriteAcknowledged{event.seq}, now);
  for (State& p : partitions_) {
    if (p.claim_seq != event.seq) continue;
    p.claim_seq = 0;
    p.claim_due = p.leading;
  }
}

bool HintClaims::history_was_read() const {
  return all_caught_up(logs_);
}

// Ignores one that drains, was released or has gone silent: a partition may come back to this
// process.
bool HintClaims::has_successor(Partition partition, LocalTime now) const {
  const State& p = partitions_[partition.value()];
  return p.has_successor && now < p.newest_until;
}

std::optional<Error> HintClaims::conflict(LocalTime now) const {
  if (!history_was_read() || (wrote_ && !since_)) return std::nullopt;
  std::optional<SettingsAgreement::Seniority> own;
  if (since_) own = SettingsAgreement::Seniority{*since_, options_.id};
  return agreement_.conflict(own, now);
}

// --- What is written -----------------------------------------------------------------------------

void HintClaims::write(Ready& ready, LocalTime now) {
  const bool beat = now >= next_beat_;
  const bool claims = beat || now >= claims_at_;
  if (beat) next_beat_ = later(now, beat_);
  if (claims) claims_at_ = kNever;
  for (std::uint32_t i = 0; i < logs_.size(); ++i) {
    LogState& l = logs_[i];
    if (beat) l.renewal_due = true;
    if (!l.caught_up()) continue;
    write_epochs(RecordType::release, Log{i}, std::exchange(l.releases, {}), ready);
    if (claims) write_claims(Log{i}, ready, now);
    write_renewals(Log{i}, ready);
  }
}

Record HintClaims::header(RecordType type, Log log) const {
  const LogState& l = logs_[log.value()];
  Record record = options_.header(type, lease_bound_.value(), l.greatest_incarnation, since_);
  record.read_until = l.read_until;
  return record;
}

void HintClaims::write_claims(Log log, Ready& ready, LocalTime now) {
  std::vector<Partition> due;
  place(log).for_each([&](Partition partition) {
    State& p = state(partition);
    if (p.claim_seq != 0 && now >= later(p.claim_written, 2 * options_.lease)) {
      p.claim_seq = 0;  // not read back: lost
      p.claim_due = p.leading;
    }
    if (claims_again(p, now)) {
      p.claim_due = true;
      p.own.reset();  // a newer claim follows it: no release is needed
    }
    // Do not write in a loop to a broker that refuses at once.
    const bool waits = p.claim_written != kLongAgo && now < later(p.claim_written, beat_);
    if (p.claim_due && !waits) due.push_back(partition);
  });
  for (PackedRecord& record : claim_records(header(RecordType::claim, log), due,
                                            options_.settings.logs, next_seq_)) {
    for (const std::size_t i : record.named) {
      State& p = state(due[i]);
      p.claim_due = false;
      p.claim_seq = record.seq;
      p.claim_written = now;
    }
    wrote_ = true;
    ready.writes.push_back({log, record.seq, std::move(record.value)});
  }
}

void HintClaims::write_renewals(Log log, Ready& ready) {
  LogState& l = logs_[log.value()];
  if (!l.renewal_due || l.in_flight >= kHintsInFlightMax) return;
  l.renewal_due = false;
  EpochsHeld held;
  place(log).for_each([&](Partition partition) {
    const State& p = state(partition);
    if (p.own) held[*p.own].push_back(partition);
  });
  write_epochs(RecordType::renewal, log, held, ready);
}

void HintClaims::write_epochs(RecordType type, Log log, const EpochsHeld& held, Ready& ready) {
  std::vector<NamedEpoch> named;
  for (const auto& [epoch, partitions] : held) {
    for (const Partition partition : partitions) {
      const bool draining = state(partition).draining;
      const bool renews = type == RecordType::renewal;
      named.push_back({partition, epoch, renews && !draining, renews && draining});
    }
  }
  for (PackedRecord& record :
       epoch_records(header(type, log), named, options_.settings.logs, next_seq_)) {
    if (type == RecordType::renewal) {
      on_the_way_[record.seq] = log;
      ++logs_[log.value()].in_flight;
    }
    ready.writes.push_back({log, record.seq, std::move(record.value)});
  }
}

}  // namespace neliroute
