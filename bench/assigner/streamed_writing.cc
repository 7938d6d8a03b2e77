// StreamedMembers: what they write.
#include <algorithm>
#include <utility>

#include "bench/assigner/streamed_members.h"

namespace neliroute::scale {

// Renewals, claims and releases of a member leave together, as those of one turn do. One renewal at
// a time is on its way to a log; what changes meanwhile is said by the next one.
void StreamedMembers::write_all(MemoryLogs& logs, LocalTime now) {
  std::vector<std::uint32_t> later_ones;
  for (const std::uint32_t index : std::exchange(touched_, {})) {
    Streamed& member = members_[index];
    member.touched = false;
    if (!member.alive) continue;
    for (std::uint32_t l = 0; l < lane_.logs; ++l) {
      InLog& in = member.logs[l];
      write_claims(logs, member, Log{l}, now);
      if (in.changed && now >= in.answered) write_renewal(logs, index, Log{l}, now);
      write_releases(logs, member, Log{l}, now);
      if (in.changed && !std::exchange(member.touched, true)) later_ones.push_back(index);
    }
  }
  touched_.insert(touched_.end(), later_ones.begin(), later_ones.end());
}

Record StreamedMembers::header(const Streamed& member, RecordType type, Log log) const {
  const LogRead& read = logs_[log.value()];
  Record record = member.core.header(type, lane_.lease, read.greatest_incarnation, member.since);
  record.read_until = read.last;
  if (type != RecordType::renewal || log != Log{0}) return record;
  record.member.emplace();
  record.member->session = lane_.session;
  if (seat_by_ != kNobody) {
    record.member->seat = seat_;
    record.member->seat_by = seat_by_;
  }
  record.member->upto = logs_[0].next;
  record.member->reads = true;
  record.member->lag = milliseconds{0};
  return record;
}

// Only what it is still named for.
void StreamedMembers::write_claims(MemoryLogs& logs, Streamed& member, Log log, LocalTime now) {
  std::vector<Partition> due = std::exchange(member.logs[log.value()].claims, {});
  std::erase_if(
      due, [&](Partition partition) { return designees_[partition.value()] != member.core.id; });
  std::sort(due.begin(), due.end());
  due.erase(std::unique(due.begin(), due.end()), due.end());
  for (const PackedRecord& record :
       claim_records(header(member, RecordType::claim, log), due, lane_.logs, member.next_seq)) {
    logs.append(log, record.value, now);
  }
}

void StreamedMembers::write_renewal(MemoryLogs& logs, std::uint32_t index, Log log, LocalTime now) {
  Streamed& member = members_[index];
  InLog& in = member.logs[log.value()];
  std::vector<NamedEpoch> named;
  for (const Partition partition : in.held) {
    for (const Holding& holding : holdings_[partition.value()]) {
      if (holding.member != index) continue;
      named.push_back({partition, holding.epoch, !holding.draining, holding.draining});
    }
  }
  const Record head = header(member, RecordType::renewal, log);
  auto records = epoch_records(head, named, lane_.logs, member.next_seq);
  if (records.empty() && log == Log{0}) {
    Record alone = head;
    alone.seq = member.next_seq++;
    records.push_back({alone.seq, encode_record(alone), {}});
  }
  for (const PackedRecord& record : records) logs.append(log, record.value, now);
  in.changed = false;
  in.answered = now + logs.delay();
}

void StreamedMembers::write_releases(MemoryLogs& logs, Streamed& member, Log log, LocalTime now) {
  const std::vector<NamedEpoch> named = std::exchange(member.logs[log.value()].releases, {});
  for (const PackedRecord& record : epoch_records(header(member, RecordType::release, log), named,
                                                  lane_.logs, member.next_seq)) {
    logs.append(log, record.value, now);
  }
}

}  // namespace neliroute::scale
