// Reader: callers that wait for the owner of a slot, or could not reach it.
#include <algorithm>
#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>
#include <chrono>
#include <string>
#include <utility>

#include "neli_core/settings_mode.h"
#include "router/reader/reader.h"

namespace neliroute {
namespace {

constexpr milliseconds kWaitMax{std::chrono::hours{24}};

Count counted_as(boost::system::error_code error) {
  if (!error) return Count::waits_answered;
  if (error == Errc::timed_out) return Count::waits_timed_out;
  if (error == Errc::too_many_waiters) return Count::waits_refused;
  if (error == boost::asio::error::operation_aborted) return Count::waits_cancelled;
  return Count::waits_closed;
}

}  // namespace

void Reader::when_ready(std::uint64_t id, ReadyHandler handler) {
  boost::asio::post(strand_, [self = shared_from_this(), id, handler = std::move(handler)] {
    if (const auto& failure = self->failure()) return handler(failure->code());
    if (self->closed_) return handler(Errc::closed);
    self->ready_.add(id, handler);
    const LocalTime now = self->no_earlier(self->clock_());
    self->directory_.tick(now);  // an owner out of the history may be unknown by now
    self->carry_out(now);
  });
}

void Reader::cancel_ready(std::uint64_t id) {
  boost::asio::post(strand_, [self = shared_from_this(), id] {
    const ReadyHandler handler = self->ready_.take(id);
    if (handler) handler(boost::asio::error::operation_aborted);
  });
}

void Reader::tell_ready(LocalTime now) {
  if (!ready_.awaited()) return;
  const auto known = [&](Partition p) {
    return view_.look(Slot{p.value()}, now).verdict != Verdict::unknown;
  };
  if (leads_all_assigned() || ready_.all(view_.partition_count(), known)) ready_.complete_all({});
}

void Reader::end_wait(const RouteWaiter& waiter, boost::system::error_code error,
                      const Route& route) {
  meter_.note_wait(counted_as(error));
  waiter.handler(error, route);
}

void Reader::wake(Partition partition) {
  if (!waiters_.empty()) to_wake_.push_back(partition);
}

void Reader::wait_for_route(RouteWaiters::Id id, Slot slot, const Epoch& after,
                            milliseconds limit, RouteHandler handler) {
  limit = std::clamp(limit, milliseconds{0}, kWaitMax);
  boost::asio::post(strand_, [self = shared_from_this(), id, slot, after, limit,
                              handler = std::move(handler)]() mutable {
    const LocalTime now = self->no_earlier(self->clock_());
    const Route route = self->view_.look(slot, now);
    RouteWaiter waiter{slot, after, later(now, limit), std::move(handler),
                       serving_mode(self->settings_on_strand())};
    const auto end = [&](boost::system::error_code error) { self->end_wait(waiter, error, route); };
    if (waiter.is_content_with(route)) return end({});
    if (self->closed_) return end(Errc::closed);
    if (const auto& failure = self->failure()) return end(failure->code());
    if (limit.count() == 0) return end(Errc::timed_out);
    if (self->waiters_.full()) return end(Errc::too_many_waiters);
    self->waiters_.add(id, self->view_.partition_of(slot), std::move(waiter));
    self->arm();
  });
}

void Reader::cancel_wait(RouteWaiters::Id id) {
  boost::asio::post(strand_, [self = shared_from_this(), id] {
    const RouteWaiter waiter = self->waiters_.take(id);
    if (!waiter.handler) return;
    self->end_wait(waiter, boost::asio::error::operation_aborted,
                   self->view_.look(waiter.slot, self->no_earlier(self->clock_())));
  });
}

// After the application was notified of what changed, as it may have to load what callers ask for.
void Reader::wake_waiters(LocalTime now) {
  const auto look = [&](Slot slot) { return view_.look(slot, now); };
  for (const Partition partition : std::exchange(to_wake_, {})) {
    for (const auto& [waiter, route] : waiters_.take_content(partition, look)) {
      end_wait(waiter, {}, route);
    }
  }
  if (waiters_.empty() || waiters_.next_deadline() > now) return;
  for (const RouteWaiter& late : waiters_.take_late(now)) {
    end_wait(late, Errc::timed_out, look(late.slot));
  }
}

void Reader::suspect(std::string_view endpoint) {
  if (closed_ || !suspects_.add(endpoint, clock_())) return;
  tell_directory([](Directory&) {});  // those that are due are marked
}

void Reader::reached(std::string_view endpoint) {
  if (closed_) return;
  suspects_.drop(endpoint);
  tell_directory([endpoint = std::string(endpoint)](Directory& all) { all.trust(endpoint); });
}

void Reader::redirected(Slot slot, std::string_view endpoint, const Epoch& epoch) {
  const Route route = view_.look(slot, clock_());
  if (closed_ || !route.stale || epoch <= route.epoch) return;
  tell_directory([partition = view_.partition_of(slot), endpoint = std::string(endpoint),
                  epoch](Directory& all) { all.redirect(partition, endpoint, epoch); });
}

void Reader::tell_directory(std::function<void(Directory&)> what) {
  boost::asio::post(strand_, [self = shared_from_this(), what = std::move(what)] {
    if (self->closed_) return;
    const LocalTime now = self->no_earlier(self->clock_());
    self->directory_.tick(now);
    what(self->directory_);
    self->carry_out(now);
  });
}

void Reader::mark_suspects(LocalTime now) {
  const Suspects::Endpoints endpoints = suspects_.take(now);
  if (!endpoints.empty()) directory_.suspect(endpoints, now);
}

void Reader::end_waiters(boost::system::error_code error) {
  const LocalTime now = no_earlier(clock_());
  for (const RouteWaiter& waiter : waiters_.take_all()) {
    end_wait(waiter, error, view_.look(waiter.slot, now));
  }
}

}  // namespace neliroute
