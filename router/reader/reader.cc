#include "router/reader/reader.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <chrono>
#include <utility>

namespace neliroute {
namespace {

// No lease is nearly as long, so a longer bound would have nothing to wait for.
constexpr milliseconds kDrainMax{std::chrono::hours{24}};
// If the ledger has not closed by then, it is left to the operating system.
constexpr milliseconds kCloseBound{3000};
constexpr milliseconds kCloseLeast{500};
// After that, a ledger that does not even report its closing is dropped.
constexpr milliseconds kCloseGrace{500};
// The timer's clock stands still while the machine is suspended, and deadlines do not.
constexpr milliseconds kSleepMax{1000};

std::shared_ptr<LeaseVector> or_none(std::shared_ptr<LeaseVector> leases,
                                     std::uint32_t partitions) {
  return leases ? std::move(leases) : std::make_shared<LeaseVector>(partitions);
}

}  // namespace

Reader::Reader(ReaderParts parts, std::shared_ptr<LeaseVector> leases)
    : strand_(parts.strand),
      ledger_(std::move(parts.ledger)),
      directory_(parts.directory),
      view_(parts.self, or_none(std::move(leases), parts.directory.partitions),
            parts.directory.logs, parts.slots),
      observers_(parts.directory.partitions),
      meter_(parts.self.id, parts.directory.lane, parts.directory.logs),
      handlers_(parts.clock, parts.interval),
      clock_(std::move(parts.clock)),
      self_(std::make_shared<const Peer>(std::move(parts.self))),
      log_count_(parts.directory.logs),
      lease_(parts.directory.lease),
      interval_(parts.interval),
      timer_(parts.strand),
      waiters_(parts.waiters_max),
      on_notice_(std::move(parts.on_notice)),
      silences_(parts.directory.logs, Silence::unknown) {}

void Reader::start() {
  due_ = clock_();  // an executor that never runs is late from now on
  boost::asio::post(strand_, [self = shared_from_this()] {
    if (self->closed_) return;
    for (std::uint32_t l = 0; l < self->log_count_; ++l) {
      self->view_.set_last_answer(Log{l}, self->clock_());
    }
    self->ledger_->on_refused([weak = self->weak_from_this()](const Error& error) {
      const auto reader = weak.lock();
      if (reader && !reader->closed_) reader->on_ledger_refused(error);
    });
    self->ledger_->start(
        [reader = self.get()](const Event& event, LocalTime now) { reader->on_event(event, now); },
        [reader = self.get()](const Notice& notice) { reader->log(notice); });
    self->on_timer();
  });
}

void Reader::on_event(const Event& event, LocalTime now) {
  if (closed_) return;
  now = no_earlier(now);
  directory_.tick(now);
  std::visit([&](const auto& e) { directory_.on(e, now); }, event);
  step(event, now);
  touch_designated(event);
  carry_out(now);
  if (!closed_) after_turn(now);
}

// A designee changes by an assignment only, which says of which partitions: the rest is not looked
// at, however many there are.
void Reader::touch_designated(const Event& event) {
  const auto* received = std::get_if<Received>(&event);
  if (received == nullptr) return;
  const auto* record = std::get_if<AssignmentRecord>(received->value);
  if (record == nullptr || record->lane != directory_.lane()) return;
  for (const Designation& one : record->designations) {
    one.partitions.for_each(view_.partition_count(),
                            [this](Partition p) { observers_.touch(p); });
  }
}

void Reader::publish(LocalTime now) {
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
    wake(p);
    observers_.touch(p);
    tell_change(p);
  }
}

void Reader::publish_hint(Partition partition) {
  const Hint& hint = directory_.hint(partition);
  if (!differs_) return view_.set_hint(partition, hint);
  Hint nobody;
  nobody.generation = hint.generation;
  view_.set_hint(partition, nobody);
}

// While settings differ, a silent log does not show that a slot is unowned.
LocalTime Reader::history_until(Log log) const {
  return differs_ ? kNever : directory_.history_until(log);
}

Observers::Seen Reader::look(Partition partition, LocalTime now) const {
  const Hint& hint = directory_.hint(partition);
  const Route route = view_.look(Slot{partition.value()}, now);
  ObservedRoute seen;
  seen.verdict = route.verdict;
  if (!differs_) seen.next = hint.next;
  seen.epoch = route.epoch;
  seen.stale = route.stale;
  if (route.verdict == Verdict::remote) {
    seen.owner = hint.named();
    seen.draining = hint.draining;
    seen.lease = hint.lease;
  }
  look_at_own(partition, seen);
  if (const KnownLane* lane = known_lane(); lane != nullptr && !differs_) {
    seen.designee = members_.designee(*lane, partition, seen.owner);
  }
  const bool owned = hint.owner && !differs_;
  return {std::move(seen),
          owned ? Observers::mark_of(partition, hint.owner->id, hint.epoch) : 0};
}

// Observers are not the application's handlers: they are notified of the end, too.
void Reader::tell_observers(LocalTime now) {
  observers_.tell_view([&](Partition p) { return look(p, now); }, now);
}

void Reader::tell_assignment() {
  const KnownLane* const lane = known_lane();
  if (lane == nullptr || !members_.look(*lane)) return;
  observers_.tell_assignment(members_.news());
}

void Reader::observe(std::weak_ptr<Observer> observer) {
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

void Reader::log(const Notice& notice) const noexcept {
  if (on_notice_ && !abandoned_) on_notice_(notice);
}

void Reader::end_turn(LocalTime now) {
  tell_silence(now);
  tell_ready(now);
  wake_waiters(now);
  warn_of_handlers();
}

void Reader::warn_of_handlers() {
  if (const auto notice = handlers_.end_turn()) log(*notice);
}

// Changes caused by time alone: a log fell silent, or was read for long enough.
void Reader::tell_silence(LocalTime now) {
  for (std::uint32_t l = 0; l < log_count_; ++l) {
    Silence silence = Silence::unknown;
    if (now < directory_.answering_until(Log{l})) {
      silence = now < history_until(Log{l}) ? Silence::unheard : Silence::unowned;
    }
    if (std::exchange(silences_[l], silence) == silence) continue;
    for (std::uint32_t p = l; p < view_.partition_count(); p += log_count_) {
      observers_.touch(Partition{p});
      if (!directory_.hint(Partition{p}).owner) tell_change(Partition{p});
    }
  }
  tell_observers(now);
}

void Reader::fail(const Error& error) {
  if (failure_) return;
  failure_ = error;
  tell_failure(error);
}

void Reader::tell_failure(const Error& error) {
  if (!abandoned_) observers_.tell_failure(error);
  ready_.complete_all(error.code());
  end_waiters(error.code());
  if (!abandoned_) tell_application(error);
}

void Reader::drain(milliseconds bound, std::function<void()> done) {
  bound = std::clamp(bound, milliseconds{0}, kDrainMax);
  boost::asio::post(strand_, [self = shared_from_this(), bound, done = std::move(done)]() mutable {
    if (!self->ledger_) return done();
    self->drained_.push_back(std::move(done));
    if (!self->closed_) self->begin_drain(bound);
  });
}

void Reader::abandon() {
  abandoned_ = true;
  boost::asio::post(strand_, [self = shared_from_this()] {
    if (!self->closed_) self->close_ledger();
  });
}

void Reader::close_ledger() {
  const LocalTime now = no_earlier(clock_());
  before_close(now);
  closed_ = true;
  due_ = kNever;
  // No more events will arrive: from now on every answer is `unknown`.
  directory_.forget_all(now);
  view_.set_closed();
  publish(now);
  after_close();
  ready_.complete_all(Errc::closed);
  end_waiters(Errc::closed);
  for (std::uint32_t p = 0; p < view_.partition_count(); ++p) observers_.touch(Partition{p});
  tell_observers(now);
  // The timer keeps this object alive, not the ledger, which is a part of it: if the executor is
  // destroyed first, both are freed. And the ledger is not destroyed from inside its own call.
  const LocalTime wanted = std::min(later(now, kCloseBound), close_bound());
  const LocalTime by = std::max(later(now, kCloseLeast), wanted);
  timer_.expires_after(by - now + kCloseGrace);
  timer_.async_wait(
      [self = shared_from_this()](const boost::system::error_code&) { self->finish_close(); });
  ledger_->close(by, [weak = weak_from_this()] {
    if (const auto self = weak.lock()) self->timer_.cancel();
  });
}

void Reader::finish_close() {
  ledger_.reset();
  for (auto& done : std::exchange(drained_, {})) done();
}

void Reader::on_timer() {
  armed_for_ = kNever;
  if (closed_) return;
  const LocalTime now = no_earlier(clock_());
  directory_.tick(now);
  own_tick(now);
  carry_out(now);
  if (!closed_) after_turn(now);
}

void Reader::arm() {
  LocalTime next = std::min({directory_.next_expiry(), waiters_.next_deadline(), own_deadline(),
                             view_.next_deadline(), suspects_.due()});
  const bool watched = !observers_.empty() || ready_.awaited() || tells_changes();
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
  next = std::min(next, later(last_now_, kSleepMax));
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
