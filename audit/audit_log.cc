// LogAudit: what each record adds to what is known. audit_rules.cc judges it.
#include "audit/audit_log.h"

#include <algorithm>
#include <utility>

#include "audit/audit_statement.h"
#include "neli_core/options.h"
#include "neli_core/record/judgement.h"

namespace neliroute {
namespace {

bool is_exclusive(const Settings& settings) {
  return settings.mode == to_string(Mode::exclusive);
}

}  // namespace

LogAudit::LogAudit(Log log, const AuditOptions& options, AuditTotals& totals,
                   const Auditor::Sink& sink)
    : log_(log), options_(options), totals_(totals), sink_(sink) {}

void LogAudit::on(const Received& event) {
  if (event.offset < next_) return;
  const bool hole = options_.dense && next_ >= 0 && event.offset != next_;
  next_ = event.offset + 1;
  last_stamp_ = event.stamped;
  timed_ = timed_ && event.store_stamped;
  totals_.broker_time = totals_.broker_time && event.store_stamped;
  if (hole) forget(FindingKind::hole, Mark{event.offset, event.stamped});
  if (start_ < 0) {
    start_ = event.offset;
    first_stamp_ = event.stamped;
  }
  const auto* record = std::get_if<Record>(event.value);
  if (record != nullptr) {
    judge_record(event, *record);
  } else if (const auto* assignment = std::get_if<AssignmentRecord>(event.value)) {
    ++(assignment->lane == options_.lane ? totals_.assignments : totals_.other_lanes);
  } else {
    ++totals_.ignored;
  }
  flush();
}

void LogAudit::judge_record(const Received& event, const Record& record) {
  switch (judge(record, event.stamped, options_.lane)) {
    case Judgement::other_lane:
      ++totals_.other_lanes;
      break;
    case Judgement::impossible_epoch:
      ++totals_.ignored;
      break;
    case Judgement::heeded:
      ++totals_.records;
      on_record(event, record);
  }
}

void LogAudit::on_record(const Received& event, const Record& record) {
  lease_bound_ = std::max({lease_bound_, record.lease.value_or(milliseconds{0}),
                           record.max_lease.value_or(milliseconds{0})});
  if (record.id != kNobody) totals_.processes.insert(record.id);
  follow_settings(record, Mark{event.offset, event.stamped, record.id});
  switch (record.type) {
    case RecordType::claim:
      on_claim(event, record);
      break;
    case RecordType::renewal:
      on_renewal(event, record);
      break;
    case RecordType::release:
      on_release(event, record);
      break;
  }
  const bool leads = record.type == RecordType::renewal && !record.leading.empty();
  if (leads) alive_ = Mark{event.offset, event.stamped, record.id, kNoEpoch, Says::leads};
}

// Which log a partition is in follows from the settings. A mere claim does not change them: its
// writer will be refused; but once all have stopped, others may start.
void LogAudit::follow_settings(const Record& record, const Mark& at) {
  const Settings* readable = readable_settings(record);
  if (readable == nullptr) return;
  const Settings& now = *readable;
  if (!settings_) settings_ = now;
  if (record.type == RecordType::renewal && record.leading.empty()) return;
  if (record.type == RecordType::release) return;
  const bool moved = now.logs != settings_->logs || now.partitions != settings_->partitions;
  if (moved || now.slots != settings_->slots) {
    settings_ = now;
    forget(FindingKind::settings, at);
    start_ = at.offset;
    first_stamp_ = at.stamped;
  }
  settings_->mode = now.mode;
}

// Before any settings were read, it is not known which partitions are meant.
LogPlace LogAudit::place() const {
  if (!settings_ || log_.value() >= settings_->logs) return {log_, 1, 0};
  return {log_, settings_->logs, std::min(settings_->partitions, kPartitionCountMax)};
}

WriterAudit& LogAudit::writer_of(const Record& record) {
  WriterAudit& writer = writers_[record.id];
  if (!record.process.name.empty()) writer.name = record.process.name;
  return writer;
}

// Below the start only a renewal or release tells of a claim. It may be of a former topic, with
// another claim at that offset, so its word proves nothing against who names a different epoch.
EpochAudit* LogAudit::find(PartitionAudit& audit, const Epoch& named) const {
  for (auto it = audit.epochs.rbegin(); it != audit.epochs.rend(); ++it) {
    if (it->epoch.offset < named.offset) break;
    if (it->epoch.offset > named.offset) continue;
    if (named.offset >= start_ || it->epoch == named) return &*it;
  }
  return nullptr;
}

EpochAudit& LogAudit::insert(PartitionAudit& audit, const Epoch& epoch, ProcessId id) const {
  const auto behind = std::find_if(
      audit.epochs.begin(), audit.epochs.end(),
      [&](const EpochAudit& known) { return known.epoch.offset > epoch.offset; });
  EpochAudit added;
  added.epoch = epoch;
  added.id = id;
  // What its records below the start may have extended it to.
  if (epoch.offset < start_) added.until = added.renewed_until = horizon();
  if (behind != audit.epochs.end()) {
    // Claims that were read, the earliest first, follow those before the start.
    const auto claim = std::find_if(behind, audit.epochs.end(),
                                    [](const EpochAudit& known) { return known.claim_seen; });
    if (claim != audit.epochs.end()) {
      added.superseded_at = claim->epoch.offset;
      added.superseded_by = claim->id;
    }
  }
  return *audit.epochs.insert(behind, std::move(added));
}

void LogAudit::on_claim(const Received& event, const Record& record) {
  writer_of(record);
  const Epoch epoch = claim_epoch(record, event.stamped, event.offset);
  const Mark at{event.offset, event.stamped, record.id, epoch, Says::claims};
  for_each_claimed(record, place(), [&](Partition partition) {
    PartitionAudit& audit = partitions_[partition];
    judge_gap(audit, partition, at);
    for (auto it = audit.epochs.rbegin(); it != audit.epochs.rend(); ++it) {
      if (it->superseded_at >= 0) continue;
      it->superseded_at = event.offset;
      it->superseded_by = record.id;
    }
    EpochAudit& made = insert(audit, epoch, record.id);
    made.claim_seen = made.newest_at_start = true;
    made.claimed = event.stamped;
    if (const Settings* settings = readable_settings(record)) {
      made.exclusive = is_exclusive(*settings);
    }
    made.last_valid = at;
    made.until = made.renewed_until = event.stamped + record.lease.value_or(kLeaseMax);
    if (record.lease) made.stands_until = made.until;
    if (!record.lease) made.unreadable_lease = event.stamped;
    cover(audit, made.until, at);
  });
}

// A process names an own epoch once it has read its claim, and so every record before it.
void LogAudit::prove_reading(const Record& record, WriterAudit& writer) {
  // A date from the future is not believed, as everywhere.
  if (record.since && BrokerTime{milliseconds{*record.since}} <= last_stamp_) {
    writer.written = std::max(writer.written, BrokerTime{milliseconds{*record.since}});
  }
  for (const EpochParts& named : record.epochs) {
    if (named.claim_offset <= writer.read || named.claim_offset < start_) continue;
    named.parts.for_each(place(), [&](Partition partition) {
      const auto audit = partitions_.find(partition);
      if (audit == partitions_.end()) return;
      const EpochAudit* epoch = find(audit->second, epoch_of(record, named));
      const bool own = epoch != nullptr && epoch->claim_seen && epoch->id == record.id &&
                       epoch->epoch == epoch_of(record, named);
      if (!own) return;
      writer.read = named.claim_offset;
      writer.written = std::max(writer.written, epoch->claimed);
    });
  }
}

void LogAudit::on_renewal(const Received& event, const Record& record) {
  WriterAudit& writer = writer_of(record);
  Statement said{record, writer, {event.offset, event.stamped, record.id}};
  said.in_order = !writer.last_seq || record.seq > *writer.last_seq;
  if (said.in_order) {
    writer.last_seq = record.seq;
    prove_reading(record, writer);
  }
  for_each_named(record, place(), [&](Partition partition, const Epoch& named) {
    said.at.epoch = named;
    // Another version may say it otherwise.
    const bool readable = record.version == kRecordVersion;
    said.says = readable && record.leading.contains(partition, settings_->logs) ? Says::leads
                : readable && record.draining.contains(partition, settings_->logs) ? Says::drains
                                                                  : Says::looks;
    said.at.says = said.says;
    PartitionAudit& audit = partitions_[partition];
    EpochAudit* epoch = find(audit, named);
    const bool own = epoch != nullptr && epoch->id == record.id && epoch->epoch == named;
    if (own || (epoch == nullptr && named.offset < start_)) {
      if (epoch == nullptr) epoch = &insert(audit, named, record.id);
      return renew(audit, partition, *epoch, said);
    }
    false_epoch(audit, partition, epoch, said);
  });
}

void LogAudit::renew(PartitionAudit& audit, Partition partition, EpochAudit& epoch,
                     Statement& said) {
  const Record& record = said.record;
  const BrokerTime until = said.at.stamped + record.lease.value_or(kLeaseMax);
  if (const Settings* settings = readable_settings(record)) {
    epoch.exclusive = is_exclusive(*settings);
  }
  const bool valid = epoch.superseded_at < 0;
  if (!epoch.released && (valid || !epoch.exclusive.value_or(false))) {
    served_stale(audit, partition, epoch, said) ? note_stale(audit, partition, said)
                                                : judge_gap(audit, partition, said.at);
    cover(audit, until, said.at);
  }
  if (valid) {
    epoch.last_valid = said.at;
    epoch.until = std::max(epoch.until, until);
    if (record.lease) epoch.stands_until = std::max(epoch.stands_until, until);
    if (!record.lease) epoch.unreadable_lease = said.at.stamped;
  }
  epoch.renewed_until = std::max(epoch.renewed_until, until);
  if (!said.in_order) return;
  BrokerTime& sixth_before = epoch.recent[epoch.renewals % epoch.recent.size()];
  const bool full = epoch.renewals++ >= epoch.recent.size();
  if (full && said.leads()) said.writer.written = std::max(said.writer.written, sixth_before);
  sixth_before = said.at.stamped;
  said.read = said.writer.read;
  said.written = said.writer.written;
  if (epoch.released && record.seq > epoch.release_seq && !epoch.resumed_told) {
    epoch.resumed_told = true;
    add(FindingKind::resumed, true, partition, {evidence(*epoch.released), evidence(said.at)});
  }
  if (!said.leads()) return;
  // A newer claim before the start would have ended its lease by then.
  if (valid && timed_ && epoch.exclusive.value_or(false) &&
      said.written > horizon() + margin()) {
    epoch.newest_at_start = true;
  }
  if (!epoch.led) {
    epoch.led = said.at;
    ++totals_.ownerships;
    judge_first(audit, partition, epoch, said);
  }
  judge_late(audit, partition, epoch, said);
}

void LogAudit::on_release(const Received& event, const Record& record) {
  WriterAudit& writer = writer_of(record);
  if (!writer.last_seq || record.seq > *writer.last_seq) writer.last_seq = record.seq;
  for_each_named(record, place(), [&](Partition partition, const Epoch& released) {
    const Mark at{event.offset, event.stamped, record.id, released, Says::releases};
    PartitionAudit& audit = partitions_[partition];
    EpochAudit* epoch = find(audit, released);
    if (epoch == nullptr && released.offset < start_) {
      epoch = &insert(audit, released, record.id);
    }
    // It counts only from the epoch's own id.
    if (epoch == nullptr || epoch->id != record.id || epoch->epoch != released) return;
    if (epoch->released) return;
    epoch->released = at;
    epoch->release_seq = record.seq;
    vacate(audit, at);
  });
}

void LogAudit::cover(PartitionAudit& audit, BrokerTime until, const Mark& by) {
  audit.vacated_at = -1;
  if (audit.covered_until && *audit.covered_until >= until) return;
  audit.covered_until = until;
  audit.covered_by = by;
}

bool LogAudit::is_over(const EpochAudit& epoch, BrokerTime at) const {
  if (epoch.released) return true;
  const BrokerTime until = epoch.exclusive.value_or(false) ? epoch.until : epoch.renewed_until;
  return timed_ && until + margin() < at;
}

// Whether no process may lead after this release, including those with records before the start.
void LogAudit::vacate(PartitionAudit& audit, const Mark& release) {
  const bool nobody_below = start_ == 0 || (timed_ && horizon() + margin() < release.stamped);
  const bool all_over =
      std::all_of(audit.epochs.begin(), audit.epochs.end(), [&](const EpochAudit& epoch) {
        return is_over(epoch, release.stamped);
      });
  if (!nobody_below || !all_over) return;
  audit.vacated_at = release.offset;
  audit.covered_until = release.stamped;
  audit.covered_by = release;
}

// What was known does not apply to what follows.
void LogAudit::forget(FindingKind why, const Mark& at) {
  partitions_.clear();
  writers_.clear();
  start_ = -1;
  alive_ = Mark{};
  Finding finding;
  finding.kind = why;
  finding.certain = false;
  finding.log = log_;
  finding.evidence = {evidence(at)};
  pending_.push_back(std::move(finding));
}

void LogAudit::finish() {
  place().for_each([&](Partition partition) {
    judge_gap(partitions_[partition], partition, std::nullopt);
  });
  flush();
}

}  // namespace neliroute
