#include "router/engine.h"

#include <boost/asio/post.hpp>
#include <algorithm>
#include <initializer_list>
#include <tuple>
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

template <class Choice>
bool is_one_of(const std::string& text, std::initializer_list<Choice> choices) {
  return std::any_of(choices.begin(), choices.end(),
                     [&](Choice choice) { return text == to_string(choice); });
}

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
      ledger_(std::move(parts.ledger)),
      core_(std::move(parts.core)),
      directory_(parts.directory),
      view_(parts.self, core_ ? core_->leases() : leases_of(parts), parts.directory.logs),
      observers_(parts.directory.partitions),
      meter_(parts.self.id, parts.directory.lane, parts.directory.logs),
      work_ended_for_(std::make_shared<std::weak_ptr<Engine>>()),
      gate_(core_ ? gate_of(core_->leases(), work_ended_for_) : nullptr),
      stopped_(gate_),
      agreement_(parts.settings, parts.directory.lane, /*member=*/false),
      settings_(std::move(parts.settings)),
      log_(std::move(parts.log)),
      clock_(std::move(parts.clock)),
      handlers_(clock_, parts.interval),
      self_(std::make_shared<const Peer>(std::move(parts.self))),
      log_count_(parts.directory.logs),
      lease_(parts.directory.lease),
      ends_at_start_(parts.directory.logs, 0),
      silences_(parts.directory.logs, Silence::unknown) {}

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
  step(event, now);
  carry_out(now);
}

void Engine::step(const Event& event, LocalTime now) {
  const LeaseVector& leases = view_.leases();
  meter_.before(event, leases, now);
  if (core_) {
    core_->step(event, now);
    touch_assignment(event);
    meter_.after(leases, core_->turned_down(), now);
  } else {
    watch_event(event, now);
  }
}

// What is assigned changes no route yet, but observers are told what this process waits for.
void Engine::touch_assignment(const Event& event) {
  const auto touch = [this](Partition p) { observers_.touch(p); };
  if (const auto* assigned = std::get_if<GroupAssigned>(&event)) {
    assigned->partitions.for_each(view_.partition_count(), touch);
  } else if (const auto* revoked = std::get_if<GroupRevoked>(&event)) {
    revoked->partitions.for_each(view_.partition_count(), touch);
  }
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
    meter_.note_log_gap();
    ledger_->restart_tail(gap->log);
  } else if (const auto* started = std::get_if<TailStarted>(&event)) {
    ends_at_start_[started->log.value()] = started->end;
  } else if (const auto* received = std::get_if<Received>(&event)) {
    const auto* record = std::get_if<Record>(received->value);
    if (record == nullptr) return;
    agreement_.note(*record, record->lease.value_or(lease_), now,
                    received->offset >= ends_at_start_[received->log.value()]);
    learn(*record);
    if (auto conflict = agreement_.conflict(std::nullopt, now)) fail(*conflict);
  }
}

void Engine::learn(const Record& record) {
  const Settings* theirs = settings_in_force(record);
  if (theirs == nullptr || record.lane != directory_.lane()) return;
  const auto& [mode, variation] = std::tie(theirs->mode, theirs->variation);
  // This strand alone writes it. What a stranger makes up is told to nobody.
  if (mode == settings_.mode && variation == settings_.variation) return;
  if (!is_one_of(mode, {Mode::exclusive, Mode::non_exclusive}) ||
      !is_one_of(variation, {Variation::claimed, Variation::broadcast})) {
    return;
  }
  const std::lock_guard lock(settings_mutex_);
  settings_.mode = mode;
  settings_.variation = variation;
}

Settings Engine::settings() const {
  const std::lock_guard lock(settings_mutex_);
  return settings_;
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
  for (std::uint32_t l = 0; l < log_count_; ++l) {
    Silence silence = Silence::unknown;
    if (now < directory_.answering_until(Log{l})) {
      silence = now < directory_.history_until(Log{l}) ? Silence::unheard : Silence::unowned;
    }
    if (std::exchange(silences_[l], silence) == silence) continue;
    for (std::uint32_t p = l; p < view_.partition_count(); p += log_count_) {
      observers_.touch(Partition{p});
      if (!directory_.hint(Partition{p}).owner) tell_change(Partition{p});
    }
  }
  tell_observers(now);
}

Observers::Seen Engine::look(Partition partition, LocalTime now) const {
  const Hint& hint = directory_.hint(partition);
  const Route route = view_.look(Slot{partition.value()}, now);
  ObservedRoute seen;
  seen.verdict = route.verdict;
  seen.next = hint.next;
  seen.epoch = route.epoch;
  seen.looking = core_ && !closed_ && core_->role_state(partition) == RoleState::looking;
  if (route.verdict == Verdict::local) {
    seen.owner = self_;
    // An own claim that its renewals have not confirmed yet is no other process's.
    if (seen.next && seen.next->id == self_->id) seen.next = nullptr;
    seen.draining = core_->role_state(partition) == RoleState::draining;
    seen.lease = lease_;
  } else if (route.verdict == Verdict::remote) {
    seen.owner = hint.owner;
    seen.draining = hint.draining;
    seen.lease = hint.lease;
  }
  return {std::move(seen),
          hint.owner ? Observers::mark_of(partition, hint.owner->id, hint.epoch) : 0};
}

// Observers are not the application's handlers: they hear of the end, too.
void Engine::tell_observers(LocalTime now) {
  observers_.tell_view([&](Partition p) { return look(p, now); }, now);
}

void Engine::observe(std::weak_ptr<Observer> observer) {
  boost::asio::post(strand_, [self = shared_from_this(), observer = std::move(observer)] {
    const LocalTime now = self->no_earlier(self->clock_());
    // What time alone changed is told from now on; what it changed so far is looked up.
    for (std::uint32_t p = 0; p < self->view_.partition_count(); ++p) {
      self->observers_.touch(Partition{p});
    }
    self->tell_observers(now);
    self->observers_.add(observer, now);
    const auto joined = observer.lock();
    if (joined && self->failure_) joined->on_failure(*self->failure_);
    if (!self->closed_) self->arm();
  });
}

void Engine::log(const Notice& notice) const {
  if (log_ && !abandoned_) log_(notice);
}

void Engine::carry_out(LocalTime now) {
  Ready ready;
  if (core_) ready = core_->take_ready();
  meter_.note(ready, now);
  // A gap that the state machine found by itself is one for hints, too.
  for (const Log log : ready.restart_tails) directory_.on(GapFound{log}, now);
  publish(ready.transitions);
  tell_observers(now);
  tell(ready.transitions);
  abandon_work(now);
  if (closed_) return;
  if (ready.rebalances_done > 0) ledger_->finish_rebalances(ready.rebalances_done);
  if (ready.broadcast) ledger_->broadcast();
  for (Write& write : ready.writes) ledger_->write(std::move(write));
  for (const Log log : ready.restart_tails) ledger_->restart_tail(log);
  for (const RereadRequest& request : ready.rereads) ledger_->reread(request);
  if (ready.subscribe) ledger_->subscribe();
  if (ready.leave_group) ledger_->leave_group();
  if (ready.expedite) ledger_->expedite(*ready.expedite);
  for (const Notice& notice : ready.notices) log(notice);
  if (ready.refused) fail(*ready.refused);
  watch_silence(now);
  tell_silence(now);
  tell_ready(now);
  end_turn();
  if (ready.closed) {
    close_ledger();
  } else {
    arm();
  }
}

// Readers see it before the application is told.
void Engine::publish(const std::vector<Transition>& transitions) {
  if (gate_) stopped_.publish(transitions);
  for (const Transition& t : transitions) {
    observers_.touch(t.partition);
    if (t.kind == TransitionKind::acquired) {
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
  for (const Partition p : changed) view_.set_hint(p, directory_.hint(p));
  view_.publish();
  for (const Partition p : renewed) {
    view_.set_hint_until(p, directory_.hint(p));
    // Looked at in its last moment, it was told without an owner.
    if (!observers_.route(p).owner) observers_.touch(p);
  }
  for (std::uint32_t l = 0; l < log_count_; ++l) {
    view_.set_log(Log{l}, directory_.answering_until(Log{l}), directory_.history_until(Log{l}));
    if (const LocalTime at = directory_.last_answer(Log{l}); at != kLongAgo) {
      view_.set_last_answer(Log{l}, at);
    }
  }
  for (const Partition p : changed) {
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
  due_ = kNever;
  // Nothing more will be heard: from now on every answer is `unknown`.
  const LocalTime now = no_earlier(clock_());
  for (std::uint32_t l = 0; l < log_count_; ++l) directory_.on(GapFound{Log{l}}, now);
  publish({});
  if (gate_) gate_->close_all();
  ready_.complete_all(Errc::closed);
  for (std::uint32_t p = 0; p < view_.partition_count(); ++p) observers_.touch(Partition{p});
  tell_observers(now);
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
  next = std::min({next, core_ ? core_->next_deadline() : next_probe_, stopped_.next_deadline()});
  const bool watched = on_change_ || !observers_.empty() || ready_.awaited();
  for (std::uint32_t l = 0; watched && l < log_count_; ++l) {
    if (silences_[l] == Silence::unknown) continue;
    next = std::min(next, directory_.answering_until(Log{l}));
    if (silences_[l] == Silence::unheard) {
      next = std::min(next, directory_.history_until(Log{l}));
    }
  }
  // Deadlines mostly move away, with every renewal; a timer that fires early does no harm, and is
  // cheaper than one that is set anew for every record.
  due_.store(std::min(next, armed_for_), std::memory_order_relaxed);
  if (next >= armed_for_) return;
  armed_for_ = next;
  const LocalTime now = clock_();  // what is due at once may be due since kLongAgo
  timer_.expires_after(next > now ? next - now : microseconds{0});
  timer_.async_wait([weak = weak_from_this()](const boost::system::error_code& error) {
    const auto self = weak.lock();
    if (self && !error) self->on_timer();
  });
}

}  // namespace neliroute
