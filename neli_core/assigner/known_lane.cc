#include "neli_core/assigner/known_lane.h"

#include <utility>

#include "neli_core/mutation.h"
#include "neli_core/record/judgement.h"

namespace neliroute {

KnownLane::KnownLane(KnownLaneOptions given)
    : options(std::move(given)),
      members({options.own, options.interval, options.lease}),
      seat({options.own, options.interval, options.lease}),
      owners(options.partitions),
      designations(options.partitions),
      wishes(options.lease) {}

void KnownLane::tail_started(const TailStarted& event, LocalTime now) {
  owners.forget(place(event.log));
  if (event.log != Log{0}) return;
  seat.tail_started(event, now);
  wishes.tail_started(event.start, now);
  lists_seat = kNoEpoch;
  members.restarted(now);
}

void KnownLane::note_read(LocalTime now) {
  const microseconds unread = members.note_read(now);
  seat.excuse(unread);
  wishes.excuse(unread);
}

// Of a log's history nobody's ownership is believed.
void KnownLane::read(const Received& event, const Record& record, bool history, LocalTime now) {
  if (judge(record, event.stamped, options.lane) != Judgement::heeded) return;
  if (!history) {
    owners.read(record, place(event.log), record.lease.value_or(options.lease), now);
  }
  if (event.log != Log{0}) return;
  const Settings* theirs = readable_settings(record);
  if (record.type != RecordType::renewal || !record.member) {
    if (!history) members.heard(record.id, now);
    return;
  }
  if (!is_of_lane(theirs)) return;
  members.read(record, history, now);
  seat.renewed(record, now);
}

bool KnownLane::is_of_lane(const Settings* theirs) const {
  if (theirs == nullptr || !options.settings) return theirs != nullptr;
  Settings lane = *options.settings;
  if (options.own == kNobody) {
    lane.group = theirs->group;
    lane.mode = theirs->mode;
    lane.variation = theirs->variation;
  }
  return *theirs == lane || mutated(Mutation::strangers_are_members);
}

// Whoever tells of no seat that is known here still says what is wished: processes that start with
// other settings by mistake, and take the seat, must repeat it.
bool KnownLane::counts(const AssignmentRecord& list) const {
  return seat.known() ? seat.is_valid(list) : list.seat >= lists_seat;
}

Assigned KnownLane::read(const Received& event, const AssignmentRecord& record, bool history,
                         LocalTime now) {
  if (event.log != Log{0} || record.lane != options.lane) return Assigned::told;
  if (!history) members.heard(record.id, now);
  switch (record.type) {
    case AssignmentType::seat_claim:
      seat.claimed(record.id, seat_at(event.stamped, event.offset), now);
      break;
    case AssignmentType::leave:
      members.leave(record.id, now);
      break;
    case AssignmentType::wish:
      if (wishes.read(event.offset, record.wish) == WishEffect::too_much) return Assigned::too_much;
      break;
    case AssignmentType::wishes:
      if (!counts(record)) break;
      list_read = now;
      lists_seat = record.seat;
      wishes.read_list(event.offset, record, seat.known());
      break;
    case AssignmentType::assign:
      return seat.is_valid(record) ? Assigned::valid : Assigned::refused;
  }
  return Assigned::told;
}

}  // namespace neliroute
