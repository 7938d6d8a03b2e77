// AssignedCore: claiming the seat, assigning, leaving (A2, A5 to A8).
#include <algorithm>
#include <utility>

#include "neli_core/assigner/assigned_core.h"
#include "neli_core/assigner/reading.h"
#include "neli_core/mutation.h"

namespace neliroute {
namespace {

// Of the seat's successors, those that find out at once whether its holder is dead. The others come
// so many intervals later that their ordinary renewals show it.
constexpr std::size_t kAskingSuccessors = 3;
// What one name costs in a record, at most, and what stands around the names.
constexpr std::size_t kPartitionBytes = 6;
constexpr std::size_t kMemberBytes = 22;
constexpr std::size_t kFrameBytes = 150;

}  // namespace

void AssignedCore::advance() {
  catch_up();
  known_.members.tick(now_);
  deaths_ = known_.members.take_deaths();
  counters_.deaths += deaths_.size();
  if (needs_proof()) {
    known_.members.asked_for_proof(now_);
    claims_.renew_now(Log{0});
  }
  known_.wishes.tick(now_);
  advance_seat();
  assign();
  repeat_wishes();
}

// If every member asked about every death, log 0 would have as many records for each as members.
bool AssignedCore::needs_proof() const {
  if (!member_ || left_ || !known_.members.wants_proof(now_)) return false;
  if (known_.seat.held_by_own()) return true;
  if (!known_.seat.known() || !known_.members.is_silent(known_.seat.holder(), now_)) return false;
  const auto rank = known_.members.rank_of(core().id);
  return rank && *rank <= kAskingSuccessors;
}

bool AssignedCore::reads_own() const {
  return !is_stale(own_read_, now_, core().interval);
}

// A holder that cannot write or read one of the other logs cannot judge it, nor does it notice that
// it does not lead there what it is named for. It lets somebody else try, and claims again after
// everybody else, as the log may be away for all.
void AssignedCore::advance_yielding() {
  if (yields_ > 0 && assigner_.reads_every_log(now_)) {
    yielded_ = false;
    yields_ = 0;
  } else if (assigner_.active() && assigner_.is_cut(now_, yields_) &&
             known_.members.living_count() > 1 && !mutated(Mutation::never_yields)) {
    yielded_ = true;
    ++yields_;
    ready_.notices.push_back({Severity::warning,
                              "this process assigns, and has read no record of its own in one of "
                              "the logs for a while: another member may assign in its place"});
  }
}

void AssignedCore::advance_seat() {
  known_.seat.look(known_.members, now_);
  advance_yielding();
  const bool holds = known_.seat.held_by_own() && member_ && !left_ && !yielded_;
  if (holds && !assigner_.active()) {
    assigner_.begin(known_.seat.predecessor(), now_);
    claims_.renew_now(Log{0});  // others wait for its word that it assigns
  } else if (!holds && assigner_.active()) {
    assigner_.end();
  }
  if (member_) claims_.keep_renewing(holds || yields_ > 0);
  seat_claim_due_ = kNever;
  if ((holds && reads_own()) || !known_.seat.is_free()) return;
  // What is read of a history may be over long ago.
  if (!member_ || left_ || !reads_own() || !claims_.progress(Log{0}).caught_up()) return;
  const auto rank = known_.members.rank_of(core().id);
  if (!rank) return;
  const bool goes_last = yielded_ && !mutated(Mutation::yielder_goes_first);
  seat_claim_due_ =
      known_.seat.claim_at(goes_last ? *rank + known_.members.living_count() : *rank);
  if (seat_claimed_ != kLongAgo && !mutated(Mutation::seat_claims_flood)) {
    seat_claim_due_ = std::max(seat_claim_due_, later(seat_claimed_, 2 * core().interval));
  }
  if (now_ < seat_claim_due_) return;
  seat_claimed_ = now_;
  yielded_ = false;  // nobody else wants it
  ++counters_.seats_claimed;
  write(own_record(AssignmentType::seat_claim));
}

void AssignedCore::assign() {
  const bool behind =
      !claims_.progress(Log{0}).caught_up() && !mutated(Mutation::assigns_behind);
  if (!assigner_.active() || left_ || behind) return;
  const AssignerView view{known_.members, known_.owners, known_.designations, claims_.lease_bound(),
                          known_.wishes};
  write_assignments(assigner_.decide(view, now_));
  for (Notice& notice : assigner_.take_notices()) ready_.notices.push_back(std::move(notice));
}

// A8: successors are named before the seat is given up, with one batch of records. Where that is
// lost, every renewal says that it leaves, and the next assigner names them.
void AssignedCore::leave() {
  if (!mutated(Mutation::leaves_silently)) {
    known_.members.leave(core().id, now_);
    if (assigner_.active()) {
      if (!mutated(Mutation::names_no_successors)) {
        assigner_.plan_now();
        assign();
      }
      if (known_.wishes.used() && known_.wishes.known()) list_wishes();
    }
    if (member_) write(own_record(AssignmentType::leave));
  }
  left_ = true;
}

// Every half a lease, so that whoever starts reads one; within an interval of a wish, so that the
// operator learns that it was taken in; and again where one may be lost.
void AssignedCore::repeat_wishes() {
  list_due_ = kNever;
  if (!assigner_.active() || left_ || !known_.wishes.used() || !known_.wishes.known()) return;
  if (!reads_own() || !claims_.progress(Log{0}).caught_up()) return;
  list_due_ = known_.wishes.unlisted() ? kLongAgo : later(known_.list_read, core().lease / 2);
  if (mutated(Mutation::lists_not_repeated) && !known_.wishes.unlisted()) list_due_ = kNever;
  list_due_ = std::max(list_due_, later(listed_, core().interval));
  if (now_ < list_due_) return;
  list_wishes();
  list_due_ = later(now_, core().interval);
}

void AssignedCore::list_wishes() {
  AssignmentRecord record = own_record(AssignmentType::wishes);
  record.seat = known_.seat.epoch();
  record.upto = claims_.progress(Log{0}).next;
  record.standing = known_.wishes.standing();
  listed_ = now_;
  write(record);
}

AssignmentRecord AssignedCore::own_record(AssignmentType type) {
  AssignmentRecord record;
  record.type = type;
  record.lane = core().lane;
  record.id = core().id;
  record.seq = next_seq_++;
  return record;
}

void AssignedCore::write(const AssignmentRecord& record) {
  ready_.writes.push_back({Log{0}, record.seq, encode_record(record)});
}

void AssignedCore::write_assignments(const std::vector<Designation>& designations) {
  std::vector<Designation> named;
  std::size_t bytes = kFrameBytes;
  const auto flush = [&] {
    if (named.empty()) return;
    AssignmentRecord record = own_record(AssignmentType::assign);
    record.seat = known_.seat.epoch();
    record.designations = std::exchange(named, {});
    bytes = kFrameBytes;
    last_assign_ = record.seq;
    ++counters_.assignments_written;
    if (mutated(Mutation::from_memory)) obey(record, false);
    write(record);
  };
  for (const Designation& designation : designations) {
    std::vector<Partition> some;
    const auto name = [&] {
      if (!some.empty()) {
        named.push_back({designation.to, PartitionRanges::of(std::exchange(some, {}))});
      }
    };
    bytes += kMemberBytes;
    designation.partitions.for_each(kPartitionCountMax, [&](Partition partition) {
      if (bytes + kPartitionBytes > core().record_bytes_max) {
        name();
        flush();
        bytes += kMemberBytes;
      }
      some.push_back(partition);
      bytes += kPartitionBytes;
    });
    name();
  }
  flush();
}

}  // namespace neliroute
