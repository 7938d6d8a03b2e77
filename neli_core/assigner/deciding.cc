// AssignedCore: claiming the seat, assigning, leaving (A2, A5 to A8).
#include <algorithm>
#include <utility>

#include "neli_core/assigner/assigned_core.h"
#include "neli_core/mutation.h"

namespace neliroute {
namespace {

// The holder writes in log 0 at least so often in the shortest session: else its flow has gaps.
constexpr int kWritesInSession = 3;
// So long it may take up a seat that was yielded to it.
constexpr int kAskedIntervals = 3;
// What one name costs in a record, at most, and what stands around the names.
constexpr std::size_t kPartitionBytes = 6;
constexpr std::size_t kMemberBytes = 22;
constexpr std::size_t kFrameBytes = 150;

}  // namespace

void AssignedCore::advance() {
  reading_.begins(now_);
  catch_up();
  known_.members.tick(now_);
  deaths_ = known_.members.take_deaths();
  counters_.deaths += deaths_.size();
  known_.overrides.tick(now_);
  advance_seat();
  keep_flowing();
  assign();
  repeat_overrides();
}

// Others find out with whoever writes next that somebody is dead. The holder also writes one record
// once a session is over: it must act on that.
void AssignedCore::keep_flowing() {
  flow_due_ = kNever;
  if (!assigner_.active() || left_) return;
  if (known_.members.wants_record(now_)) {
    known_.members.asked_for_record(now_);
    claims_.renew_now(Log{0});
  }
  const microseconds most = known_.members.shortest_session() / kWritesInSession;
  if (most >= core().interval || flowed_ == kLongAgo) return;  // it renews as often anyway
  flow_due_ = later(flowed_, most);
  if (now_ >= flow_due_) claims_.renew_now(Log{0});
}

void AssignedCore::advance_seat() {
  known_.seat.look(known_.members, now_);
  const bool holds = known_.seat.held_by_own() && member_ && !left_;
  if (holds && !assigner_.active()) {
    assigner_.begin(known_.seat.predecessor(), now_);
    yielding_.forget();
    claims_.renew_now(Log{0});  // others wait for its word that it assigns
  } else if (!holds && assigner_.active()) {
    assigner_.end();
  }
  if (member_) claims_.keep_renewing(holds);
  if (holds) advance_yielding();
  seat_claim_due_ = kNever;
  if (!holds && (known_.seat.is_free() || is_asked())) claim_seat();
}

// The one that is named claims at once, and this one assigns until it reads that.
void AssignedCore::advance_yielding() {
  const ProcessId to = yielding_.to(known_.members, now_);
  if (to == kNobody) return;
  ++counters_.yields;
  const Member& better = *known_.members.find(to);
  ready_.notices.push_back({Severity::warning,
                            "this process assigns, and reads its logs worse than " +
                                better.process.name + ", which is asked to assign in its place"});
  AssignmentRecord record = own_record(AssignmentType::yield);
  record.seat = known_.seat.epoch();
  record.yields_to = to;
  write(record);
}

// The holder, which yields no more for a while, may be well again.
bool AssignedCore::is_asked() const {
  return yielded_ != kLongAgo && now_ < later(yielded_, kAskedIntervals * core().interval);
}

// What is read of a history may be over long ago. Where nobody reads in time, somebody must assign
// all the same.
void AssignedCore::claim_seat() {
  if (!member_ || left_ || !claims_.progress(Log{0}).caught_up()) return;
  if (!reads_own() && known_.members.others_read(core().id)) return;
  const auto rank = known_.members.rank_of(core().id);
  if (!rank) return;
  // What it claims is known to it, and to others like it, as late as it reads.
  const auto step = std::max<microseconds>(core().interval, own_lag());
  seat_claim_due_ = is_asked() ? kLongAgo : known_.seat.claim_at(*rank, step);
  if (seat_claimed_ != kLongAgo && !mutated(Mutation::seat_claims_flood)) {
    seat_claim_due_ = std::max(seat_claim_due_, later(seat_claimed_, 2 * step));
  }
  if (now_ < seat_claim_due_) return;
  seat_claimed_ = now_;
  yielded_ = kLongAgo;
  ++counters_.seats_claimed;
  AssignmentRecord claim = own_record(AssignmentType::seat_claim);
  if (known_.seat.known()) claim.seat = known_.seat.epoch();
  write(claim);
}

void AssignedCore::assign() {
  const bool behind =
      !claims_.progress(Log{0}).caught_up() && !mutated(Mutation::assigns_behind);
  if (!assigner_.active() || left_ || behind) return;
  PartitionRanges unread = reading_.unread(now_);
  // Where nobody reads more, nobody else will name anybody either: members of older versions do
  // not say that they read.
  if (!unread.empty() && !known_.members.others_read(core().id)) unread = {};
  const AssignerView view{known_.members,        known_.owners,    known_.designations,
                          claims_.lease_bound(), known_.overrides, unread,
                          own_lag()};
  write_assignments(assigner_.decide(view, now_));
  for (Notice& notice : assigner_.take_notices()) ready_.notices.push_back(std::move(notice));
}

// A8: successors are named before the seat is given up, with one batch of records. Where that is
// lost, every renewal says that it leaves, and the next assigner names them.
void AssignedCore::leave() {
  if (!mutated(Mutation::leaves_silently)) {
    known_.members.leave_own(core().id);
    if (assigner_.active()) {
      if (!mutated(Mutation::names_no_successors)) {
        assigner_.plan_now();
        assign();
      }
      if (known_.overrides.used() && known_.overrides.known()) list_overrides();
    }
    if (member_) write(own_record(AssignmentType::leave));
  }
  left_ = true;
}

// Every half a lease, so that a process that starts reads one; within an interval of an override,
// so that the operator learns that it was taken in; and again where one may be lost.
void AssignedCore::repeat_overrides() {
  list_due_ = kNever;
  if (!assigner_.active() || left_ || !known_.overrides.used() || !known_.overrides.known()) return;
  if (!reads_own() || !claims_.progress(Log{0}).caught_up()) return;
  list_due_ = known_.overrides.unlisted() ? kLongAgo : later(known_.list_read, core().lease / 2);
  if (mutated(Mutation::lists_not_repeated) && !known_.overrides.unlisted()) list_due_ = kNever;
  list_due_ = std::max(list_due_, later(listed_, core().interval));
  if (now_ < list_due_) return;
  list_overrides();
  list_due_ = later(now_, core().interval);
}

void AssignedCore::list_overrides() {
  AssignmentRecord record = own_record(AssignmentType::overrides);
  record.seat = known_.seat.epoch();
  record.upto = claims_.progress(Log{0}).next;
  record.standing = known_.overrides.standing();
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
