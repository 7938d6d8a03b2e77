#include "router/engine.h"

#include <boost/asio/post.hpp>
#include <algorithm>
#include <utility>

namespace neliroute {
namespace {

// No lease is nearly as long, so nothing that a longer bound could wait for is left.
constexpr milliseconds kDrainMax{std::chrono::hours{24}};
// A ledger that does not close by then is left to the operating system.
constexpr milliseconds kCloseBound{3000};
// One that does not even say so is dropped.
constexpr milliseconds kCloseGrace{500};
// How long a planned leave waits to hear how many others there are.
constexpr milliseconds kCountBound{1000};

std::shared_ptr<LeaseVector> leases_of(const EngineParts& parts) {
  return parts.core ? parts.core->leases()
                    : std::make_shared<LeaseVector>(parts.directory.partitions);
}

}  // namespace

Engine::Engine(EngineParts parts)
    : strand_(parts.strand),
      timer_(parts.strand),
      ledger_(std::move(parts.ledger)),
      core_(std::move(parts.core)),
      directory_(parts.directory),
      view_(parts.self, core_ ? core_->leases() : leases_of(parts), parts.directory.logs),
      agreement_(parts.settings, parts.directory.lane, /*member=*/false),
      log_(std::move(parts.log)),
      clock_(std::move(parts.clock)),
      self_id_(parts.self.id),
      log_count_(parts.directory.logs),
      lease_(parts.directory.lease),
      ends_at_start_(parts.directory.logs, 0),
      silences_(parts.directory.logs, Silence::unknown) {}

void Engine::start() {
  boost::asio::post(strand_, [self = shared_from_this()] {
    if (self->closed_) return;
    self->ledger_->on_refused([weak = self->weak_from_this()](const Error& error) {
      const auto engine = weak.lock();
      if (!engine || engine->closed_) return;
      engine->fail(error);
      if (engine->core_) engine->request_close(milliseconds{0});
    });
    self->ledger_->start(
        [engine = self.get()](const Event& event, LocalTime now) { engine->on_event(event, now); },
        [engine = self.get()](const Notice& notice) { engine->log(notice); });
    self->on_timer();
  });
}

// A ledger may have read its clock before a timer of ours did, and been heard after it.
LocalTime Engine::no_earlier(LocalTime now) { return last_now_ = std::max(now, last_now_); }

void Engine::on_event(const Event& event, LocalTime now) {
  if (closed_) return;
  now = no_earlier(now);
  feed_directory(event, now);
  if (core_) {
    core_->step(event, now);
  } else {
    watch_event(event, now);
  }
  carry_out(now);
}

void Engine::feed_directory(const Event& event, LocalTime now) {
  directory_.tick(now);
  std::visit([&](const auto& e) { directory_.on(e, now); }, event);
}

// What the state machine does for an owner: tails are restarted after a gap, and settings that
// differ from the group's are noticed; a key would be sent to the wrong process.
void Engine::watch_event(const Event& event, LocalTime now) {
  if (const auto* gap = std::get_if<GapFound>(&event)) {
    log({Severity::error, "log " + std::to_string(gap->log.value()) + ": " +
                              to_string(gap->reason) +
                              "; its owners are unknown until it is read again"});
    ledger_->restart_tail(gap->log);
  } else if (const auto* started = std::get_if<TailStarted>(&event)) {
    ends_at_start_[started->log.value()] = started->end;
  } else if (const auto* received = std::get_if<Received>(&event)) {
    const auto* record = std::get_if<Record>(received->value);
    if (record == nullptr) return;
    agreement_.note(*record, record->lease.value_or(lease_), now,
                    received->offset >= ends_at_start_[received->log.value()]);
    if (auto conflict = agreement_.conflict(std::nullopt, now)) fail(*conflict);
  }
}

// A silent log is asked for any sign of life, so that `unowned` can be told from `unknown`.
void Engine::watch_silence(LocalTime now) {
  if (core_ || now < next_probe_) return;
  next_probe_ = later(now, lease_ / 2);
  for (std::uint32_t l = 0; l < log_count_; ++l) {
    const LocalTime until = directory_.answering_until(Log{l});
    // Asked while enough of T is left for the answer: what was read in the last T/4 will do
    // until the next look.
    if (until != kLongAgo && until < later(now, lease_ * 3 / 4)) {
      ledger_->reread({Log{l}, ++question_, -1});
    }
  }
}

// What no record tells: that a log fell silent, or was heard for long enough.
void Engine::tell_silence(LocalTime now) {
  if (core_) return;
  for (std::uint32_t l = 0; l < log_count_; ++l) {
    Silence silence = Silence::unknown;
    if (now < directory_.answering_until(Log{l})) {
      silence = now < directory_.history_until(Log{l}) ? Silence::unheard : Silence::unowned;
    }
    if (std::exchange(silences_[l], silence) == silence) continue;
    for (std::uint32_t p = l; p < view_.partition_count(); p += log_count_) {
      if (!directory_.hint(Partition{p}).owner) tell_change(Partition{p});
    }
  }
}

void Engine::tell_change(Partition partition) const {
  if (on_change_ && !abandoned_) on_change_(partition);
}

void Engine::log(const Notice& notice) const {
  if (log_ && !abandoned_) log_(notice);
}

void Engine::carry_out(LocalTime now) {
  Ready ready;
  if (core_) ready = core_->take_ready();
  // A gap that the state machine found by itself is one for hints, too.
  for (const Log log : ready.restart_tails) directory_.on(GapFound{log}, now);
  publish(ready.transitions);
  tell(ready.transitions);
  if (closed_) return;
  if (ready.rebalances_done > 0) ledger_->finish_rebalances(ready.rebalances_done);
  if (ready.broadcast) ledger_->broadcast();
  for (Write& write : ready.writes) ledger_->write(std::move(write));
  for (const Log log : ready.restart_tails) ledger_->restart_tail(log);
  for (const RereadRequest& request : ready.rereads) ledger_->reread(request);
  if (ready.subscribe) ledger_->subscribe();
  if (ready.leave_group) ledger_->leave_group();
  for (const Notice& notice : ready.notices) log(notice);
  if (ready.refused) fail(*ready.refused);
  watch_silence(now);
  tell_silence(now);
  if (ready.closed) {
    close_ledger();
  } else {
    arm();
  }
}

// Readers see it before the application is told.
void Engine::publish(const std::vector<Transition>& transitions) {
  for (const Transition& t : transitions) {
    if (t.kind == TransitionKind::acquired) {
      view_.set_local(t.partition, t.epoch, core_->generation(t.partition));
    } else if (t.kind == TransitionKind::stopped) {
      view_.set_local(t.partition, kNoEpoch, core_->generation(t.partition));
      directory_.forget_owner(t.partition, self_id_, t.at);
    }
  }
  const std::vector<Partition> changed = directory_.take_changed();
  const std::vector<Partition> renewed = directory_.take_renewed();
  for (const Partition p : changed) view_.set_hint(p, directory_.hint(p));
  view_.publish();
  for (const Partition p : renewed) view_.set_hint_until(p, directory_.hint(p));
  for (std::uint32_t l = 0; l < log_count_; ++l) {
    view_.set_log(Log{l}, directory_.answering_until(Log{l}), directory_.history_until(Log{l}));
  }
  for (const Partition p : changed) tell_change(p);
}

void Engine::tell(const std::vector<Transition>& transitions) {
  for (const Transition& t : transitions) {
    BarrierToken token;
    if (t.kind == TransitionKind::stopped) {
      token = BarrierToken([weak = weak_from_this(), p = t.partition, epoch = t.epoch] {
        const auto self = weak.lock();
        if (!self) return;
        // Never from inside the handler: the state machine is not to be re-entered.
        boost::asio::post(self->strand_, [self, p, epoch] { self->on_barrier_done({p, epoch}); });
      });
    }
    if (on_transition_ && !abandoned_) on_transition_(t, std::move(token));
  }
}

// Partitions stop together, and their barriers end together: their releases share a record.
void Engine::on_barrier_done(const BarrierDone& done) {
  barriers_done_.push_back(done);
  if (barriers_done_.size() > 1) return;
  boost::asio::post(strand_, [self = shared_from_this()] {
    const auto all = std::exchange(self->barriers_done_, {});
    if (self->closed_) return;
    const LocalTime now = self->no_earlier(self->clock_());
    self->directory_.tick(now);
    for (const BarrierDone& one : all) self->core_->step(one, now);
    self->carry_out(now);
  });
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
    on_transition_({TransitionKind::acquired, p, epoch, now, StopReason::none, kNever}, {});
    if (state == RoleState::draining) {
      on_transition_({TransitionKind::draining, p, epoch, now, StopReason::none, kNever}, {});
    }
  }
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
    if (self->failure_ && asked) self->on_failure_(*self->failure_);
  });
}

void Engine::fail(const Error& error) {
  if (failure_) return;
  failure_ = error;
  closing_ = true;
  if (on_failure_ && !abandoned_) on_failure_(error);
}

void Engine::drain(milliseconds bound, std::function<void()> done) {
  bound = std::clamp(bound, milliseconds{0}, kDrainMax);
  boost::asio::post(strand_, [self = shared_from_this(), bound, done = std::move(done)]() mutable {
    if (!self->ledger_) return done();
    self->drained_.push_back(std::move(done));
    if (self->closed_) return;
    if (!self->core_) return self->close_ledger();
    if (self->closing_ || bound.count() <= 0) return self->request_close(bound);
    self->close_unless_alone(bound);
  });
}

// Alone, there is nobody to hand over to, and the bound would pass in vain. The group is asked
// before it is left; who gets no answer soon takes it that there are others.
void Engine::close_unless_alone(milliseconds bound) {
  closing_ = true;
  auto patience = std::make_shared<boost::asio::steady_timer>(strand_);
  patience->expires_after(std::min(bound, kCountBound));
  // The wait owns the timer: an answer that comes when all is over must not touch the executor's.
  patience->async_wait(
      [weak = weak_from_this(), patience, bound](const boost::system::error_code& error) {
        const auto self = weak.lock();
        if (self && !error) self->request_close(bound);
      });
  ledger_->count_members([weak = weak_from_this(), waiting = std::weak_ptr(patience),
                          bound](std::optional<std::size_t> members) {
    const auto self = weak.lock();
    if (!self) return;
    boost::asio::post(self->strand_, [self, waiting, bound, members] {
      // Over, or about to be: the close was asked for without this answer.
      const auto timer = waiting.lock();
      if (!timer || timer->cancel() == 0) return;
      self->request_close(members && *members <= 1 ? milliseconds{0} : bound);
    });
  });
}

void Engine::request_close(milliseconds bound) {
  if (closed_) return;
  closing_ = true;
  const LocalTime now = clock_();
  on_event(CloseRequested{later(now, bound)}, now);
}

void Engine::abandon() {
  abandoned_ = true;
  boost::asio::post(strand_, [self = shared_from_this()] {
    if (!self->closed_) self->close_ledger();
  });
}

void Engine::close_ledger() {
  closed_ = true;
  // Nothing more will be heard: from now on every answer is `unknown`.
  const LocalTime now = clock_();
  for (std::uint32_t l = 0; l < log_count_; ++l) directory_.on(GapFound{Log{l}}, now);
  publish({});
  // The timer keeps this object alive, not the ledger, which is a part of it: should the executor
  // be destroyed first, both go. And the ledger is not destroyed from inside its own call.
  timer_.expires_after(kCloseBound + kCloseGrace);
  timer_.async_wait(
      [self = shared_from_this()](const boost::system::error_code&) { self->finish_close(); });
  ledger_->close(later(now, kCloseBound), [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->timer_.cancel();
  });
}

void Engine::finish_close() {
  ledger_.reset();
  for (auto& done : std::exchange(drained_, {})) done();
}

void Engine::on_timer() {
  armed_for_ = kNever;
  if (closed_) return;
  const LocalTime now = no_earlier(clock_());
  directory_.tick(now);
  if (core_) core_->tick(now);
  carry_out(now);
}

void Engine::arm() {
  LocalTime next = directory_.next_expiry();
  next = std::min(next, core_ ? core_->next_deadline() : next_probe_);
  for (std::uint32_t l = 0; on_change_ && l < log_count_; ++l) {
    if (silences_[l] == Silence::unknown) continue;
    next = std::min(next, directory_.answering_until(Log{l}));
    if (silences_[l] == Silence::unheard) {
      next = std::min(next, directory_.history_until(Log{l}));
    }
  }
  // Deadlines mostly move away, with every renewal; a timer that fires early does no harm, and is
  // cheaper than one that is set anew for every record.
  if (next >= armed_for_) return;
  armed_for_ = next;
  timer_.expires_after(std::max(next - clock_(), microseconds{0}));
  timer_.async_wait([weak = weak_from_this()](const boost::system::error_code& error) {
    const auto self = weak.lock();
    if (self && !error) self->on_timer();
  });
}

}  // namespace neliroute
