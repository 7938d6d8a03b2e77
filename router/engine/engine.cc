#include "router/engine/engine.h"

#include <boost/asio/post.hpp>
#include <algorithm>
#include <utility>

namespace neliroute {
namespace {

// No lease is nearly as long, so a longer bound would have nothing to wait for.
constexpr milliseconds kDrainMax{std::chrono::hours{24}};
// If the ledger has not closed by then, it is left to the operating system.
constexpr milliseconds kCloseBound{3000};
constexpr milliseconds kCloseLeast{500};
// Part of a planned leave's bound that is reserved for a ledger that does not answer: to wait for
// the releases, to close, and to end its clients. One that answers takes some milliseconds of it.
constexpr milliseconds kSilentReserve{2500};
constexpr milliseconds kSilentClose{2000};
constexpr milliseconds kSilentEnd{1000};
// A ledger that answered nothing for three intervals, or for this, is silent.
constexpr milliseconds kSilentLeast{500};
// After that, a ledger that does not even report its closing is dropped.
constexpr milliseconds kCloseGrace{500};
// How long a planned leave waits for the number of other members.
constexpr milliseconds kCountBound{1000};
// How often it checks whether they are still members, and how often in a row they must not be: a
// coordinator that has just taken over may not know them yet.
constexpr milliseconds kCountAgain{200};
constexpr int kNobodyInARow = 6;
// An executor that runs its timer later than this was blocked, and still has to handle what the
// ledger received meanwhile.
constexpr milliseconds kTimerLate{100};

std::shared_ptr<LeaseVector> leases_of(const EngineParts& parts) {
  return parts.core ? parts.core->leases()
                    : std::make_shared<LeaseVector>(parts.directory.partitions);
}

std::shared_ptr<WorkGate> gate_of(std::shared_ptr<const LeaseVector> leases,
                                  std::shared_ptr<const std::weak_ptr<Engine>> ended_for) {
  return WorkGate::make(std::move(leases), [ended_for = std::move(ended_for)] {
    if (const auto engine = ended_for->lock()) engine->on_work_ended();
  });
}

}  // namespace

Engine::Engine(EngineParts parts)
    : strand_(parts.strand),
      timer_(parts.strand),
      count_again_(parts.strand),
      ledger_(std::move(parts.ledger)),
      group_(parts.group),
      core_(std::move(parts.core)),
      directory_(parts.directory),
      view_(parts.self, core_ ? core_->leases() : leases_of(parts), parts.directory.logs,
            parts.slots),
      observers_(parts.directory.partitions),
      meter_(parts.self.id, parts.directory.lane, parts.directory.logs),
      work_ended_for_(std::make_shared<std::weak_ptr<Engine>>()),
      gate_(core_ ? gate_of(core_->leases(), work_ended_for_) : nullptr),
      stopped_(gate_),
      waiters_(parts.waiters_max),
      agreement_(parts.settings, parts.directory.lane, /*member=*/false),
      settings_(std::move(parts.settings)),
      same_endpoint_(parts.self.id, parts.self.info.endpoint, parts.directory.lease),
      on_notice_(std::move(parts.on_notice)),
      clock_(std::move(parts.clock)),
      handlers_(clock_, parts.interval),
      self_(std::make_shared<const Peer>(std::move(parts.self))),
      log_count_(parts.directory.logs),
      lease_(parts.directory.lease),
      interval_(parts.interval),
      ends_at_start_(parts.directory.logs, 0),
      silences_(parts.directory.logs, Silence::unknown) {
  if (core_) return;
  reader_.emplace(KnownLaneOptions{directory_.lane(), kNobody, milliseconds{0}, kLeaseMax,
                                   log_count_, settings_.partitions, settings_,
                                   parts.directory.believe_broker_time});
}

Engine::~Engine() {
  if (gate_) gate_->retire();
}

void Engine::start() {
  *work_ended_for_ = weak_from_this();
  boost::asio::post(strand_, [self = shared_from_this()] {
    if (self->closed_) return;
    for (std::uint32_t l = 0; l < self->log_count_; ++l) {
      self->view_.set_last_answer(Log{l}, self->clock_());
    }
    self->ledger_->on_refused([weak = self->weak_from_this()](const Error& error) {
      const auto engine = weak.lock();
      if (!engine || engine->closed_) return;
      engine->fail(error);
      if (engine->core_) engine->request_close(engine->clock_());
    });
    self->ledger_->start(
        [engine = self.get()](const Event& event, LocalTime now) { engine->on_event(event, now); },
        [engine = self.get()](const Notice& notice) { engine->log(notice); });
    self->on_timer();
  });
}

// An event's clock reading may be older than that of a timer that was handled before it.
LocalTime Engine::no_earlier(LocalTime now) { return last_now_ = std::max(now, last_now_); }

void Engine::on_event(const Event& event, LocalTime now) {
  if (closed_) return;
  now = no_earlier(now);
  feed_directory(event, now);
  step(event, now);
  carry_out(now);
  if (!closed_) stop_draining_if_silent(now);
}

void Engine::step(const Event& event, LocalTime now) {
  meter_.before(event, core_.get(), now);
  if (core_) {
    core_->step(event, now);
    if (const auto* assigned = std::get_if<GroupAssigned>(&event)) touch(*assigned);
    if (const auto* revoked = std::get_if<GroupRevoked>(&event)) touch(*revoked);
    meter_.after(core_.get(), core_->rejected(), now);
  } else {
    watch_event(event, now);
  }
  touch_designated(event);
}

// An assignment changes no route yet, but observers are notified of what this process waits for.
void Engine::touch(const AssignmentChange& change) {
  const auto one = [this](Partition p) { observers_.touch(p); };
  std::visit([&](const auto& e) { e.partitions.for_each(view_.partition_count(), one); }, change);
}

// Where a member assigns, the state machine reads that in records; a group's events say it.
void Engine::note_assignments(const Ready& ready, LocalTime now) {
  const auto status = core_ ? core_->assignment_status() : std::nullopt;
  if (!status) return;
  meter_.note(*status);
  for (const AssignmentChange& change : ready.assignments) {
    touch(change);
    meter_.note(change, core_.get(), now);
  }
}

void Engine::feed_directory(const Event& event, LocalTime now) {
  directory_.tick(now);
  std::visit([&](const auto& e) { directory_.on(e, now); }, event);
  note_same_endpoint(event, now);
}

Observers::Seen Engine::look(Partition partition, LocalTime now) const {
  const Hint& hint = directory_.hint(partition);
  const Route route = view_.look(Slot{partition.value()}, now);
  ObservedRoute seen;
  seen.verdict = route.verdict;
  if (!differs_) seen.next = hint.next;
  seen.epoch = route.epoch;
  seen.stale = route.stale;
  seen.looking = core_ && !closed_ && core_->role_state(partition) == RoleState::looking;
  if (route.verdict == Verdict::local) {
    seen.owner = self_;
    // This process's own claim, not yet confirmed by its renewals, is no other process's.
    if (seen.next && seen.next->id == self_->id) seen.next = nullptr;
    seen.draining = core_->role_state(partition) == RoleState::draining;
    seen.lease = lease();
  } else if (route.verdict == Verdict::remote) {
    seen.owner = hint.named();
    seen.draining = hint.draining;
    seen.lease = hint.lease;
  }
  if (const KnownLane* lane = known_lane(); lane != nullptr && !differs_) {
    seen.designee = members_.designee(*lane, partition, seen.owner);
  }
  const bool owned = hint.owner && !differs_;
  return {std::move(seen),
          owned ? Observers::mark_of(partition, hint.owner->id, hint.epoch) : 0};
}

// Observers are not the application's handlers: they are notified of the end, too.
void Engine::tell_observers(LocalTime now) {
  observers_.tell_view([&](Partition p) { return look(p, now); }, now);
}

void Engine::observe(std::weak_ptr<Observer> observer) {
  boost::asio::post(strand_, [self = shared_from_this(), observer = std::move(observer)] {
    const LocalTime now = self->no_earlier(self->clock_());
    // From now on, changes caused by time alone are reported; look up those so far.
    for (std::uint32_t p = 0; p < self->view_.partition_count(); ++p) {
      self->observers_.touch(Partition{p});
    }
    self->tell_observers(now);
    self->tell_assignment();
    self->observers_.add(observer, now);
    const auto joined = observer.lock();
    if (std::vector<ObservedMember> all; joined && self->members_.known()) {
      joined->on_assignment(self->members_.whole(all));
    }
    if (joined && self->failure()) joined->on_failure(*self->failure());
    if (!self->closed_) self->arm();
  });
}

void Engine::log(const Notice& notice) const {
  if (on_notice_ && !abandoned_) on_notice_(notice);
}

void Engine::carry_out(LocalTime now) {
  mark_suspects(now);
  Ready ready;
  if (core_) ready = core_->take_ready();
  note_assignments(ready, now);
  meter_.note(ready, now);
  // A gap that the state machine found by itself is one for hints, too.
  for (const Log log : ready.restart_tails) directory_.on(GapFound{log}, now);
  if (!core_) compare_settings(now);
  publish(ready.transitions, now);
  tell_observers(now);
  if (!observers_.empty()) tell_assignment();
  tell(ready.transitions, now);
  abandon_work(now);
  if (closed_) return;
  if (group_ != nullptr) {
    if (ready.rebalances_done > 0) group_->finish_rebalances(ready.rebalances_done);
    if (ready.broadcast) group_->broadcast();
  }
  for (Write& write : ready.writes) ledger_->write(std::move(write));
  for (const Log log : ready.restart_tails) ledger_->restart_tail(log);
  for (const RereadRequest& request : ready.rereads) ledger_->reread(request);
  if (group_ != nullptr) {
    if (ready.subscribe) group_->subscribe();
    if (ready.leave_group) group_->leave_group();
    if (ready.expedite) group_->expedite(*ready.expedite);
  }
  for (const Notice& notice : ready.notices) log(notice);
  if (ready.refused) fail(*ready.refused);
  tell_difference();
  watch_silence(now);
  tell_silence(now);
  tell_ready(now);
  wake_waiters(now);
  end_turn();
  if (let_prepare(ready, now)) carry_out(now);
  if (closed_) return;
  if (ready.closed) {
    close_ledger();
  } else {
    arm();
  }
}

// Readers see it before the application is notified.
void Engine::publish(const std::vector<Transition>& transitions, LocalTime now) {
  if (gate_) stopped_.publish(transitions);
  for (const Transition& t : transitions) {
    observers_.touch(t.partition);
    if (t.kind == TransitionKind::acquired) {
      if (!waiters_.empty()) to_wake_.push_back(t.partition);
      view_.set_local(t.partition, t.epoch, core_->generation(t.partition));
    } else if (t.kind == TransitionKind::stopped) {
      view_.set_local(t.partition, kNoEpoch, core_->generation(t.partition));
      directory_.forget_owner(t.partition, self_->id, t.at);
    }
  }
  const std::vector<Partition> changed = directory_.take_changed();
  const std::vector<Partition> renewed = directory_.take_renewed();
  meter_.note_gaps(directory_.take_gaps());
  meter_.note_overlaps(directory_.take_overlaps());
  for (const Partition p : changed) publish_hint(p);
  view_.publish(now);
  for (const Partition p : renewed) {
    view_.set_hint_until(p, directory_.hint(p));
    // If it was looked at just as its lease ended, observers were notified of it without an owner.
    if (!observers_.route(p).owner) observers_.touch(p);
  }
  for (std::uint32_t l = 0; l < log_count_; ++l) {
    view_.set_log(Log{l}, directory_.answering_until(Log{l}), history_until(Log{l}));
    if (const LocalTime at = directory_.last_answer(Log{l}); at != kLongAgo) {
      view_.set_last_answer(Log{l}, at);
    }
  }
  for (const Partition p : changed) {
    if (!waiters_.empty()) to_wake_.push_back(p);
    observers_.touch(p);
    tell_change(p);
  }
}

void Engine::drain(milliseconds bound, std::function<void()> done) {
  bound = std::clamp(bound, milliseconds{0}, kDrainMax);
  boost::asio::post(strand_, [self = shared_from_this(), bound, done = std::move(done)]() mutable {
    if (!self->ledger_) return done();
    self->drained_.push_back(std::move(done));
    if (self->closed_) return;
    if (!self->core_) return self->close_ledger();
    const LocalTime now = self->clock_();
    self->drained_by_ = std::min(self->drained_by_, later(now, bound));
    self->look_at_drain_ = self->drained_by_ - std::min(kSilentReserve, bound / 2);
    if (self->closing_ || bound.count() <= 0) return self->request_close(self->drained_by_);
    self->close_unless_alone(bound);
  });
}

// Nothing can be handed over through a ledger that does not answer, and ending it takes time.
void Engine::stop_draining_if_silent(LocalTime now) {
  if (now < look_at_drain_) return;
  if (now > later(look_at_drain_, kTimerLate) && now < drained_by_) {
    look_at_drain_ = later(now, kTimerLate);
    return arm();
  }
  look_at_drain_ = kNever;
  const microseconds silence = std::max(3 * interval_, kSilentLeast);
  for (std::uint32_t l = 0; l < log_count_; ++l) {
    const LocalTime at = directory_.last_answer(Log{l});
    if (at != kLongAgo && now - at <= silence) return;
  }
  request_close(now);
}

// Alone, a process has nobody to hand over to, and the bound would pass in vain. So the group is
// queried before leaving; without a prompt answer, other members are assumed.
void Engine::close_unless_alone(milliseconds bound) {
  closing_ = true;
  auto limit = std::make_shared<boost::asio::steady_timer>(strand_);
  limit->expires_after(std::min(bound, kCountBound));
  // The wait owns the timer: an answer that arrives after the end must not touch the executor's.
  limit->async_wait(
      [weak = weak_from_this(), limit](const boost::system::error_code& error) {
        const auto self = weak.lock();
        if (self && !error) self->leave();
      });
  count_others([weak = weak_from_this(), waiting = std::weak_ptr(limit)](
                            std::optional<std::size_t> others) {
    const auto self = weak.lock();
    if (!self) return;
    boost::asio::post(self->strand_, [self, waiting, others] {
      // It is over, or about to be: the close was requested without this answer.
      const auto timer = waiting.lock();
      if (!timer || timer->cancel() == 0) return;
      self->is_alone(others) ? self->request_close(self->clock_()) : self->leave();
    });
  });
}

// Whoever assigns knows who there is: the group, or the members' records.
void Engine::count_others(std::function<void(std::optional<std::size_t>)> answer) {
  const auto others = core_ ? core_->other_members() : std::nullopt;
  if (others) return answer(others);
  group_ != nullptr ? group_->count_others(std::move(answer)) : answer(std::nullopt);
}

// Whatever the group answers: a process that leads exists, unless it is leaving as well.
bool Engine::is_alone(std::optional<std::size_t> others) const {
  return others == std::size_t{0} && !directory_.others_lead(self_->id);
}

void Engine::leave() {
  request_close(drained_by_);
  if (!closed_) close_when_nobody_is_left(0);
}

// If all leave at once, each would wait for the others to take over until its bound ends. A member
// without a partition writes nothing to the logs, so the group is queried: once all have left, it
// has no member.
void Engine::close_when_nobody_is_left(int in_a_row) {
  if (in_a_row == kNobodyInARow) return request_close(clock_());
  count_again_.expires_after(kCountAgain);
  const auto count = [weak = weak_from_this(), in_a_row](const boost::system::error_code& error) {
    const auto self = weak.lock();
    if (!self || error || self->closed_) return;
    self->count_others([weak, in_a_row](std::optional<std::size_t> others) {
      const auto engine = weak.lock();
      if (!engine) return;
      boost::asio::post(engine->strand_, [engine, others, in_a_row] {
        if (engine->closed_) return;
        engine->close_when_nobody_is_left(engine->is_alone(others) ? in_a_row + 1 : 0);
      });
    });
  };
  count_again_.async_wait(count);
}

void Engine::request_close(LocalTime until) {
  if (closed_) return;
  closing_ = true;
  const bool bounded = drained_by_ != kNever;
  on_event(CloseRequested{until, bounded ? drained_by_ - kSilentClose : kNever}, clock_());
}

void Engine::abandon() {
  abandoned_ = true;
  boost::asio::post(strand_, [self = shared_from_this()] {
    if (!self->closed_) self->close_ledger();
  });
}

void Engine::close_ledger() {
  const LocalTime now = no_earlier(clock_());
  if (gate_) last_view_ = view_.look_at_all(now);
  closed_ = true;
  due_ = kNever;
  // No more events will arrive: from now on every answer is `unknown`.
  directory_.forget_all(now);
  view_.set_closed();
  publish({}, now);
  if (gate_) gate_->close_all();
  ready_.complete_all(Errc::closed);
  end_waiters(Errc::closed);
  for (std::uint32_t p = 0; p < view_.partition_count(); ++p) observers_.touch(Partition{p});
  tell_observers(now);
  // The timer keeps this object alive, not the ledger, which is a part of it: if the executor is
  // destroyed first, both are freed. And the ledger is not destroyed from inside its own call.
  const LocalTime wanted = std::min(later(now, kCloseBound), drained_by_ - kSilentEnd);
  const LocalTime by = std::max(later(now, kCloseLeast), wanted);
  timer_.expires_after(by - now + kCloseGrace);
  timer_.async_wait(
      [self = shared_from_this()](const boost::system::error_code&) { self->finish_close(); });
  ledger_->close(by, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->timer_.cancel();
  });
}

void Engine::finish_close() {
  group_ = nullptr;
  ledger_.reset();
  for (auto& done : std::exchange(drained_, {})) done();
}

void Engine::on_timer() {
  armed_for_ = kNever;
  if (closed_) return;
  const LocalTime now = no_earlier(clock_());
  directory_.tick(now);
  core_ ? core_->tick(now) : reader_->tick(now);
  carry_out(now);
  if (!closed_) stop_draining_if_silent(now);
}

void Engine::arm() {
  LocalTime next = std::min(directory_.next_expiry(), waiters_.next_deadline());
  const LocalTime own =
      core_ ? core_->next_deadline() : std::min(next_probe_, reader_->next_deadline(last_now_));
  next = std::min({next, own, stopped_.next_deadline(), view_.next_deadline(), look_at_drain_,
                   suspects_.due()});
  const bool watched = on_change_ || !observers_.empty() || ready_.awaited();
  for (std::uint32_t l = 0; watched && l < log_count_; ++l) {
    if (silences_[l] == Silence::unknown) continue;
    next = std::min(next, directory_.answering_until(Log{l}));
    if (silences_[l] == Silence::unheard) {
      next = std::min(next, history_until(Log{l}));
    }
  }
  // Deadlines mostly move later, with every renewal; a timer that fires early does no harm, and is
  // cheaper than one that is set again for every record.
  due_.store(std::min(next, armed_for_), std::memory_order_relaxed);
  if (next >= armed_for_) return;
  armed_for_ = next;
  const LocalTime now = clock_();  // what is due now may be due since kLongAgo
  timer_.expires_after(next > now ? next - now : microseconds{0});
  timer_.async_wait([weak = weak_from_this()](const boost::system::error_code& error) {
    const auto self = weak.lock();
    if (self && !error) self->on_timer();
  });
}

}  // namespace neliroute
