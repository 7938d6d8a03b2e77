// LogAudit: what the rules allow. audit.h has the arguments for what is certain.
#include <algorithm>
#include <utility>

#include "audit/audit_log.h"
#include "audit/audit_statement.h"
#include "neli_core/options.h"

namespace neliroute {

// The first record of an epoch that says it is led.
void LogAudit::judge_first(PartitionAudit& audit, Partition partition, EpochAudit& epoch,
                           const Statement& said) {
  audit.led = true;
  // Claimed after a greater epoch that was led, as its claim's place or that record's shows.
  const bool later = epoch.claim_seen &&
                     ((audit.greatest_claim_seen && audit.greatest.offset < epoch.epoch.offset) ||
                      audit.greatest_led.offset < epoch.epoch.offset);
  if (epoch.epoch < audit.greatest && later) {
    add(FindingKind::epoch_fell, true, partition,
        {evidence(audit.greatest_led), evidence(said.at)});
  }
  if (epoch.epoch > audit.greatest) {
    audit.greatest = epoch.epoch;
    audit.greatest_led = said.at;
    audit.greatest_claim_seen = epoch.claim_seen;
  }
  if (epoch.exclusive.value_or(false)) judge_early(audit, partition, epoch, said);
}

// Rule 6: every older epoch of another id is released, or its lease had ended when this was
// appended, which is later than when it was written.
void LogAudit::judge_early(const PartitionAudit& audit, Partition partition,
                           const EpochAudit& epoch, const Statement& said) {
  if (!timed_ || !epoch.claim_seen) return;
  for (const EpochAudit& older : audit.epochs) {
    if (older.epoch.offset >= epoch.epoch.offset) break;
    if (older.id == epoch.id || older.released || !older.newest_at_start) continue;
    BrokerTime over = older.stands_until;
    if (older.unreadable_lease && said.record.lease) {
      over = std::max(over, *older.unreadable_lease + *said.record.lease);
    }
    if (said.at.stamped + margin() >= over) continue;
    add(FindingKind::early_leader, true, partition,
        {evidence(older.last_valid), evidence(said.at)}, over - said.at.stamped - margin());
  }
}

// Rules 4 and 5, exclusive mode: a process that has read a claim after its own stops; one whose
// lease has ended has stopped.
void LogAudit::judge_late(const PartitionAudit& audit, Partition partition, EpochAudit& epoch,
                          const Statement& said) {
  if (!epoch.exclusive.value_or(false) || epoch.superseded_at < 0) return;
  for (auto newer = audit.epochs.rbegin(); newer != audit.epochs.rend(); ++newer) {
    if (newer->epoch.offset <= epoch.epoch.offset) break;
    if (!newer->led || newer->id == epoch.id) continue;
    const Mark& led = *newer->led;
    const bool certain =
        said.read > led.offset || (timed_ && said.written > led.stamped + margin());
    std::int64_t& told = certain ? epoch.overlap_told : epoch.overlap_noted;
    if (std::exchange(told, std::max(told, newer->epoch.offset)) >= newer->epoch.offset) continue;
    add(FindingKind::overlap, certain, partition,
        {evidence(epoch.last_valid), evidence(led), evidence(said.at)});
  }
  const bool read_it = epoch.superseded_by != epoch.id && said.read > epoch.superseded_at;
  const bool outlived = timed_ && said.written > epoch.until + margin();
  if (!read_it && !outlived) return;
  if (epoch.overstay_told || epoch.overlap_told >= 0) return;
  epoch.overstay_told = true;
  std::optional<milliseconds> by;
  if (outlived) by = said.written - epoch.until - margin();
  add(FindingKind::overstay, true, partition, {evidence(epoch.last_valid), evidence(said.at)}, by);
}

// Between the end of every lease, or the release that left nobody, and `until`, nobody was entitled
// to lead. In exclusive mode that is part of every move; in non-exclusive mode it is not, if a
// process lived that could have taken over.
void LogAudit::judge_gap(PartitionAudit& audit, Partition partition,
                         const std::optional<Mark>& until) {
  const bool vacated = audit.vacated_at >= 0 && audit.led;
  const BrokerTime from = audit.covered_until.value_or(horizon());
  const BrokerTime to = until ? until->stamped : last_stamp_;
  // A process that has not led yet may still be on the way; a lease is more than that takes.
  const milliseconds allowance = audit.led ? milliseconds{0} : lease_bound_;
  if (!vacated && (!timed_ || to <= from + margin() + allowance)) return;
  const bool watched = vacated ? alive_.offset > audit.vacated_at
                               : timed_ && alive_.stamped > from + margin();
  if (!until && !watched) return;  // all have left, as the log shows
  std::optional<milliseconds> lasted;
  if (timed_) lasted = std::max(milliseconds{0}, to - from - margin());
  if (audit.led) {
    ++totals_.gaps;
    totals_.longest_gap = std::max(totals_.longest_gap, lasted.value_or(milliseconds{0}));
  }
  const bool exclusive = !settings_ || settings_->mode == to_string(Mode::exclusive);
  if (exclusive || (!audit.led && !watched)) return;
  std::vector<Evidence> shown;
  if (audit.covered_until) shown.push_back(evidence(audit.covered_by));
  if (watched) shown.push_back(evidence(alive_));
  if (until) shown.push_back(evidence(*until));
  add(FindingKind::gap, watched, partition, std::move(shown), lasted);
}

// By its owner's word: it names the epoch as stale, or leads on within the time for which it says
// that it serves on. That may be the first record of an epoch: who leads by its claim alone writes
// the next one in the silence, and who has read its claim too late does not say that it leads.
bool LogAudit::served_stale(const PartitionAudit& audit, Partition partition,
                            const EpochAudit& epoch, const Statement& said) const {
  const bool serves = said.leads() && !epoch.exclusive.value_or(false);
  if (!serves || !timed_ || !audit.covered_until || audit.vacated_at >= 0) return false;
  if (said.at.stamped <= *audit.covered_until + margin()) return false;
  if (said.record.stale.contains(partition, settings_->logs)) return true;
  return said.at.stamped <= epoch.renewed_until + said.record.serve_stale;
}

void LogAudit::note_stale(const PartitionAudit& audit, Partition partition,
                          const Statement& said) {
  const milliseconds lasted = said.at.stamped - *audit.covered_until - margin();
  ++totals_.served_stale;
  totals_.longest_stale = std::max(totals_.longest_stale, lasted);
  add(FindingKind::served_stale, false, partition,
      {evidence(audit.covered_by), evidence(said.at)}, lasted);
}

// An epoch that is not in this log, or is another process's. Left over from a topic that was
// recreated, unless its writer has shown that it knows this one, or both say that they lead it.
void LogAudit::false_epoch(PartitionAudit& audit, Partition partition, const EpochAudit* other,
                           const Statement& said) {
  cover(audit, said.at.stamped + said.record.lease.value_or(kLeaseMax), said.at);
  if (!said.in_order) return;
  if (said.leads() && said.at.epoch > audit.greatest) {
    audit.led = true;
    audit.greatest = said.at.epoch;
    audit.greatest_led = said.at;
    audit.greatest_claim_seen = false;
  }
  if (!said.writer.false_epochs_told.insert(said.at.epoch.offset).second) {
    const bool same = !pending_.empty() && pending_.back().kind == FindingKind::false_epoch &&
                      pending_.back().evidence.back().epoch == said.at.epoch;
    if (!same) return;
  }
  const bool stolen = other != nullptr && other->epoch == said.at.epoch && other->claim_seen;
  const bool shared = stolen && other->led && said.leads();
  std::vector<Evidence> shown;
  if (shared) shown.push_back(evidence(*other->led));
  if (stolen && !shared) {
    shown.push_back(
        evidence({other->epoch.offset, other->claimed, other->id, other->epoch, Says::claims}));
  }
  shown.push_back(evidence(said.at));
  add(FindingKind::false_epoch, shared || said.writer.read >= 0, partition, std::move(shown));
}

Evidence LogAudit::evidence(const Mark& mark) const {
  const auto writer = writers_.find(mark.id);
  return {mark.offset, mark.stamped, mark.id,
          writer == writers_.end() ? std::string{} : writer->second.name, mark.epoch, mark.says};
}

void LogAudit::add(FindingKind kind, bool certain, Partition partition,
                   std::vector<Evidence> shown, std::optional<milliseconds> at_least) {
  for (Finding& finding : pending_) {
    // The same records tell the same story once, for all their partitions.
    if (finding.kind != kind || finding.certain != certain || finding.evidence != shown) continue;
    finding.partitions.insert(partition);
    if (at_least) finding.at_least = std::min(finding.at_least.value_or(*at_least), *at_least);
    return;
  }
  Finding finding;
  finding.kind = kind;
  finding.certain = certain;
  finding.log = log_;
  finding.partitions.insert(partition);
  finding.evidence = std::move(shown);
  finding.at_least = at_least;
  pending_.push_back(std::move(finding));
}

void LogAudit::flush() {
  for (const Finding& finding : std::exchange(pending_, {})) {
    ++(finding.certain ? totals_.findings : totals_.notes);
    if (sink_) sink_(finding);
  }
}

}  // namespace neliroute
