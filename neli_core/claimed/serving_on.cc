// ClaimProtocol: what is led on in non-exclusive mode while its log is silent, or lost: "Serving
// on" of docs/protocol.md.
//
// leads() compares a word with the time, so the word of what may be served on is set anew at each
// beat, never more than T ahead. A process that slept finds it over, and stops as at the end of a
// lease: a pause is no silence.
#include <algorithm>
#include <string>

#include "neli_core/claimed/claim_protocol.h"
#include "neli_core/mutation.h"

namespace neliroute {
namespace {

std::string partitions_text(std::uint32_t count) {
  return std::to_string(count) + (count == 1 ? " partition" : " partitions");
}

}  // namespace

bool ClaimProtocol::serves_on() const {
  return options_.serve_stale.count() > 0 && !mutated(Mutation::stops_in_silence);
}

// Beside a newer claim of a process in exclusive mode, nobody leads beyond a lease.
bool ClaimProtocol::may_serve_on(Partition partition) const {
  if (!serves_on()) return false;
  const PartitionState& p = state(partition);
  if (!p.own->superseded || !p.history.newest()) return true;
  const EpochHistory::Known* newest = p.history.find(p.history.newest()->epoch);
  return newest == nullptr || !newest->exclusive || mutated(Mutation::stale_beside_exclusive);
}

// If this process does nothing from now on.
LocalTime ClaimProtocol::serving_until(Partition partition) const {
  const OwnEpoch& own = *state(partition).own;
  if (own.lease_until == kLongAgo || !may_serve_on(partition)) return own.lease_until;
  const LocalTime sent = own.lease_until - options_.lease;  // of the newest own record read back
  LocalTime end = later(sent, options_.serve_stale);
  if (mutated(Mutation::stale_for_ever)) end = kNever;
  if (!mutated(Mutation::sleeper_serves_on)) end = std::min(end, later(now_, options_.lease));
  return std::max(own.lease_until, end);
}

void ClaimProtocol::set_lease_word(Partition partition) {
  PartitionState& p = state(partition);
  if (p.own) {
    p.own->serves_until = serving_until(partition);
    p.own->stale = p.own->leading && (p.own->log_lost || now_ >= p.own->lease_until);
  }
  leases_->set(partition, p.serves() ? p.own->serves_until : kLongAgo, p.generation,
               p.own && p.own->stale);
}

// Of what leads: rule 10, unless it is served on.
void ClaimProtocol::look_at_lease(Partition partition) {
  PartitionState& p = state(partition);
  OwnEpoch& own = *p.own;
  if (now_ < own.lease_until && !own.log_lost) return;
  if (now_ < own.serves_until && may_serve_on(partition)) {
    if (!own.stale) set_lease_word(partition);
    return;
  }
  lapse(partition, own.serves_until);
}

void ClaimProtocol::lapse(Partition partition, LocalTime at) {
  ++counters_.lapses;
  const bool over = state(partition).own->superseded;
  stop(partition, StopReason::lapsed, at);
  over ? drop(partition) : note_state_change(partition);
}

// A beat: the words of what is led.
void ClaimProtocol::lengthen_words(Log which) {
  LogState& l = log(which);
  l.stale_count = 0;
  place(which).for_each([&](Partition partition) {
    const PartitionState& p = state(partition);
    if (!p.own || !p.own->leading) return;
    set_lease_word(partition);
    if (!p.own->stale) return;
    ++l.stale_count;
    evaluate(partition);
  });
}

// One line as it begins, with the second beat, as logs fall silent within an interval; one as it
// ends.
void ClaimProtocol::tell_stale() {
  const std::uint32_t stale = stale_count();
  if (stale == 0) {
    if (stale_beats_ >= 2) {
      ready_.notices.push_back({Severity::info, "nothing is served on as stale any more"});
    }
    stale_beats_ = 0;
    return;
  }
  if (++stale_beats_ != 2) return;
  const auto silent = std::count_if(logs_.begin(), logs_.end(),
                                    [](const LogState& l) { return l.stale_count > 0; });
  ready_.notices.push_back(
      {Severity::warning,
       "no own record was read back for " + std::to_string(options_.lease.count()) + " ms from " +
           std::to_string(silent) + " of " + std::to_string(logs_.size()) + " logs: serves on " +
           partitions_text(stale) + " as stale, for at most " +
           std::to_string(options_.serve_stale.count() / 1000) + " s (`timing.serve_stale`)"});
}

void ClaimProtocol::tell_leaving_stale() {
  const std::uint32_t stale = stale_count();
  if (stale == 0) return;
  ready_.notices.push_back({Severity::warning,
                            "leaving while a log is silent: nobody can take over " +
                                partitions_text(stale) +
                                " before it is back; this process serves until the drain ends, and "
                                "nobody does then"});
}

// An own record to the log has been on its way for two intervals: what is written now would arrive
// with it, when the silence ends.
bool ClaimProtocol::is_stuck(Log which) const {
  if (!serves_on() || mutated(Mutation::claims_in_silence)) return false;
  return now_ >= later(log(which).unanswered_since, 2 * options_.interval);
}

void ClaimProtocol::note_unanswered(Log which, bool was_stuck) {
  LogState& l = log(which);
  l.unanswered_since = kNever;
  for (const auto& [seq, one] : outstanding_) {
    if (one.log == which) l.unanswered_since = std::min(l.unanswered_since, one.sent);
  }
  if (!was_stuck || is_stuck(which)) return;
  l.returned_at = now_;
  evaluate_all(which);
}

void ClaimProtocol::note_flow(const Received& event, bool own) {
  if (!serves_on()) return;
  const bool stamped = options_.believe_broker_time && event.store_stamped;
  flow_.read(stamped ? microseconds{event.stamped.time_since_epoch()} : now_.time_since_epoch());
  if (own) own_mark_ = flow_.mark(options_.lease);
}

// It serves on something, or is about to, and has not slept.
bool ClaimProtocol::serves_awake() const {
  return serves_on() &&
         std::any_of(partitions_.begin(), partitions_.end(), [this](const PartitionState& p) {
           return p.serves() && now_ < p.own->serves_until;
         });
}

// Log 0 has gone on for T without a record of this process.
bool ClaimProtocol::is_passed_over() const {
  return own_mark_ && flow_.until_silent(*own_mark_, options_.lease).count() == 0;
}

std::uint32_t ClaimProtocol::stale_count() const {
  std::uint32_t count = 0;
  for (const LogState& l : logs_) count += l.stale_count;
  return count;
}

}  // namespace neliroute
