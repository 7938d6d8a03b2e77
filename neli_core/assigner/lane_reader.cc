#include "neli_core/assigner/lane_reader.h"

#include <algorithm>
#include <utility>
#include <variant>

namespace neliroute {
namespace {

// A member renews at least so often in its session (make() of AssignedCore).
constexpr int kRenewalsInSession = 3;

}  // namespace

ShownLane shown(const KnownLane& lane) {
  ShownLane shown;
  if (lane.seat.known()) shown.assigner = lane.seat.holder();
  for (const Member* member : lane.members.present()) {
    shown.members.push_back({member->id, member->process, member->fields, member->leaving});
  }
  shown.overrides = lane.overrides.standing();
  shown.overrides_known = lane.overrides.known();
  return shown;
}

LaneReader::LaneReader(KnownLaneOptions options)
    : known_(std::move(options)),
      progress_(known_.options.logs),
      learns_interval_(known_.options.interval.count() == 0) {
  learn_interval();
}

void LaneReader::learn_interval() {
  if (!learns_interval_ || seen_ == known_.members.version()) return;
  seen_ = known_.members.version();
  known_.options.interval =
      std::max(known_.members.longest_session(), kMemberSessionMin) / kRenewalsInSession;
  known_.members.set_interval(known_.options.interval);
}

void LaneReader::on(const TailStarted& event, LocalTime now) {
  LogProgress& progress = progress_[event.log.value()];
  const bool goes_on = progress.goes_on(event);
  progress.start(event);
  if (!goes_on) known_.tail_started(event, now);
}

void LaneReader::on(const Received& event, LocalTime now) {
  LogProgress& progress = progress_[event.log.value()];
  if (!progress.read(event.offset)) return;
  if (event.log == Log{0}) known_.note_read(now);
  const bool history = progress.is_history(event.offset);
  if (const auto* record = std::get_if<Record>(event.value)) {
    known_.read(event, *record, history, now);
  } else if (const auto* assignment = std::get_if<AssignmentRecord>(event.value)) {
    if (known_.read(event, *assignment, history, now) == Assigned::valid) {
      known_.designations.read(*assignment, kNobody, now);
    }
  }
  if (event.log == Log{0}) known_.note_passed(event.offset);
  learn_interval();
  // Whatever others wrote an interval ago was read, if this was written now.
  if (event.log == Log{0} && !history) known_.members.read_back(now - known_.options.interval);
  tick(now);
}

void LaneReader::on(const LogPosition& event, LocalTime now) {
  progress_[event.log.value()].reach(event.next);
  tick(now);
}

void LaneReader::on(const GapFound& event, LocalTime) {
  progress_[event.log.value()].stop();
  if (event.log == Log{0}) known_.seat.tail_lost();
}

void LaneReader::tick(LocalTime now) {
  known_.members.tick(now);
  static_cast<void>(known_.members.take_deaths());  // that they are dead is what is shown
  known_.overrides.tick(now);
}

LocalTime LaneReader::next_deadline(LocalTime now) const noexcept {
  LocalTime next = kNever;
  for (const LocalTime due : {known_.members.next_deadline(), known_.overrides.next_deadline()}) {
    if (due > now) next = std::min(next, due);
  }
  return next;
}

bool LaneReader::caught_up() const { return all_caught_up(progress_); }

std::vector<WouldMove> LaneReader::would_move(const std::vector<Override>& overrides,
                                              LocalTime now) const {
  Overrides assumed = known_.overrides;
  for (const Override& override : overrides) assumed.read(progress_[0].next, override);
  assumed.take_for_all();
  std::vector<WouldMove> moves = Assigner::would_move(
      {known_.members, known_.owners, known_.designations, known_.options.lease, assumed},
      known_.options.logs, now);
  // Of what was designated before it began to read, it knows the owner only, who keeps it.
  std::erase_if(moves, [](const WouldMove& move) { return move.from == move.to; });
  return moves;
}

}  // namespace neliroute
