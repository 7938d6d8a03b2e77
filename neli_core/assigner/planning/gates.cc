#include "neli_core/assigner/planning/gates.h"

#include <algorithm>
#include <utility>

#include "neli_core/mutation.h"

namespace neliroute {
namespace {

}  // namespace

void Gates::begin(ProcessId predecessor, LocalTime now) {
  begun_ = now;
  predecessor_ = predecessor;
  written_ = kLongAgo;
  patient_ = false;
  patient_until_ = kLongAgo;
}

void Gates::read_anew(Log log, LocalTime now) {
  LogStarts& starts = logs_[log.value()];
  // Those that are less apart belong together: nothing is waited for longer than that.
  if (now >= later(starts.started, options_.session)) starts.series = now;
  starts.started = now;
}

LocalTime Gates::plan_read_by() const {
  if (written_ == kLongAgo || mutated(Mutation::plans_unread)) return kLongAgo;
  return later(written_, 2 * options_.interval);
}

// Who owns what is known when each has renewed it. Others' intervals may be longer than this one's,
// up to a third of their sessions; but a long session holds nobody up for longer than this one's.
// Nor does a tail that restarts again and again, or a log that cannot be read at all, for ever.
LocalTime Gates::owners_heard_by(const Members& members) const {
  if (mutated(Mutation::plans_before_owners)) return kLongAgo;
  const milliseconds longest = mutated(Mutation::waits_for_the_longest)
                                   ? members.longest_session()
                                   : std::min(members.longest_session(), 3 * options_.session);
  const microseconds renewed = std::max<microseconds>(2 * options_.interval, longest / 3);
  const microseconds most = std::max<microseconds>(renewed, options_.session);
  LocalTime until = kLongAgo;
  for (const LogStarts& log : logs_) {
    const bool read = log.started != kLongAgo;
    until = std::max(until, read ? std::min(later(log.started, renewed), later(log.series, most))
                                 : later(begun_, 2 * options_.interval));
  }
  return until;
}

// Who starts a group need not hand over half of it a moment later.
LocalTime Gates::newcomers_come_by(const AssignerView& view) const {
  if (mutated(Mutation::names_the_first)) return kLongAgo;
  return std::min(later(view.members.last_newcomer(), 2 * options_.interval),
                  later(begun_, options_.session));
}

// More likely than the death of many is that this process was cut off from them. While it waits,
// those count that made it wait, however long ago they fell silent.
LocalTime Gates::dead_by(const Members& members, LocalTime now) {
  const bool waits = patient_ && now < patient_until_;
  const LocalTime from = waits ? patient_from_ : now - options_.session;
  // Whom this process replaced is dead for certain, and needs no others to have died with it.
  const std::size_t dead = members.deaths_after(from, predecessor_);
  const bool many = dead >= 2 && 3 * dead > members.living_count() + dead &&
                    !mutated(Mutation::believes_many_deaths);
  if (!many) {
    patient_ = false;
    return kLongAgo;
  }
  if (!patient_) {
    patient_ = true;
    ++waits_;
    patient_from_ = from;
    patient_until_ = later(now, with_drift(options_.session));
    notices_.push_back({Severity::warning,
                        std::to_string(dead) + " members fell silent within a session: waiting "
                        "another session before others are named for their partitions"});
  }
  return patient_until_;
}

std::optional<Gates::Wait> Gates::closed(const AssignerView& view, LocalTime now) {
  const std::pair<WaitReason, LocalTime> gates[] = {
      {WaitReason::unread_plan, plan_read_by()},
      {WaitReason::owners, owners_heard_by(view.members)},
      {WaitReason::dead, dead_by(view.members, now)},
  };
  for (const auto& [reason, until] : gates) {
    if (now < until) return Wait{reason, until};
  }
  const LocalTime come = newcomers_come_by(view);
  if (now >= come || some_live(view, now)) return std::nullopt;
  return Wait{WaitReason::newcomers, come};
}

// Somebody that lives owns something, or is named for it.
bool Gates::some_live(const AssignerView& view, LocalTime now) {
  const std::uint32_t count = view.designations.count();
  for (std::uint32_t p = 0; p < count; ++p) {
    const Partition partition{p};
    if (view.members.lives(view.owners.at(partition, now).id)) return true;
    if (view.members.lives(view.designations.at(partition).id)) return true;
  }
  return false;
}

std::vector<Notice> Gates::take_notices() { return std::exchange(notices_, {}); }

}  // namespace neliroute
