// AssignedCore: claiming the seat, assigning, leaving (A2, A5 to A8).
#include <algorithm>
#include <utility>

#include "neli_core/assigner/assigned_core.h"
#include "neli_core/assigner/reading.h"
#include "neli_core/mutation.h"

namespace neliroute {
namespace {

// A record of that many names stays well below the longest that a broker must take.
constexpr std::size_t kPartitionsInRecord = 8'000;
constexpr std::size_t kMembersInRecord = 500;

}  // namespace

void AssignedCore::advance() {
  catch_up();
  members_.tick(now_);
  deaths_ = members_.take_deaths();
  counters_.deaths += deaths_.size();
  if (member_ && !left_ && members_.wants_proof(now_)) {
    members_.asked_for_proof(now_);
    claims_.renew_now(Log{0});
  }
  advance_seat();
  assign();
}

bool AssignedCore::reads_own() const {
  return !is_stale(own_read_, now_, core().interval);
}

void AssignedCore::advance_seat() {
  seat_.look(members_, now_);
  const bool holds = seat_.held_by_own() && member_;
  if (holds && !assigner_.active()) {
    assigner_.begin(now_);
    claims_.keep_renewing(true);
    claims_.renew_now(Log{0});  // others wait for its word that it assigns
  } else if (!holds && assigner_.active()) {
    assigner_.end();
    claims_.keep_renewing(false);
  }
  seat_claim_due_ = kNever;
  if ((holds && reads_own()) || !seat_.is_free()) return;
  if (!member_ || left_ || !reads_own()) return;
  const auto rank = members_.rank_of(core().id);
  if (!rank) return;
  seat_claim_due_ = seat_.claim_at(*rank);
  if (seat_claimed_ != kLongAgo) {
    seat_claim_due_ = std::max(seat_claim_due_, later(seat_claimed_, 2 * core().interval));
  }
  if (now_ < seat_claim_due_) return;
  seat_claimed_ = now_;
  ++counters_.seats_claimed;
  write(own_record(AssignmentType::seat_claim));
}

void AssignedCore::assign() {
  if (!assigner_.active() || left_) return;
  write_assignments(assigner_.decide({members_, owners_, designations_}, now_));
  for (Notice& notice : assigner_.take_notices()) ready_.notices.push_back(std::move(notice));
}

// A8: successors are named before the seat is given up, all with one batch of records.
void AssignedCore::leave() {
  const bool assigned = assigner_.active();
  if (!mutated(Mutation::leaves_silently)) {
    members_.leave(core().id, now_);
    if (assigned) {
      assigner_.plan_now();
      assign();
      AssignmentRecord release = own_record(AssignmentType::seat_release);
      release.seat = seat_.epoch();
      write(release);
    }
    if (member_) write(own_record(AssignmentType::leave));
  }
  left_ = true;
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
  std::vector<Designation> some_of_them;
  std::size_t partitions = 0;
  const auto flush = [&] {
    if (some_of_them.empty()) return;
    AssignmentRecord record = own_record(AssignmentType::assign);
    record.seat = seat_.epoch();
    record.designations = std::exchange(some_of_them, {});
    partitions = 0;
    last_assign_ = record.seq;
    ++counters_.assignments_written;
    if (mutated(Mutation::from_memory)) obey(record, false);
    write(record);
  };
  for (const Designation& designation : designations) {
    std::vector<Partition> some;
    designation.partitions.for_each(kPartitionCountMax, [&](Partition partition) {
      some.push_back(partition);
      if (++partitions < kPartitionsInRecord) return;
      some_of_them.push_back({designation.to, PartitionRanges::of(some)});
      some.clear();
      flush();
    });
    if (!some.empty()) some_of_them.push_back({designation.to, PartitionRanges::of(some)});
    if (some_of_them.size() >= kMembersInRecord) flush();
  }
  flush();
}

}  // namespace neliroute
