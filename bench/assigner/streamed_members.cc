// StreamedMembers: what they read, and what follows from it.
#include "bench/assigner/streamed_members.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "neli_core/record/judgement.h"

namespace neliroute::scale {

StreamedMembers::StreamedMembers(const LaneOptions& lane)
    : lane_(lane),
      beats_(static_cast<std::size_t>(lane.interval.count())),
      logs_(lane.logs),
      designees_(lane.partitions, kNobody),
      holdings_(lane.partitions) {}

void StreamedMembers::add(std::uint32_t number, ProcessId id, LocalTime first) {
  const auto index = static_cast<std::uint32_t>(members_.size());
  Streamed& member = members_.emplace_back();
  member.core = core_options(lane_, number, id);
  member.core.settings.variation = kAssignedVariation;
  member.core.settings.mode = to_string(member.core.mode);
  member.logs.resize(lane_.logs);
  index_.emplace(id, index);
  ++living_;
  const auto at = std::chrono::duration_cast<milliseconds>(first.time_since_epoch());
  beats_[static_cast<std::size_t>(at.count() % lane_.interval.count())].emplace_back(index, first);
}

void StreamedMembers::die(std::uint32_t index) {
  Streamed& member = members_[index];
  member.alive = false;
  --living_;
  for (const InLog& log : member.logs) {
    for (const Partition partition : std::set(log.held)) drop(partition, index);
  }
}

bool StreamedMembers::is_led(Partition partition) const noexcept {
  return !holdings_[partition.value()].empty();
}

void StreamedMembers::turn(MemoryLogs& logs, LocalTime now) {
  for (std::uint32_t l = 0; l < lane_.logs; ++l) {
    logs.read(Log{l}, logs_[l].next, now, [this](const Received& event) { read(event); });
  }
  const auto at = std::chrono::duration_cast<milliseconds>(now.time_since_epoch());
  for (const auto& [index, first] :
       beats_[static_cast<std::size_t>(at.count() % lane_.interval.count())]) {
    if (now < first || !members_[index].alive) continue;
    for (std::uint32_t l = 0; l < lane_.logs; ++l) {
      InLog& in = members_[index].logs[l];
      if (l == 0 || !in.held.empty()) write_renewal(logs, index, Log{l}, now);
    }
  }
  write_all(logs, now);
}

void StreamedMembers::read(const Received& event) {
  logs_[event.log.value()].last = event.stamped;
  if (const auto* record = std::get_if<Record>(event.value)) {
    read(event, *record);
  } else if (const auto* assignment = std::get_if<AssignmentRecord>(event.value)) {
    read(event, *assignment);
  }
}

void StreamedMembers::read(const Received& event, const Record& record) {
  LogRead& log = logs_[event.log.value()];
  log.greatest_incarnation = std::max(
      log.greatest_incarnation,
      incarnation_told(record, judge(record, event.stamped, Lane{}), event.stamped, event.offset));
  const auto own = index_of(record.id);
  // A greeting makes nobody senior.
  const bool greeting = record.type == RecordType::renewal && record.epochs.empty();
  if (own && !greeting && !members_[*own].since) {
    members_[*own].since = event.stamped.time_since_epoch().count();
  }
  if (record.type == RecordType::claim) {
    read_claim(event, record, own);
  } else if (record.type == RecordType::renewal && draining_ > 0) {
    read_renewal(event, record);
  }
}

// Rules 2 and 4: it ends every earlier epoch. In non-exclusive mode whoever led drains, and the
// claimant leads at once, and says so.
void StreamedMembers::read_claim(const Received& event, const Record& claim,
                                 std::optional<std::uint32_t> own) {
  const Epoch epoch = claim_epoch(claim, event.stamped, event.offset);
  for_each_claimed(claim, place(event.log), [&](Partition partition) {
    for (Holding& holding : holdings_[partition.value()]) {
      if (holding.member != own) drain(partition, holding);
    }
    if (!own || !members_[*own].alive) return;
    InLog& in = members_[*own].logs[event.log.value()];
    touch(*own);
    if (designees_[partition.value()] != claim.id) {
      in.releases.push_back({partition, epoch});
      return;
    }
    drop(partition, *own);
    holdings_[partition.value()].push_back({*own, epoch, false});
    in.held.insert(partition);
    in.changed = true;
  });
}

// Rule 4: whoever drains goes on until a newer epoch is led.
void StreamedMembers::read_renewal(const Received& event, const Record& renewal) {
  for_each_named(renewal, place(event.log), [&](Partition partition, const Epoch& epoch) {
    if (!renewal.leading.contains(partition, lane_.logs)) return;
    const std::vector<Holding> holdings = holdings_[partition.value()];
    for (const Holding& holding : holdings) {
      if (!holding.draining || epoch <= holding.epoch) continue;
      Streamed& member = members_[holding.member];
      member.logs[event.log.value()].releases.push_back({partition, holding.epoch});
      touch(holding.member);
      drop(partition, holding.member);
    }
  });
}

void StreamedMembers::read(const Received& event, const AssignmentRecord& record) {
  if (event.log != Log{0}) return;
  if (record.type == AssignmentType::seat_claim) {
    seat_by_ = record.id;
    seat_ = seat_at(event.stamped, event.offset);
  }
  const bool valid =
      record.type == AssignmentType::assign && record.id == seat_by_ && record.seat == seat_;
  if (!valid) return;
  for (const Designation& designation : record.designations) {
    designation.partitions.for_each(lane_.partitions, [&](Partition partition) {
      if (designees_[partition.value()] != designation.to) designate(partition, designation.to);
    });
  }
}

// Rule A4: the designee claims, whoever else holds the partition drains.
void StreamedMembers::designate(Partition partition, ProcessId to) {
  designees_[partition.value()] = to;
  const auto named = index_of(to);
  for (Holding& holding : holdings_[partition.value()]) {
    if (holding.member != named) drain(partition, holding);
  }
  if (!named || !members_[*named].alive) return;
  members_[*named].logs[log_of(partition, lane_.logs).value()].claims.push_back(partition);
  touch(*named);
}

void StreamedMembers::drain(Partition partition, Holding& holding) {
  if (std::exchange(holding.draining, true)) return;
  ++draining_;
  members_[holding.member].logs[log_of(partition, lane_.logs).value()].changed = true;
  touch(holding.member);
}

void StreamedMembers::drop(Partition partition, std::uint32_t member) {
  std::vector<Holding>& holdings = holdings_[partition.value()];
  const auto at = std::find_if(holdings.begin(), holdings.end(), [member](const Holding& holding) {
    return holding.member == member;
  });
  if (at == holdings.end()) return;
  if (at->draining) --draining_;
  holdings.erase(at);
  members_[member].logs[log_of(partition, lane_.logs).value()].held.erase(partition);
}

void StreamedMembers::touch(std::uint32_t member) {
  if (std::exchange(members_[member].touched, true)) return;
  touched_.push_back(member);
}

std::optional<std::uint32_t> StreamedMembers::index_of(ProcessId id) const {
  const auto at = index_.find(id);
  return at == index_.end() ? std::nullopt : std::optional(at->second);
}

}  // namespace neliroute::scale
