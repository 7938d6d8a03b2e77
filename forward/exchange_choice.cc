// Exchange: choosing an owner, connecting to it, and waiting for one.
#include <algorithm>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/error.hpp>
#include <utility>

#include "forward/exchange.h"

namespace neliroute::forward {
namespace {

// Until an owner that could not be reached is tried again, should nobody else lead.
constexpr milliseconds kTryAgain{50};
constexpr milliseconds kTryAgainMax{1000};
// By which the router may be late to say that the time is over; then its executor hangs.
constexpr milliseconds kRouterLate{20};

}  // namespace

/// A wait for an owner, as the router has it, which may end it long after the exchange has.
struct Exchange::Wait {
  explicit Wait(std::shared_ptr<std::atomic<std::size_t>> of) : waits(std::move(of)) { ++*waits; }
  ~Wait() { --*waits; }
  Wait(const Wait&) = delete;
  Wait& operator=(const Wait&) = delete;

  std::shared_ptr<std::atomic<std::size_t>> waits;
  std::weak_ptr<Exchange> exchange;  ///< none: nobody waits any more
  boost::asio::cancellation_signal cancelled;
};

void Exchange::choose() {
  if (!done_) return;
  watch_client();
  if (left().count() == 0) return unowned();
  const Direction direction = proxy_.directions.direct(visit_);
  stale_ = direction.stale;
  switch (direction.answer) {
    case Admit::serve:
    case Admit::redirect:
      if (direction.epoch != failed_) return connect(direction);
      if (visit_.detour) return say_no_way(direction);
      if (direction.stale && take_detour(direction)) return;
      return try_again(direction.answer == Admit::serve);
    case Admit::refuse:
      if (direction.leaving) return say_left(direction);
      if (visit_.detour) return say_no_way(direction);
      count(ProxyCount::refused);
      return answer(508, "the request has been sent on too often");
    default:
      if (visit_.detour) return say_no_way(direction);
      lack_ = Lack::owner;
      return await_owner(visit_.epoch, left());
  }
}

void Exchange::note_failure(const Epoch& epoch) {
  failed_ = epoch;
  ++failures_;
}

// `fault`: none if it is unknown, as others could not reach it and this one did not try, or no time
// was left.
void Exchange::note_unreached(const Direction& direction, std::optional<ConnectFault> fault) {
  if (direction.detour) return;  // the owner's counts
  note_failure(direction.epoch);
  lack_ = direction.answer == Admit::serve ? Lack::way_to_application : Lack::way_to_owner;
  if (fault) fault_ = fault;
}

// It may come back, or another one takes over. This process' own application is the owner for as
// long as it is: the router would say so at once, again and again.
void Exchange::try_again(bool own) {
  const milliseconds pause = std::min(kTryAgain * (1U << std::min(failures_, 5U)), kTryAgainMax);
  if (!own) return await_owner(failed_, pause);
  proxy_.counters.add(ProxyCount::waited);
  limit_.expires_after(std::min(pause, left()));
  limit_.async_wait([self = shared_from_this(), attempt = attempt_](Error error) {
    if (error || !self->done_ || attempt != self->attempt_) return;
    self->failed_ = kNoEpoch;
    self->choose();
  });
}

// Others may reach the owner, or serve in its place, of which the log tells this process nothing.
// Where they could not, a request now and then finds out whether they can.
bool Exchange::take_detour(const Direction& from) {
  if (lack_ != Lack::way_to_owner || !may_send_again()) return false;
  if (!detours_) {
    around_ = "around " + from.endpoint;
    if (!proxy_.caution.may_connect(around_, /*suspected=*/true, Clock::now())) return false;
    detours_ = proxy_.directions.detours(slot_);
  }
  if (detours_->empty()) {
    if (!around_.empty()) proxy_.caution.note_failed(std::exchange(around_, {}), Clock::now());
    return false;
  }
  Direction to = from;
  to.detour = true;
  to.suspected = false;
  to.endpoint = std::move(detours_->front());
  detours_->erase(detours_->begin());
  connect(to);
  return true;
}

// The router keeps the limit, too; but not while its executor hangs, which is not this one.
void Exchange::await_owner(const Epoch& after, milliseconds limit) {
  if (*proxy_.waits >= proxy_.limits.waits) return unowned();
  proxy_.counters.add(ProxyCount::waited);
  limit = std::min(limit, left());
  const auto wait = std::make_shared<Wait>(proxy_.waits);
  wait->exchange = weak_from_this();
  wait_ = wait;
  limit_.expires_after(limit + kRouterLate);
  limit_.async_wait([self = shared_from_this(), wait](Error error) {
    if (error || self->wait_ != wait) return;
    self->give_up_wait();
    self->on_waited(neliroute::Errc::timed_out);
  });
  const auto on_route = [wait](Error error, const Route&) {
    if (const auto self = wait->exchange.lock()) self->on_waited(error);
  };
  proxy_.directions.wait(slot_, after, limit,
                         boost::asio::bind_cancellation_slot(
                             wait->cancelled.slot(),
                             boost::asio::bind_executor(proxy_.upstreams.executor(), on_route)));
}

void Exchange::on_waited(Error error) {
  if (!done_) return;
  wait_.reset();
  limit_.cancel();
  if (error == neliroute::Errc::closed) return on_closed();
  if (error && error != neliroute::Errc::timed_out) return unowned();
  failed_ = kNoEpoch;
  choose();
}

// Who has left says so, and the caller asks another one, unless it knew the next owner. From now on
// every wait ends at once.
void Exchange::on_closed() {
  const Direction direction = proxy_.directions.direct(visit_);
  const bool is_new = direction.answer == Admit::redirect && direction.epoch != failed_;
  if (is_new || direction.leaving) return choose();
  direction.answer == Admit::redirect ? say_left(direction) : unowned();
}

void Exchange::say_left(const Direction& direction) {
  count(ProxyCount::refused);
  answer(421, "this process has left: ask another one", direction);
}

// The sender asks others, and waits itself.
void Exchange::say_no_way(const Direction& direction) {
  count(ProxyCount::refused);
  answer(421, "this process does not serve this key, and cannot reach its owner either", direction);
}

// Whatever the router says of it later, nobody hears.
void Exchange::give_up_wait() {
  const auto wait = std::exchange(wait_, nullptr);
  if (!wait) return;
  wait->exchange.reset();
  wait->cancelled.emit(boost::asio::cancellation_type::terminal);
}

void Exchange::connect(const Direction& direction) {
  const bool once = !whole_ || !is_idempotent(sent_);
  if (UpstreamPtr kept =
          resends_ > 0 ? nullptr : proxy_.upstreams.take_kept(direction.endpoint, once)) {
    return on_connected({}, std::move(kept), direction);
  }
  const bool is_own = direction.answer == Admit::serve;
  if (!is_own &&
      !proxy_.caution.may_connect(direction.endpoint, direction.suspected, Clock::now())) {
    note_unreached(direction, std::nullopt);
    return choose();
  }
  connecting_ = proxy_.upstreams.connect(
      direction.endpoint, is_own,
      [self = shared_from_this(), direction](Error error, UpstreamPtr upstream) {
        const bool doubted = !error && (self->proxy_.caution.note_reached(direction.endpoint) ||
                                        direction.suspected);
        if (doubted) self->proxy_.directions.reached(direction.endpoint);
        self->on_connected(error, std::move(upstream), direction);
      },
      left());
}

void Exchange::on_connected(Error error, UpstreamPtr upstream, const Direction& direction) {
  if (!done_) {
    if (upstream) proxy_.upstreams.give_back(std::move(upstream));
    return;
  }
  if (error) {
    proxy_.counters.add(ProxyCount::unreachable);
    const bool is_owner = direction.answer == Admit::redirect && is_unreachable(error);
    if (is_owner) {
      proxy_.directions.suspect(direction.endpoint);
      proxy_.caution.note_failed(direction.endpoint, Clock::now());
    }
    const bool is_known = error != boost::asio::error::operation_aborted;
    note_unreached(direction, is_known ? std::optional(fault_of(error)) : std::nullopt);
    return choose();
  }
  upstream_ = std::move(upstream);
  send(direction);
}

}  // namespace neliroute::forward
