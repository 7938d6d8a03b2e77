#include "neli_core/assigner/assignment_reader.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "neli_core/assigner/lane_records.h"
#include "neli_core/record/judgement.h"

namespace neliroute {
namespace {

// A member renews at least so often in its session (make() of AssignedCore).
constexpr int kRenewalsInSession = 3;

}  // namespace

AssignmentReader::AssignmentReader(Lane lane, Settings settings)
    : lane_(lane),
      settings_(std::move(settings)),
      members_({kNobody, kMemberSessionMin / kRenewalsInSession, kLeaseMax}),
      seat_({kNobody, kMemberSessionMin / kRenewalsInSession, kLeaseMax}),
      designations_(settings_.partitions) {}

void AssignmentReader::on(const Event& event, LocalTime now) {
  now_ = now;
  if (const auto* received = std::get_if<Received>(&event)) {
    if (received->log == Log{0} && log_.read(received->offset)) receive(*received, now);
  } else if (const auto* position = std::get_if<LogPosition>(&event)) {
    if (position->log == Log{0}) log_.reach(position->next);
  } else if (const auto* gap = std::get_if<GapFound>(&event)) {
    if (gap->log != Log{0}) return;
    log_.stop();
    seat_.tail_lost();
  } else if (const auto* started = std::get_if<TailStarted>(&event)) {
    if (started->log != Log{0}) return;
    const bool goes_on = log_.started && started->start == log_.next;
    log_.start(*started);
    if (goes_on) return;  // it has missed nothing
    seat_.tail_started(*started, now);
    members_.restarted(now);
  }
  tick(now);
}

void AssignmentReader::tick(LocalTime now) {
  now_ = now;
  members_.tick(now);
  static_cast<void>(members_.take_deaths());  // that they are dead is what is shown
}

LocalTime AssignmentReader::next_deadline() const noexcept {
  const LocalTime next = members_.next_deadline();
  return next > now_ ? next : kNever;
}

void AssignmentReader::receive(const Received& event, LocalTime now) {
  const bool history = log_.is_history(event.offset);
  seat_.excuse(members_.note_read(now));
  if (const auto* record = std::get_if<Record>(event.value)) {
    if (judge(*record, event.stamped, lane_) != Judgement::heeded) return;
    const Settings* const theirs = readable_settings(*record);
    const bool same = theirs != nullptr && is_same(*theirs);
    read_member_record(*record, same, history, now, members_, seat_);
  } else if (const auto* assignment = std::get_if<AssignmentRecord>(event.value)) {
    if (assignment->lane != lane_) return;
    const Said said = read_assignment_record(event, *assignment, history, now, members_, seat_);
    if (said == Said::assignment) designations_.read(*assignment, kNobody, now);
  }
  if (!history) members_.read_back(now);
  if (std::exchange(seen_, members_.version()) == members_.version()) return;
  members_.set_interval(std::max(members_.longest_session(), kMemberSessionMin) /
                        kRenewalsInSession);
}

bool AssignmentReader::is_same(const Settings& theirs) const {
  Settings lane = settings_;
  lane.group = theirs.group;
  lane.mode = theirs.mode;
  lane.variation = kAssignedVariation;
  return lane == theirs;
}

}  // namespace neliroute
