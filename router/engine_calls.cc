// Engine: what the application hears, what it waits for, and what is waited for of it.
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <utility>

#include "router/engine.h"

namespace neliroute {

void Engine::tell_change(Partition partition) const {
  if (!on_change_ || abandoned_) return;
  handlers_.run("on_change", partition, [&] { on_change_(partition); });
}

void Engine::tell(const std::vector<Transition>& transitions) {
  for (const Transition& t : transitions) {
    BarrierToken token;
    if (t.kind == TransitionKind::stopped) {
      handlers_.run("a callback of Work::stop_token()", t.partition, [&] { stopped_.stopped(t); });
      token = BarrierToken([weak = weak_from_this(), p = t.partition, epoch = t.epoch] {
        const auto self = weak.lock();
        if (!self) return;
        // Never from inside the handler: the state machine is not to be re-entered.
        boost::asio::post(self->strand_, [self, p, epoch] {
          self->stopped_.token_done({p, epoch});
          self->end_barriers();
        });
      });
    }
    if (!abandoned_) observers_.tell_transition(t);
    if (!on_transition_ || abandoned_) continue;
    handlers_.run("on_transition", t.partition, [&] { on_transition_(t, std::move(token)); });
  }
}

// Partitions stop together, and their barriers end together: their releases share a record.
void Engine::end_barriers() {
  const bool under_way = !barriers_done_.empty();
  for (const BarrierDone& one : stopped_.take_done()) barriers_done_.push_back(one);
  if (under_way || barriers_done_.empty()) return;
  boost::asio::post(strand_, [self = shared_from_this()] {
    const auto all = std::exchange(self->barriers_done_, {});
    if (self->closed_) return;
    const LocalTime now = self->no_earlier(self->clock_());
    self->directory_.tick(now);
    for (const BarrierDone& one : all) self->step(one, now);
    self->carry_out(now);
  });
}

void Engine::on_work_ended() {
  boost::asio::post(strand_, [self = shared_from_this()] {
    self->stopped_.look_again();
    self->end_barriers();
  });
}

// What takes longer than the lease is fenced by its epoch. It may go on for hours, say while a
// client stays connected, and is no reason to give up.
void Engine::abandon_work(LocalTime now) {
  const std::uint32_t abandoned = stopped_.abandon_overdue(now);
  if (abandoned > 0) {
    meter_.note_abandoned(abandoned);
    log({Severity::warning, "abandoned " + std::to_string(abandoned) +
                                " pieces of work that outlived their lease; another process may "
                                "lead now, and their writes must be refused by epoch"});
  }
  end_barriers();
}

// Every write to a store may say so, on many threads, while the executor is busy: it hears of a
// greater incarnation at once, and of any after an interval: it may not have led when it heard, or
// not have believed what another store said.
bool Engine::is_news(Partition partition, std::int64_t incarnation) {
  const LocalTime now = clock_();
  const std::lock_guard lock(refusals_mutex_);
  Refusal& last = refusals_[partition];
  if (incarnation <= last.incarnation && now < later(last.told, interval_)) return false;
  last = {incarnation, now};
  return true;
}

void Engine::refused(Partition partition, const Epoch& stored) {
  if (closed_ || !is_news(partition, stored.incarnation)) return;
  boost::asio::post(strand_, [self = shared_from_this(), partition, stored] {
    if (self->closed_ || !self->core_) return;
    self->on_event(EpochRefused{partition, stored}, self->clock_());
  });
}

void Engine::when_ready(std::uint64_t id, ReadyHandler handler) {
  boost::asio::post(strand_, [self = shared_from_this(), id, handler = std::move(handler)] {
    if (const auto& failure = self->failure()) return handler(failure->code());
    if (self->closed_) return handler(Errc::closed);
    self->ready_.add(id, handler);
    self->tell_ready(self->no_earlier(self->clock_()));
    self->arm();
  });
}

void Engine::cancel_ready(std::uint64_t id) {
  boost::asio::post(strand_, [self = shared_from_this(), id] {
    const ReadyHandler handler = self->ready_.take(id);
    if (handler) handler(boost::asio::error::operation_aborted);
  });
}

void Engine::tell_ready(LocalTime now) {
  if (!ready_.awaited()) return;
  const bool leads_all = core_ && meter_.leads_all_assigned();
  const auto known = [&](Partition p) {
    return view_.look(Slot{p.value()}, now).verdict != Verdict::unknown;
  };
  if (leads_all || ready_.all(view_.partition_count(), known)) ready_.complete_all({});
}

void Engine::end_turn() {
  if (const auto notice = handlers_.end_turn()) log(*notice);
}

void Engine::set_transition_handler(TransitionHandler handler) {
  boost::asio::post(strand_, [self = shared_from_this(), handler = std::move(handler)]() mutable {
    self->on_transition_ = std::move(handler);
    self->replay_leading();
  });
}

// Who asks late hears of what is led already.
void Engine::replay_leading() {
  if (!core_ || !on_transition_ || abandoned_) return;
  const LocalTime now = clock_();
  for (std::uint32_t i = 0; i < core_->leases()->size(); ++i) {
    const Partition p{i};
    const RoleState state = core_->role_state(p);
    if (state != RoleState::leading && state != RoleState::draining) continue;
    if (abandoned_ || !on_transition_) return;
    const Epoch epoch = *core_->epoch(p);
    const auto tell_one = [&](TransitionKind kind) {
      handlers_.run("on_transition", p, [&] {
        on_transition_({kind, p, epoch, now, StopReason::none, kNever}, {});
      });
    };
    tell_one(TransitionKind::acquired);
    if (state == RoleState::draining && !abandoned_) tell_one(TransitionKind::draining);
  }
  end_turn();
}

void Engine::set_change_handler(ChangeHandler handler) {
  boost::asio::post(strand_, [self = shared_from_this(), handler = std::move(handler)]() mutable {
    self->on_change_ = std::move(handler);
  });
}

void Engine::set_failure_handler(FailureHandler handler) {
  boost::asio::post(strand_, [self = shared_from_this(), handler = std::move(handler)]() mutable {
    self->on_failure_ = std::move(handler);
    const bool asked = self->on_failure_ && !self->abandoned_;
    if (self->failure() && asked) self->on_failure_(*self->failure());
  });
}

void Engine::fail(const Error& error) {
  if (failure_) return;
  failure_ = error;
  closing_ = true;
  tell_failure(error);
}

void Engine::tell_failure(const Error& error) {
  if (!abandoned_) observers_.tell_failure(error);
  ready_.complete_all(error.code());
  if (on_failure_ && !abandoned_) {
    handlers_.run("on_failure", std::nullopt, [&] { on_failure_(error); });
  }
}

}  // namespace neliroute
