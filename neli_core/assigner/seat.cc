#include "neli_core/assigner/seat.h"

#include <algorithm>

#include "neli_core/mutation.h"

namespace neliroute {

void Seat::tail_started(const TailStarted& event, Members& members) {
  start_ = event.start;
  started_ = true;
  hear(options_.lease, members);
  // Where nothing was left out, nobody holds it yet. Otherwise a claim may have been.
  if (event.below == Below::nothing) {
    known_ = true;
    holder_ = kNobody;
    seat_ = kNoEpoch;
  } else {
    known_ = false;
  }
}

void Seat::hear(milliseconds silence, Members& members) {
  silence_ = silence;
  heard_ = members.mark(silence);
}

// Whoever writes late claims a seat that was free when it looked, and that another one holds now.
// Who does not know whether the claim came too late waits for the word of one who does.
void Seat::claimed(const AssignmentRecord& claim, const Epoch& at, Members& members) {
  const bool names = claim.seat != kNoEpoch && !mutated(Mutation::late_seat_claims);
  if (names && !known_) {
    start_ = std::max(start_, at.offset + 1);
    return;
  }
  const bool late = names && claim.seat.offset < seat_.offset && claim.seat < seat_;
  if (!late) take(claim.id, at, members);
}

void Seat::take(ProcessId id, const Epoch& seat, Members& members) {
  known_ = true;
  if (holder_ != id) predecessor_ = holder_;
  holder_ = id;
  seat_ = seat;
  vacant_since_ = kNever;
  const Member* const holder = members.find(id);
  hear(holder == nullptr ? options_.lease : holder->fields.session, members);
}

// Who has read on from before this reader's start knows each claim that this reader cannot know.
// And who has read past the claim that is known here, and names a newer one, has read one that the
// log lost since: the newest that anybody knows holds for all, or two would assign for ever.
void Seat::renewed(const Record& record, Members& members) {
  const MemberFields& member = *record.member;
  const bool reached = member.upto >= start_ || mutated(Mutation::believes_early_renewals);
  const bool unknown = !known_ && reached;
  const bool lost = known_ && member.upto > seat_.offset && member.seat > seat_;
  if (member.seat && (unknown || lost)) take(member.seat_by, *member.seat, members);
  if (known_ && record.id == holder_ && member.assigning && member.seat == seat_) {
    hear(member.session, members);
  }
}

bool Seat::is_valid(const AssignmentRecord& record) const noexcept {
  if (mutated(Mutation::stale_assignments)) return true;
  return known_ && record.id == holder_ && record.seat == seat_;
}

// Where nobody reads in time, the holder stays, and plans late: better a slow assigner than none.
bool Seat::is_vacant(const Members& members) const {
  if (!started_) return false;
  if (mutated(Mutation::seat_kept) && known_ && holder_ != kNobody) return false;
  const bool silent = members.flow().until_silent(heard_, silence_) == microseconds{0};
  // After a lease of flow, whoever knew of a holder would have said so.
  if (!known_) return silent;
  if (holder_ == kNobody || !members.lives(holder_)) return true;
  if (mutated(Mutation::seat_never_lapses)) return false;
  return silent && (members.others_read(holder_) || mutated(Mutation::seat_lost_to_nobody));
}

void Seat::look(const Members& members, LocalTime now) {
  if (!is_vacant(members)) {
    vacant_since_ = kNever;
  } else if (vacant_since_ == kNever) {
    vacant_since_ = now;
  }
}

LocalTime Seat::claim_at(std::size_t rank, microseconds step) const noexcept {
  if (mutated(Mutation::ranks_ignored)) rank = 0;
  return vacant_since_ == kNever ? kNever : later(vacant_since_, rank * step);
}

}  // namespace neliroute
