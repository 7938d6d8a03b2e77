#include "neli_core/lease_bound.h"

#include <algorithm>

#include "neli_core/mutation.h"

namespace neliroute {
namespace {

// Kept apart for each log; a topic usually has one or two.
constexpr std::size_t kLeasesMax = 8;

microseconds after(microseconds from, milliseconds wait) {
  return from + std::chrono::ceil<milliseconds>(with_drift(wait));
}

}  // namespace

LeaseBound::LeaseBound(const CoreOptions& options)
    : own_(options.lease),
      clock_error_(options.clock_error),
      believe_broker_time_(options.believe_broker_time),
      logs_(options.settings.logs),
      value_(own_) {}

void LeaseBound::read(const Received& event, const Record& record, LocalTime now) {
  LogLeases& l = logs_[event.log.value()];
  const milliseconds before = l.bound();
  const bool stamped = believe_broker_time_ && event.store_stamped && readable(event.stamped);
  if (l.stamped != stamped) l = {before, stamped, {}, false, {}};  // another clock tells the time
  const Time time = stamped ? event.stamped.time_since_epoch() : now.time_since_epoch();
  const milliseconds error = stamped ? clock_error_ : milliseconds{0};
  std::erase_if(l.in_force, [&](const InForce& one) {
    if (mutated(Mutation::lease_bound_early)) return one.until <= time + one.lease;
    return one.until + error < time;
  });
  if (!l.since) l.since = time;
  // A record of another version may state only the longest lease: then that stands for its own.
  const auto& lease = record.lease ? record.lease : record.max_lease;
  if (lease) l.add({*lease, after(time, *lease)});
  if (record.max_lease && !l.read_for_long) l.told = std::max(l.told, *record.max_lease);
  if (stamped || mutated(Mutation::lease_bound_early)) note_length(l, time, error);
  if (l.bound() != before) update();
}

// A lease that was in force when the first record was read, and is not known, was stated before.
void LeaseBound::read_back(Log log, LocalTime sent) {
  LogLeases& l = logs_[log.value()];
  if (l.stamped) return;
  note_length(l, sent.time_since_epoch(), milliseconds{0});
  update();
}

void LeaseBound::note_length(LogLeases& l, Time time, milliseconds error) const {
  if (l.read_for_long || !l.since) return;
  const Time over = after(*l.since, std::max(l.bound(), own_)) + error;
  if (time <= over && !mutated(Mutation::lease_bound_early)) return;
  l.read_for_long = true;
  l.told = milliseconds{0};
}

void LeaseBound::update() {
  value_ = own_;
  for (const LogLeases& one : logs_) value_ = std::max(value_, one.bound());
}

// Keeps for this log what is known of all logs, as each record states what its writer knows of all.
void LeaseBound::gap(Log log) {
  LogLeases& l = logs_[log.value()];
  l.told = value_;
  l.since.reset();
  l.read_for_long = false;
}

milliseconds LeaseBound::LogLeases::bound() const noexcept {
  milliseconds bound = told;
  for (const InForce& one : in_force) bound = std::max(bound, one.lease);
  return bound;
}

void LeaseBound::LogLeases::add(const InForce& added) {
  const auto covers = [](const InForce& one, const InForce& other) {
    return one.lease >= other.lease && one.until >= other.until;
  };
  for (const InForce& one : in_force) {
    if (covers(one, added)) return;
  }
  std::erase_if(in_force, [&](const InForce& one) { return covers(added, one); });
  const auto longer = std::find_if(in_force.begin(), in_force.end(), [&](const InForce& one) {
    return one.lease > added.lease;
  });
  in_force.insert(longer, added);
  if (in_force.size() <= kLeasesMax) return;
  // The shortest is the last to end: the next one takes its end.
  in_force[1].until = in_force[0].until;
  in_force.erase(in_force.begin());
}

}  // namespace neliroute
