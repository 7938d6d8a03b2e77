#include "neli_core/assigner/lane_records.h"

namespace neliroute {

void read_member_record(const Record& record, bool same, bool history, LocalTime now,
                        Members& members, Seat& seat) {
  if (record.type != RecordType::renewal || !record.member) {
    if (!history) members.heard(record.id, now);
    return;
  }
  if (!same) return;
  members.read(record, history, now);
  seat.renewed(record, now);
}

Said read_assignment_record(const Received& event, const AssignmentRecord& record, bool history,
                            LocalTime now, Members& members, Seat& seat) {
  if (!history) members.heard(record.id, now);
  switch (record.type) {
    case AssignmentType::seat_claim:
      seat.claimed(record.id, seat_at(event.stamped, event.offset), now);
      break;
    case AssignmentType::leave:
      members.leave(record.id, now);
      break;
    case AssignmentType::assign:
      return seat.is_valid(record) ? Said::assignment : Said::refused_assignment;
  }
  return Said::nothing_of_partitions;
}

}  // namespace neliroute
