#include "neli_core/leaving/barriers.h"

#include <algorithm>
#include <neliroute/detail/assert.h>
#include <string>

namespace neliroute {

void Barriers::begin(const Transition& stopped, LocalTime now, Ready& ready) {
  NELIROUTE_ASSERT(!runs(stopped.partition), "nobody leads while an older barrier still runs");
  ready.transitions.push_back(stopped);
  const LocalTime deadline = stopped.barrier_deadline;
  // Later than the deadline for a process that was stopped and noticed the lapse on waking up.
  const LocalTime stuck_at = later(std::max(deadline, now), lease_);
  // After a lapse, one notification carries both the deadline and that it has passed.
  barriers_[stopped.partition.value()] =
      Barrier{stopped.epoch, deadline, stuck_at, now >= deadline, false};
  ++count_;
}

std::optional<bool> Barriers::end(const BarrierDone& event) {
  std::optional<Barrier>& barrier = barriers_[event.partition.value()];
  if (!barrier || barrier->epoch != event.epoch) return std::nullopt;
  const bool release = barrier->release_after;
  barrier.reset();
  --count_;
  return release;
}

bool Barriers::put_off_release(Partition partition, const Epoch& epoch) {
  std::optional<Barrier>& barrier = barriers_[partition.value()];
  if (!barrier || barrier->epoch != epoch) return false;
  return barrier->release_after = true;
}

LocalTime Barriers::advance(Partition partition, LocalTime now, Ready& ready) {
  if (!runs(partition)) return kNever;
  Barrier& barrier = *barriers_[partition.value()];
  if (!barrier.overdue_told) {
    if (now < barrier.deadline) return barrier.deadline;
    barrier.overdue_told = true;
    ready.transitions.push_back({TransitionKind::barrier_overdue, partition, barrier.epoch, now});
  }
  return now < barrier.stuck_at ? barrier.stuck_at : kNever;
}

bool Barriers::is_stuck(Partition partition, LocalTime now) const {
  return runs(partition) && now >= barriers_[partition.value()]->stuck_at;
}

Error Barriers::stuck(Partition partition) const {
  return {Errc::barrier_stuck, "the barrier of partition " + std::to_string(partition.value()) +
                                   " still runs " + std::to_string(lease_.count()) +
                                   " ms after its lease ended; leaving the group"};
}

}  // namespace neliroute
