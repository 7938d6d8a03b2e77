#include "neli_core/assigner/known_lane.h"

#include <algorithm>
#include <utility>

#include "neli_core/mutation.h"
#include "neli_core/record/judgement.h"

namespace neliroute {

KnownLane::KnownLane(KnownLaneOptions given)
    : options(std::move(given)),
      own_times(options.logs),
      members({options.own, options.interval, options.believe_broker_time}),
      seat({options.own, options.interval, options.lease}),
      owners(options.partitions),
      designations(options.partitions),
      overrides(options.lease) {}

void KnownLane::tail_started(const TailStarted& event, LocalTime now) {
  owners.forget(place(event.log));
  if (event.log != Log{0}) return;
  members.restarted();
  seat.tail_started(event, members);
  overrides.tail_started(event, now);
  lists_seat = kNoEpoch;
  first_log_read = now;
  const bool whole = event.below != Below::unread || mutated(Mutation::obeys_unread);
  assigns_from = whole ? 0 : event.end;
  if (event.end < upto) upto = 0;  // another log
}

// A reader that waits for a list of overrides waits as much longer as it read nothing.
void KnownLane::note_read(LocalTime now) {
  const LocalTime before = std::exchange(first_log_read, now);
  if (before != kLongAgo && now - before > options.interval * 5 / 2) {
    overrides.excuse(std::min<microseconds>(now - before, options.lease));
  }
}

// Writers' stamps differ, but those of one writer do not: what this process reads late, or in
// bursts, came no later for that.
void KnownLane::note_own(const Received& event, LocalTime now) {
  if (!readable(event.stamped) || mutated(Mutation::silence_by_reader)) return;
  OwnTime& own = own_times[event.log.value()];
  const auto passed = std::max(event.stamped - own.stamp, milliseconds{0});
  own.time = own.time ? *own.time + passed : now.time_since_epoch();
  own.stamp = event.stamped;
}

Sighting KnownLane::sighting(const Received& event, bool history, LocalTime now) const {
  const bool believed = options.believe_broker_time && event.store_stamped &&
                        readable(event.stamped).has_value() &&
                        !mutated(Mutation::silence_by_reader);
  const microseconds stamp = believed ? microseconds{event.stamped.time_since_epoch()}
                                      : own_times[event.log.value()].time.value_or(
                                            now.time_since_epoch());
  return {stamp, now, history, event.offset < upto};
}

// Of a log's history nobody's ownership is believed.
bool KnownLane::read(const Received& event, const Record& record, bool history, LocalTime now) {
  if (judge(record, event.stamped, options.lane) != Judgement::heeded) return false;
  if (!history) {
    owners.read(record, place(event.log), record.lease.value_or(options.lease), now);
  }
  if (event.log != Log{0}) return true;
  const Settings* theirs = readable_settings(record);
  if (record.type != RecordType::renewal || !record.member) {
    members.heard(record.id, sighting(event, history, now));
  } else if (is_of_lane(theirs)) {
    members.read(record, sighting(event, history, now));
    seat.renewed(record, members);
  }
  return true;
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

// A list whose seat is not known here counts, too: processes that start with other settings by
// mistake, and take the seat, must repeat the overrides.
bool KnownLane::counts(const AssignmentRecord& list) const {
  return seat.known() ? seat.is_valid(list) : list.seat >= lists_seat;
}

Assigned KnownLane::read(const Received& event, const AssignmentRecord& record, bool history,
                         LocalTime now) {
  if (event.log != Log{0} || record.lane != options.lane) return Assigned::told;
  const Sighting seen = sighting(event, history, now);
  record.type == AssignmentType::leave ? members.leave(record.id, seen)
                                       : members.heard(record.id, seen);
  switch (record.type) {
    case AssignmentType::leave:
      break;
    case AssignmentType::seat_claim:
      seat.claimed(record, seat_at(event.stamped, event.offset), members);
      break;
    case AssignmentType::override:
      if (overrides.read(event.offset, record.override) == OverrideEffect::too_much) {
        return Assigned::too_much;
      }
      break;
    case AssignmentType::overrides:
      if (!counts(record)) break;
      list_read = now;
      lists_seat = record.seat;
      overrides.read_list(event.offset, record, seat.known());
      break;
    case AssignmentType::assign:
      if (event.offset < assigns_from) break;
      [[fallthrough]];
    case AssignmentType::yield:
      return seat.is_valid(record) ? Assigned::valid : Assigned::refused;
  }
  return Assigned::told;
}

}  // namespace neliroute
