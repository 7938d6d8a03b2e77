#include "neli_core/lease_bound.h"

#include <algorithm>

#include "neli_core/mutation.h"

namespace neliroute {
namespace {

// Kept apart for each log; a topic usually has one or two.
constexpr std::size_t kLeasesMax = 8;

BrokerTime after(BrokerTime from, milliseconds wait) {
  return from + std::chrono::ceil<milliseconds>(with_drift(wait));
}

}  // namespace

LeaseBound::LeaseBound(const CoreOptions& options)
    : own_(options.lease),
      clock_error_(options.clock_error),
      believe_broker_time_(options.believe_broker_time),
      logs_(options.settings.logs),
      value_(own_) {}

void LeaseBound::read(const Received& event, const Record& record) {
  LogLeases& l = logs_[event.log.value()];
  const milliseconds before = l.bound();
  if (believe_broker_time_ && event.store_stamped && readable(event.stamped)) {
    read_stamped(l, record, event.stamped);
  } else {
    // It is not known for how long it was read: what records said stands.
    const milliseconds zero{0};
    l.told = std::max({before, record.lease.value_or(zero), record.max_lease.value_or(zero)});
    l.read_for_long = false;
    l.since.reset();
  }
  if (l.bound() == before) return;
  value_ = own_;
  for (const LogLeases& one : logs_) value_ = std::max(value_, one.bound());
}

void LeaseBound::read_stamped(LogLeases& l, const Record& record, BrokerTime stamped) const {
  const auto over = [&](const InForce& one) {
    if (mutated(Mutation::lease_bound_early)) return one.until <= stamped + one.lease;
    return one.until + clock_error_ < stamped;
  };
  std::erase_if(l.in_force, over);
  if (!l.since) l.since = stamped;
  // A record of another version may state only the longest lease: then that stands for its own.
  const auto& lease = record.lease ? record.lease : record.max_lease;
  if (lease) l.add({*lease, after(stamped, *lease)});
  if (record.max_lease && !l.read_for_long) l.told = std::max(l.told, *record.max_lease);
  if (l.read_for_long) return;
  const milliseconds longest = std::max(l.bound(), own_);
  if (stamped <= after(*l.since, longest) + clock_error_ &&
      !mutated(Mutation::lease_bound_early)) {
    return;
  }
  l.read_for_long = true;
  l.told = milliseconds{0};
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
