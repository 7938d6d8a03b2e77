// ClaimProtocol: what the application does before this process leads: it prepares before the claim,
// while another process may still lead, and warms up after it, when no other does.
#include <algorithm>
#include <chrono>
#include <utility>

#include "neli_core/claimed/claim_protocol.h"

namespace neliroute {

// When the claim may be written, which is due at `claim`. Preparing begins while it waits for
// anything but another owner, who may stay for ever. Who holds an epoch has nothing to prepare.
LocalTime ClaimProtocol::prepare(Partition partition, LocalTime claim) {
  PartitionState& p = state(partition);
  if (options_.prepare_timeout.count() == 0 || claim == kNever || p.own) return claim;
  if (p.preparation == Preparation::none && (p.claim_due || claim <= now_)) {
    p.prepare_until = later(now_, options_.prepare_timeout);
    set_preparation(partition, Preparation::running);
    ready_.prepares.push_back(partition);
  } else if (p.preparation == Preparation::running && now_ >= p.prepare_until) {
    set_preparation(partition, Preparation::done);
  }
  return p.preparation == Preparation::running ? std::max(claim, p.prepare_until) : claim;
}

void ClaimProtocol::on(const Prepared& event) {
  event.partitions.for_each(partition_count(), [this](Partition partition) {
    if (state(partition).preparation != Preparation::running) return;
    set_preparation(partition, Preparation::done);
    evaluate(partition);
  });
}

void ClaimProtocol::set_preparation(Partition partition, Preparation preparation) {
  PartitionState& p = state(partition);
  const auto runs = [](Preparation one) { return one == Preparation::running ? 1U : 0U; };
  preparing_count_ += runs(preparation);
  preparing_count_ -= runs(p.preparation);
  p.preparation = preparation;
  if (preparation == Preparation::running) {
    prepares_until_ = std::max(prepares_until_, p.prepare_until);
  }
}

// This process will not lead it, and an application that leads nothing is notified of no stop.
void ClaimProtocol::drop_preparation(Partition partition) {
  const PartitionState& p = state(partition);
  if (p.preparation == Preparation::none) return;
  if (!p.own || !p.own->leading || p.warm_up_untold) ready_.unprepared.push_back(partition);
  set_preparation(partition, Preparation::none);
}

void ClaimProtocol::begin_warming_up(Partition partition) {
  set_warm_until(partition, later(now_, options_.prepare_timeout));
  state(partition).warm_up_untold = ready_.warm_ups.size();
  ready_.warm_ups.push_back(
      {TransitionKind::acquired, partition, state(partition).own->epoch, now_});
  set_epoch_lease(partition);
}

void ClaimProtocol::set_warm_until(Partition partition, LocalTime until) {
  PartitionState& p = state(partition);
  preparing_count_ += until != kNever ? 1U : 0U;
  preparing_count_ -= p.warms_up() ? 1U : 0U;
  p.warm_until = until;
  p.warm_up_untold.reset();
  if (until != kNever) prepares_until_ = std::max(prepares_until_, until);
}

// Not those that were over before anybody could be told of them, as a driver steps through a batch
// of events before it takes what follows from them.
void ClaimProtocol::tell_warm_ups() {
  std::vector<Transition> begun = std::exchange(ready_.warm_ups, {});
  for (std::size_t i = 0; i < begun.size(); ++i) {
    PartitionState& p = state(begun[i].partition);
    if (p.warm_up_untold != i) continue;
    p.warm_up_untold.reset();
    ready_.warm_ups.push_back(std::move(begun[i]));
  }
}

void ClaimProtocol::on(const WarmedUp& event) {
  event.partitions.for_each(partition_count(), [this](Partition partition) {
    if (!state(partition).warms_up()) return;
    serve(partition);
    evaluate(partition);
  });
}

// From here on the answer is yes.
void ClaimProtocol::serve(Partition partition) {
  PartitionState& p = state(partition);
  set_warm_until(partition, kNever);
  set_epoch_lease(partition);
  announce(TransitionKind::acquired, partition, p.own->epoch);
  if (p.own->draining) announce(TransitionKind::draining, partition, p.own->epoch);
  note_state_change(partition);
}

milliseconds ClaimProtocol::preparing_for() const noexcept {
  if (preparing_count_ == 0 || prepares_until_ <= now_) return milliseconds{0};
  return std::chrono::ceil<milliseconds>(prepares_until_ - now_);
}

PartitionRanges ClaimProtocol::preparing() const {
  PartitionRanges preparing;
  for (std::uint32_t p = 0; p < partition_count(); ++p) {
    const PartitionState& one = state(Partition{p});
    if (one.preparation == Preparation::running || one.warms_up()) {
      preparing.insert(Partition{p});
    }
  }
  return preparing;
}

}  // namespace neliroute
