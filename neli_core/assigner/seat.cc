#include "neli_core/assigner/seat.h"

#include "neli_core/mutation.h"

namespace neliroute {

void Seat::tail_started(const TailStarted& event, LocalTime now) {
  start_ = event.start;
  started_ = true;
  heard_ = now;
  // Nothing lies before the first record of all. Otherwise a claim may.
  if (event.start == 0) {
    known_ = true;
    holder_ = kNobody;
    seat_ = kNoEpoch;
  } else {
    known_ = false;
  }
}

void Seat::excuse(microseconds stretch) noexcept {
  if (heard_ != kLongAgo) heard_ = later(heard_, stretch);
}

void Seat::claimed(ProcessId id, const Epoch& seat, LocalTime now) {
  known_ = true;
  if (holder_ != id) predecessor_ = holder_;
  holder_ = id;
  seat_ = seat;
  heard_ = now;
  vacant_since_ = kNever;
}

// Who has read on from before this reader's start knows each claim that this reader cannot know.
// And who has read past the claim that is known here, and names a newer one, has read one that the
// log lost since: the newest that anybody knows holds for all, or two would assign for ever.
void Seat::renewed(const Record& record, LocalTime now) {
  const MemberFields& member = *record.member;
  const bool reached = member.upto >= start_ || mutated(Mutation::believes_early_renewals);
  const bool unknown = !known_ && reached;
  const bool lost = known_ && member.upto > seat_.offset && member.seat > seat_;
  if (member.seat && (unknown || lost)) claimed(member.seat_by, *member.seat, now);
  if (known_ && record.id == holder_ && member.assigning && member.seat == seat_) heard_ = now;
}

bool Seat::is_valid(const AssignmentRecord& assign) const noexcept {
  if (mutated(Mutation::stale_assignments)) return true;
  return known_ && assign.id == holder_ && assign.seat == seat_;
}

bool Seat::is_vacant(const Members& members, LocalTime now) const {
  if (!started_ || members.blind(now)) return false;
  if (mutated(Mutation::seat_kept) && known_ && holder_ != kNobody) return false;
  // After a lease of reading, whoever knew of a holder would have said so.
  if (!known_) return now >= heard_until();
  if (holder_ == kNobody || !members.lives(holder_)) return true;
  if (mutated(Mutation::seat_never_lapses)) return false;
  return now >= heard_until();
}

void Seat::look(const Members& members, LocalTime now) {
  if (!is_vacant(members, now)) {
    vacant_since_ = kNever;
  } else if (vacant_since_ == kNever) {
    vacant_since_ = now;
  }
}

LocalTime Seat::claim_at(std::size_t rank) const noexcept {
  if (mutated(Mutation::ranks_ignored)) rank = 0;
  return vacant_since_ == kNever ? kNever : later(vacant_since_, rank * options_.interval);
}

LocalTime Seat::next_deadline() const noexcept {
  return started_ && vacant_since_ == kNever ? heard_until() : kNever;
}

}  // namespace neliroute
