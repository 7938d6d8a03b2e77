// OwningReader: what the application is notified of, what it waits for, and what it is waited for.
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <utility>

#include "router/owner/owning_reader.h"

namespace neliroute {
namespace {

Notice health_notice(const std::optional<std::string>& unhealthy, bool starts) {
  if (!unhealthy) return {Severity::info, "the application is healthy: takes its share"};
  if (starts) return {Severity::info, "takes nothing before the application is healthy (" +
                                         *unhealthy + ")"};
  return {Severity::error, "the application is unhealthy (" + *unhealthy +
                               "): hands over what this process owns, and takes nothing until it "
                               "is healthy again"};
}

const char* name_of(TransitionKind kind) noexcept {
  switch (kind) {
    case TransitionKind::acquired:
      return "Listener::acquired()";
    case TransitionKind::draining:
      return "Listener::draining()";
    case TransitionKind::stopped:
      return "Listener::stopped()";
    case TransitionKind::barrier_overdue:
      return "Listener::barrier_overdue()";
    case TransitionKind::released:
      return "Listener::released()";
  }
  return "";
}

void notify(Listener& listener, const Transition& t,
            const std::optional<SharedCompletion>& barrier) {
  switch (t.kind) {
    case TransitionKind::acquired:
      return listener.acquired(t);
    case TransitionKind::draining:
      return listener.draining(t);
    case TransitionKind::stopped:
      return listener.stopped(t, barrier ? barrier->token() : BarrierToken());
    case TransitionKind::barrier_overdue:
      return listener.barrier_overdue(t);
    case TransitionKind::released:
      return listener.released(t);
  }
}

}  // namespace

void OwningReader::tell(const std::vector<Transition>& transitions, LocalTime now) {
  for (const Transition& transition : transitions) {
    const Transition t = completed(transition, now);
    if (t.kind == TransitionKind::stopped) {
      handlers_.run("a callback of Work::stop_token()", t.partition, [&] { stopped_.stopped(t); });
    }
    if (!abandoned_) observers_.tell_transition(t);
    tell_listeners(t);
    if (t.kind == TransitionKind::stopped) tell_work_ended();
  }
}

void OwningReader::tell_work_ended() {
  for (const BarrierDone& one : stopped_.take_without_work()) {
    listeners_.each([&](Listener& listener) {
      if (abandoned_) return;
      handlers_.run("Listener::work_ended()", one.partition,
                    [&] { listener.work_ended(one.partition, one.epoch); });
    });
  }
}

// What the state machine does not know: the peers' names, and how long the application took.
Transition OwningReader::completed(const Transition& transition, LocalTime now) {
  Transition t = transition;
  const bool heard = !listeners_.empty() || !observers_.empty();
  if (t.kind == TransitionKind::acquired) {
    const RunTimes times = end_runs(t.partition, now);
    t.prepare = times.prepare;
    t.warm_up = times.warm_up;
    if (heard) t.previous = predecessor_of(t.partition);
  } else if (t.kind == TransitionKind::released) {
    t.barrier = stopped_.take_time(t.partition, t.epoch);
  } else if (heard && t.kind != TransitionKind::barrier_overdue) {
    t.successor = successor_of(t.partition);
  }
  return t;
}

void OwningReader::tell_listeners(const Transition& t) {
  if (listeners_.empty() && t.kind != TransitionKind::stopped) return;
  std::optional<SharedCompletion> barrier;
  if (t.kind == TransitionKind::stopped) barrier.emplace(barrier_of(t));
  listeners_.each([&](Listener& listener) {
    if (abandoned_) return;
    handlers_.run(name_of(t.kind), t.partition, [&] { notify(listener, t, barrier); });
  });
}

// Never ended from inside a listener: the state machine must not be re-entered.
SharedCompletion OwningReader::barrier_of(const Transition& t) {
  return SharedCompletion([weak = weak(), p = t.partition, epoch = t.epoch] {
    const auto self = weak.lock();
    if (!self) return;
    boost::asio::post(self->strand_, [self, p, epoch] {
      self->stopped_.token_done({p, epoch});
      self->end_barriers();
    });
  });
}

// Partitions stop together, and their barriers complete together: their releases share a record.
void OwningReader::end_barriers() {
  const bool under_way = !barriers_done_.empty();
  for (const EndedBarrier& one : stopped_.take_done()) barriers_done_.push_back(one);
  if (under_way || barriers_done_.empty()) return;
  boost::asio::post(strand_, [self = self()] {
    const auto all = std::exchange(self->barriers_done_, {});
    if (self->closed_) return;
    const LocalTime now = self->no_earlier(self->clock_());
    self->directory_.tick(now);
    for (const EndedBarrier& one : all) {
      const microseconds took = now - one.since;
      self->meter_.note_barrier(took);
      self->stopped_.keep_time(one.done, took);
      self->step(one.done, now);
    }
    self->carry_out(now);
  });
}

void OwningReader::on_work_ended() {
  boost::asio::post(strand_, [self = self()] {
    self->stopped_.look_again();
    self->tell_work_ended();
    self->warn_of_handlers();
    self->end_barriers();
  });
}

// Work that takes longer than the lease is fenced by its epoch. It may go on for hours, say while a
// client stays connected, and is no reason to give up.
void OwningReader::abandon_work(LocalTime now) {
  const std::uint32_t abandoned = stopped_.abandon_overdue(now);
  if (abandoned > 0) {
    meter_.note_abandoned(abandoned);
    log({Severity::warning, "abandoned " + std::to_string(abandoned) +
                                " pieces of work that outlived their lease; another process may "
                                "lead now, and their writes must be refused by epoch"});
  }
  tell_work_ended();
  end_barriers();
}

void OwningReader::refused(Partition partition, const Epoch& stored) {
  if (closed_ || !refusals_.is_news(partition, stored.incarnation, clock_())) return;
  boost::asio::post(strand_, [self = self(), partition, stored] {
    if (self->closed_) return;
    self->on_event(EpochRefused{partition, stored}, self->clock_());
  });
}

std::optional<std::string> OwningReader::unhealthy() const {
  const std::lock_guard lock(health_mutex_);
  return unhealthy_;
}

// A member that assigns says so in its records; of a group only its members are given anything.
void OwningReader::set_health(std::optional<std::string> unhealthy) {
  {
    const std::lock_guard lock(health_mutex_);
    if (unhealthy_ == unhealthy) return;
    unhealthy_ = unhealthy;
  }
  boost::asio::post(strand_, [self = self(), why = std::move(unhealthy)] {
    const bool away = why.has_value();
    if (self->closed_ || std::exchange(self->away_, away) == away) return;
    // Nothing was read, so nothing is led.
    const bool starts = self->directory_.last_answer(Log{0}) == kLongAgo;
    self->meter_.note_health(!away);
    self->log(health_notice(why, starts));
    if (self->group_ != nullptr) return self->group_->stay_away(away);
    self->on_event(Cordoned{away}, self->clock_());
  });
}

std::shared_ptr<ListenerSlot> OwningReader::subscribe(Listener& listener) {
  auto slot = std::make_shared<ListenerSlot>(listener);
  boost::asio::post(strand_, [self = self(), slot] {
    self->listeners_.add(slot);
    if (self->abandoned_) return;
    self->replay_leading(slot);
    if (!self->failure_) return;
    slot->run([&](Listener& late) { self->tell_failed(late, *self->failure_); });
  });
  return slot;
}

// A listener that subscribes late is notified of what is led already.
void OwningReader::replay_leading(const std::shared_ptr<ListenerSlot>& slot) {
  const LocalTime now = clock_();
  for (std::uint32_t i = 0; i < core_->leases()->size() && !abandoned_; ++i) {
    const Partition p{i};
    const RoleState state = core_->role_state(p);
    if (state != RoleState::leading && state != RoleState::draining) continue;
    const Epoch epoch = *core_->epoch(p);
    const auto tell_one = [&](TransitionKind kind) {
      slot->run([&](Listener& late) {
        handlers_.run(name_of(kind), p, [&] {
          notify(late, {kind, p, epoch, now, StopReason::none, kNever}, std::nullopt);
        });
      });
    };
    tell_one(TransitionKind::acquired);
    if (state == RoleState::draining && !abandoned_) tell_one(TransitionKind::draining);
  }
  warn_of_handlers();
}

void OwningReader::tell_failed(Listener& listener, const Error& error) {
  handlers_.run("Listener::failed()", std::nullopt, [&] { listener.failed(error); });
}

void OwningReader::tell_application(const Error& error) {
  listeners_.each([&](Listener& listener) {
    if (!abandoned_) tell_failed(listener, error);
  });
}

}  // namespace neliroute
