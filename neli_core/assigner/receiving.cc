// AssignedCore: what the records that were read say of members, seat and designations (A1 to A4).
#include <utility>
#include <variant>

#include "neli_core/assigner/assigned_core.h"
#include "neli_core/mutation.h"

namespace neliroute {

void AssignedCore::receive(const Received& event) {
  // A record that was read before, after a restart of the tail, says nothing new.
  const LogProgress& progress = claims_.progress(event.log);
  const bool fresh = progress.started && event.offset >= progress.next;
  const auto* record = std::get_if<Record>(event.value);
  reading_.answered(event.log, now_);
  if (fresh && record != nullptr && record->id == core().id) note_own(event, *record);
  const bool was_caught_up = progress.caught_up();
  claims_.step(event, now_);
  if (!fresh) return;
  note_progress(event.log, was_caught_up);
  if (event.log == Log{0}) known_.note_read(now_);
  const Epoch seat = known_.seat.epoch();
  if (record != nullptr) {
    const bool history = progress.is_history(event.offset);
    const bool heeded = known_.read(event, *record, history, now_);
    if (known_.seat.epoch() != seat) claims_.assigner_begins();
    if (heeded && !history) note_record(event, *record);
  } else if (const auto* assignment = std::get_if<AssignmentRecord>(event.value)) {
    on_assignment(event, *assignment);
    if (known_.seat.epoch() != seat) claims_.assigner_begins();
  }
  if (event.log == Log{0}) note_passed(event);
}

void AssignedCore::note_passed(const Received& event) {
  known_.note_passed(event.offset);
  const std::uint64_t gaps = known_.members.flow().gaps(options_.session);
  if (std::exchange(gaps_, gaps) == gaps) return;
  reading_.gap(now_);
  yielding_.forget_lags();
}

void AssignedCore::note_record(const Received& event, const Record& record) {
  const microseconds stamp = known_.sighting(event, false, now_).stamp;
  assigner_.read(record, known_.place(event.log), stamp, now_);
  const bool of_assigner = known_.seat.known() && record.id == known_.seat.holder();
  if (record.member && of_assigner) claims_.assigner_reads(record.member->unread);
  if (!assigner_.active() || !record.member || record.id == core().id) return;
  yielding_.read(record, reading_, known_.members, now_);
}

// Also before the claims protocol reads it. A tail that goes on where it was has missed nothing.
void AssignedCore::note_tail(const TailStarted& event) {
  const LogProgress& progress = claims_.progress(event.log);
  if (progress.goes_on(event)) return;
  assigner_.read_anew(event.log, now_);
  known_.tail_started(event, now_);
}

// Of a log's history nobody's ownership is believed: it is heard from here on.
void AssignedCore::note_progress(Log log, bool was_caught_up) {
  if (!was_caught_up && claims_.progress(log).caught_up()) assigner_.read_anew(log, now_);
}

// Before the claims protocol reads it: that one forgets when it was sent, also of a record that was
// under way for longer than a lease. Who reads so late must not say that it assigns.
void AssignedCore::note_own(const Received& event, const Record& record) {
  auto sent = claims_.sent_at(record.seq);
  if (mutated(Mutation::late_reads_count)) sent = now_;
  reading_.read_back(event.log, sent, now_);
  if (event.log == Log{0} && sent) known_.members.read_back(*sent);
  known_.note_own(event, now_);
}

void AssignedCore::on_assignment(const Received& event, const AssignmentRecord& record) {
  const bool history = claims_.progress(event.log).is_history(event.offset);
  switch (known_.read(event, record, history, now_)) {
    case Assigned::told:
      if (known_.seat.epoch() == seat_at(event.stamped, event.offset)) yielded_ = kLongAgo;
      return;
    case Assigned::too_much:
      return note_ignored(record.override);
    case Assigned::refused:
      ++counters_.assignments_refused;
      break;
    case Assigned::valid:
      if (record.type == AssignmentType::assign) obey(record, history);
      if (record.yields_to == core().id && !history) yielded_ = now_;
      break;
  }
  if (record.id == core().id && record.seq == last_assign_) assigner_.settled();
}

void AssignedCore::note_ignored(const Override& override) {
  if (!assigner_.active()) return;
  ready_.notices.push_back(
      {Severity::warning, std::string("an operator's override (") + to_string(override.verb) +
                              ") is ignored: the list of overrides would be longer than a record; "
                              "pin longer ranges, or withdraw other overrides"});
}

// Taken before given: a partition is in one of the two only. Of a history, which a restarted tail
// reads again, only the outcome counts: what it names on the way would be claimed from others.
void AssignedCore::obey(const AssignmentRecord& assign, bool history) {
  ++counters_.assignments_obeyed;
  const Designations::Change change = known_.designations.read(assign, core().id, now_);
  if (history) {
    behind_ = true;
    return;
  }
  take(change.taken);
  give(change.given);
  for (const Designation& designation : assign.designations) {
    if (designation.to != core().id) claims_.named_for_others(designation.partitions);
  }
}

void AssignedCore::catch_up() {
  if (!behind_ || !claims_.progress(Log{0}).caught_up()) return;
  behind_ = false;
  std::vector<Partition> given;
  std::vector<Partition> taken;
  for (std::uint32_t p = 0; p < known_.designations.count(); ++p) {
    const bool named = known_.designations.at(Partition{p}).id == core().id;
    if (named != given_[p]) (named ? given : taken).push_back(Partition{p});
  }
  take(PartitionRanges::of(taken));
  claims_.named_for_others(PartitionRanges::of(taken));
  give(PartitionRanges::of(given));
}

void AssignedCore::give(const PartitionRanges& partitions) {
  if (partitions.empty()) return;
  partitions.for_each(known_.designations.count(),
                      [this](Partition p) { given_[p.value()] = true; });
  claims_.step(GroupAssigned{partitions}, now_);
}

void AssignedCore::take(const PartitionRanges& partitions) {
  if (partitions.empty()) return;
  partitions.for_each(known_.designations.count(),
                      [this](Partition p) { given_[p.value()] = false; });
  if (mutated(Mutation::never_revoked)) return;
  claims_.step(GroupRevoked{partitions, false}, now_);
}

}  // namespace neliroute
