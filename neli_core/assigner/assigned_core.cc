#include "neli_core/assigner/assigned_core.h"

#include <algorithm>
#include <chrono>
#include <iterator>
#include <utility>
#include <variant>

#include "neli_core/mutation.h"

namespace neliroute {
namespace {

// Above every number that the claims protocol gives to a record, and exact in every reader's JSON.
constexpr std::uint64_t kFirstSeq = std::uint64_t{1} << 52;
constexpr int kIntervalsInSession = 3;
// What a renewal's list of prepared partitions may take of a record, at most.
constexpr std::size_t kPreparingShare = 8;

}  // namespace

Result<AssignedCore> AssignedCore::make(AssignedOptions options) {
  options.core.settings.variation = kAssignedVariation;
  if (options.session < kIntervalsInSession * options.core.interval) {
    return Error(Errc::bad_option,
                 "session: " + std::to_string(options.session.count()) +
                     " ms is less than 3 intervals of " +
                     std::to_string(options.core.interval.count()) +
                     " ms, so one late renewal would pass for a death; raise the session, or "
                     "lower the interval");
  }
  if (options.weight > kWeightMax) {
    return Error(Errc::bad_option, "weight: " + std::to_string(options.weight) +
                                       " is more than " + std::to_string(kWeightMax));
  }
  if (options.seat_priority > kSeatPriorityMax) {
    return Error(Errc::bad_option, "seat_priority: " + std::to_string(options.seat_priority) +
                                       " is more than " + std::to_string(kSeatPriorityMax));
  }
  for (const auto& [what, text] : {std::pair{"host", &options.host}, {"zone", &options.zone}}) {
    if (text->size() <= kPlaceBytesMax) continue;
    return Error(Errc::bad_option, std::string(what) + ": " + std::to_string(text->size()) +
                                       " bytes are more than " + std::to_string(kPlaceBytesMax));
  }
  options.core.serve_stale_beside = patience_with_designees(
      options.core.mode, options.session, options.core.interval, options.core.lease);
  auto claims = ClaimProtocol::make(options.core);
  if (!claims) return claims.error();
  return AssignedCore(std::move(options), std::move(*claims));
}

AssignedCore::AssignedCore(AssignedOptions options, ClaimProtocol claims)
    : options_(std::move(options)),
      claims_(std::move(claims)),
      known_({core().lane, core().id, core().interval, core().lease, core().settings.logs,
              core().settings.partitions, core().settings, core().believe_broker_time}),
      given_(core().settings.partitions, false),
      assigner_({core().settings.logs, core().settings.partitions, core().mode, core().interval,
                 options_.session}),
      reading_({core().settings.logs, options_.session, core().lease}),
      yielding_(options_.session, core().interval),
      next_seq_(kFirstSeq) {}

void AssignedCore::step(const Event& event, LocalTime now) {
  now_ = now;
  if (const auto* received = std::get_if<Received>(&event)) {
    receive(*received);
    return advance();
  }
  if (const auto* started = std::get_if<TailStarted>(&event)) {
    note_tail(*started);
  } else if (const auto* gap = std::get_if<GapFound>(&event)) {
    if (gap->log == Log{0}) known_.seat.tail_lost();
  } else if (const auto* reread = std::get_if<Reread>(&event)) {
    reading_.answered(reread->log, now);
  } else if (const auto* failed = std::get_if<WriteFailed>(&event);
             failed != nullptr && failed->seq >= kFirstSeq) {
    if (failed->seq == last_assign_) assigner_.lost(now);
    return advance();
  } else if (const auto* stored = std::get_if<WriteAcknowledged>(&event);
             stored != nullptr && stored->seq >= kFirstSeq) {
    return advance();  // that it was read says more
  } else if (const auto* own = std::get_if<Cordoned>(&event)) {
    options_.cordoned = own->cordoned;
    if (member_) claims_.renew_now(Log{0});  // its partitions wait for that word
    return advance();
  }
  const auto* position = std::get_if<LogPosition>(&event);
  const bool was_caught_up = position != nullptr && claims_.progress(position->log).caught_up();
  claims_.step(event, now);
  if (position != nullptr) {
    reading_.answered(position->log, now);
    note_progress(position->log, was_caught_up);
  }
  advance();
}

void AssignedCore::tick(LocalTime now) {
  now_ = now;
  claims_.tick(now);
  advance();
}

// What the group would be asked for is done here: a member says so in log 0.
Ready AssignedCore::take_ready() {
  if (member_) claims_.say(own_fields());
  Ready ready = claims_.take_ready();
  ready.rebalances_done = 0;
  ready.expedite.reset();
  if (std::exchange(ready.subscribe, false)) {
    member_ = true;
    claims_.keep_renewing(false);
    claims_.renew_now(Log{0});
    claims_.say(own_fields());
    Ready first = claims_.take_ready();
    for (Write& write : first.writes) ready.writes.push_back(std::move(write));
  }
  // Its `leave` comes first: after a renewal that does not say so yet, the assigner would name the
  // leaver once more.
  const bool leaves = std::exchange(ready.leave_group, false);
  if (leaves) leave();
  ready.writes.insert(leaves ? ready.writes.begin() : ready.writes.end(),
                      std::make_move_iterator(ready_.writes.begin()),
                      std::make_move_iterator(ready_.writes.end()));
  ready_.writes.clear();
  for (Notice& notice : ready_.notices) ready.notices.push_back(std::move(notice));
  ready_.notices.clear();
  for (const Write& write : ready.writes) {
    reading_.wrote(write.log, now_);
    if (write.log == Log{0}) flowed_ = now_;
  }
  return ready;
}

// What is due and was not done at the last step waits for a record, and for no time.
LocalTime AssignedCore::next_deadline() const noexcept {
  LocalTime next = claims_.next_deadline();
  for (const LocalTime due : {known_.members.next_deadline(), assigner_.next_deadline(), flow_due_,
                              seat_claim_due_, list_due_, known_.overrides.next_deadline()}) {
    if (due > now_) next = std::min(next, due);
  }
  return next;
}

std::optional<AssignmentStatus> AssignedCore::assignment_status() const {
  AssignmentStatus status;
  status.members = known_.members.living_count();
  status.assigns = assigner_.active();
  status.seats_claimed = counters_.seats_claimed;
  status.assignments_written = counters_.assignments_written;
  status.assignments_refused = counters_.assignments_refused;
  status.deaths = counters_.deaths;
  status.false_deaths = known_.members.false_deaths();
  status.waits = assigner_.waits();
  status.yields = counters_.yields;
  if (const auto waits = assigner_.waiting()) status.waits_for = waits->reason;
  status.given_up = assigner_.given_up();
  const StandingOverrides& standing = known_.overrides.standing();
  status.overrides = standing.cordoned.size() + standing.weights.size() + standing.pins.size();
  status.moves_paused = standing.moves_paused;
  status.overrides_ignored = known_.overrides.ignored();
  return status;
}

// Where there are too many to name, all that it is named for are meant.
std::optional<PartitionRanges> AssignedCore::preparing_parts() const {
  const PartitionRanges parts = claims_.preparing();
  const bool fits = parts.to_string().size() <= core().record_bytes_max / kPreparingShare;
  return fits ? std::optional(parts) : std::nullopt;
}

MemberFields AssignedCore::own_fields() const {
  MemberFields fields;
  fields.session = options_.session;
  fields.weight = options_.weight;
  fields.cordoned = options_.cordoned;
  fields.seat_priority = options_.seat_priority;
  fields.host = options_.host;
  fields.zone = options_.zone;
  if (known_.seat.known() && known_.seat.holder() != kNobody) {
    fields.seat = known_.seat.epoch();
    fields.seat_by = known_.seat.holder();
  }
  fields.upto = claims_.progress(Log{0}).next;
  fields.reads = reads_own();
  fields.assigning = assigner_.active() && fields.reads && !left_;
  const auto lag = std::chrono::ceil<milliseconds>(own_lag());
  if (fields.reads) fields.lag = std::max(lag, milliseconds{1});
  fields.unread = reading_.unread(now_);
  fields.preparing = claims_.preparing_for();
  if (fields.preparing.count() > 0) fields.preparing_parts = preparing_parts();
  fields.leaving = left_ && !mutated(Mutation::leaves_silently);
  return fields;
}

}  // namespace neliroute
