// OwningReader: what the application does before this process leads: it prepares, and warms up.
#include <boost/asio/post.hpp>
#include <utility>

#include "router/owner/owning_reader.h"

namespace neliroute {

// Most applications prepare nothing, and have done so before this returns: then the state machine
// goes on at once. Returns whether it did.
bool OwningReader::let_prepare(const Ready& ready, LocalTime now) {
  pass_runs(ready, now);
  if (ready.prepares.empty() && ready.warm_ups.empty()) return false;
  ended_runs_.expect_taker();
  for (const Partition p : ready.prepares) {
    const Run run = preparing_.begin(RunKind::prepare, p, now);
    const SharedCompletion all = completion_of_run(run);
    const auto predecessor = predecessor_of(p);
    listeners_.each([&](Listener& listener) {
      if (abandoned_) return;
      handlers_.run("Listener::prepare()", p, [&] {
        listener.prepare(p, all.token<PrepareToken>(preparing_.cancelled(p), predecessor));
      });
    });
  }
  for (const Transition& t : ready.warm_ups) {
    const SharedCompletion all =
        completion_of_run(preparing_.begin(RunKind::warm_up, t.partition, now));
    Transition told = t;
    told.previous = predecessor_of(t.partition);
    listeners_.each([&](Listener& listener) {
      if (abandoned_) return;
      handlers_.run("Listener::warm_up()", t.partition,
                    [&] { listener.warm_up(told, all.token<ReadyToken>()); });
    });
  }
  warn_of_handlers();
  return take_ended_runs(now);
}

// A step that comes while the one before it is under way comes since that one's time was over.
void OwningReader::pass_runs(const Ready& ready, LocalTime now) {
  for (const Partition p : ready.unprepared) {
    handlers_.run("a callback of PrepareToken::cancelled()", p, [&] { preparing_.cancel(p); });
  }
  if (preparing_.empty()) return;
  for (const Transition& t : ready.warm_ups) {
    if (preparing_.pass(RunKind::prepare, t.partition, now)) meter_.note_late(RunKind::prepare);
  }
  for (const Transition& t : ready.transitions) {
    if (t.kind == TransitionKind::stopped) preparing_.forget(t.partition);
  }
}

RunTimes OwningReader::end_runs(Partition partition, LocalTime now) {
  if (preparing_.pass(RunKind::warm_up, partition, now)) meter_.note_late(RunKind::warm_up);
  return preparing_.take_times(partition);
}

SharedCompletion OwningReader::completion_of_run(const Run& run) {
  return SharedCompletion([weak = weak(), run] {
    if (const auto self = weak.lock()) self->on_run_ended(run);
  });
}

// Thousands that end together are taken together: what follows from them shares a record.
void OwningReader::on_run_ended(const Run& run) {
  if (!ended_runs_.add(run)) return;
  boost::asio::post(strand_, [self = self()] {
    if (self->closed_) return;
    const LocalTime now = self->no_earlier(self->clock_());
    self->directory_.tick(now);
    if (self->take_ended_runs(now)) self->carry_out(now);
  });
}

bool OwningReader::take_ended_runs(LocalTime now) {
  std::vector<Partition> prepared;
  std::vector<Partition> warm;
  for (const Run& run : ended_runs_.take()) {
    const auto took = preparing_.end(run, now);
    if (!took) continue;
    meter_.note_run(run.kind, *took);
    (run.kind == RunKind::prepare ? prepared : warm).push_back(run.partition);
  }
  if (!prepared.empty()) step(Prepared{PartitionRanges::of(prepared)}, now);
  if (!warm.empty()) step(WarmedUp{PartitionRanges::of(warm)}, now);
  return !prepared.empty() || !warm.empty();
}

// Who leads it or, if nobody does, who led it last.
std::shared_ptr<const Predecessor> OwningReader::predecessor_of(Partition partition) const {
  const Hint& hint = directory_.hint(partition);
  const bool led = hint.owner && hint.owner->id != self_->id;
  const PeerPtr& who = led ? hint.owner : hint.former.who;
  if (!who) return nullptr;
  return std::make_shared<const Predecessor>(
      Predecessor{who->info, led ? hint.epoch : hint.former.epoch,
                  led ? Ending::none : hint.former.ending});
}

std::shared_ptr<const ProcessInfo> OwningReader::successor_of(Partition partition) const {
  const Hint& hint = directory_.hint(partition);
  const bool led = hint.owner && hint.owner->id != self_->id;
  const PeerPtr& who = hint.next && hint.next->id != self_->id ? hint.next : hint.owner;
  if (!who || (!led && who == hint.owner)) return nullptr;
  return {who, &who->info};
}

}  // namespace neliroute
