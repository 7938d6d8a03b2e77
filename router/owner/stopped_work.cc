#include "router/owner/stopped_work.h"

#include <algorithm>

namespace neliroute {

void StoppedWork::publish(const std::vector<Transition>& transitions) {
  bool closed = false;
  for (const Transition& t : transitions) {
    if (t.kind == TransitionKind::acquired) {
      gate_->open(t.partition, t.epoch);
    } else if (t.kind == TransitionKind::stopped) {
      gate_->close(t.partition);
      closed = true;
    }
  }
  // Once for all of them: it interrupts every processor that runs a thread of this process.
  if (closed) gate_->settle();
}

void StoppedWork::stopped(const Transition& t) {
  const auto at =
      barriers_.insert_or_assign(t.partition, Barrier{t.epoch, t.barrier_deadline, t.at}).first;
  if (gate_->under_way(t.partition) == 0) {
    end_work(at);
  } else {
    next_deadline_ = std::min(next_deadline_, at->second.deadline);
  }
  gate_->request_stop(t.partition);
}

void StoppedWork::end_work(Barriers::iterator at) {
  at->second.work_done = true;
  without_work_.push_back({at->first, at->second.epoch});
}

StoppedWork::Barriers::iterator StoppedWork::end_if_done(Barriers::iterator at) {
  if (!at->second.token_done || !at->second.work_done) return std::next(at);
  done_.push_back({{at->first, at->second.epoch}, at->second.since});
  return barriers_.erase(at);
}

void StoppedWork::token_done(const BarrierDone& barrier) {
  const auto at = barriers_.find(barrier.partition);
  if (at == barriers_.end() || at->second.epoch != barrier.epoch) return;
  at->second.token_done = true;
  end_if_done(at);
}

void StoppedWork::look_again() {
  for (const Partition partition : gate_->take_ended()) {
    const auto at = barriers_.find(partition);
    if (at == barriers_.end() || at->second.work_done) continue;
    if (gate_->under_way(partition) == 0) end_work(at);
    end_if_done(at);
  }
}

void StoppedWork::keep_time(const BarrierDone& barrier, microseconds took) {
  times_.insert_or_assign(barrier.partition, Time{barrier.epoch, took});
}

microseconds StoppedWork::take_time(Partition partition, const Epoch& epoch) {
  const auto at = times_.find(partition);
  if (at == times_.end() || at->second.epoch != epoch) return microseconds{0};
  return times_.extract(at).mapped().took;
}

std::uint32_t StoppedWork::abandon_overdue(LocalTime now) {
  if (now < next_deadline_) return 0;
  next_deadline_ = kNever;
  std::uint32_t abandoned = 0;
  for (auto at = barriers_.begin(); at != barriers_.end();) {
    Barrier& barrier = at->second;
    if (!barrier.work_done && barrier.deadline <= now) {
      const std::uint32_t left = gate_->under_way(at->first);
      if (left > 0) gate_->abandon(at->first);
      abandoned += left;
      end_work(at);
    } else if (!barrier.work_done) {
      next_deadline_ = std::min(next_deadline_, barrier.deadline);
    }
    at = end_if_done(at);
  }
  return abandoned;
}

}  // namespace neliroute
