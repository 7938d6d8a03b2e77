#include "forward/exchange/owner_search.h"

#include <algorithm>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/bind_executor.hpp>
#include <boost/asio/cancellation_signal.hpp>
#include <boost/asio/error.hpp>
#include <utility>

namespace neliroute::forward {
namespace {

using boost::system::error_code;

// Until an owner that could not be reached is tried again, should nobody else lead.
constexpr milliseconds kTryAgain{50};
constexpr milliseconds kTryAgainMax{1000};
// By which the router may be late to say that the time is over; then its executor hangs.
constexpr milliseconds kRouterLate{20};

bool names_owner(const Direction& direction) {
  return direction.answer == Admit::serve || direction.answer == Admit::redirect;
}

}  // namespace

/// A wait for an owner, as the router has it, which may end it long after nobody waits any more.
struct OwnerSearch::Wait {
  explicit Wait(std::shared_ptr<std::atomic<std::size_t>> of) : waits(std::move(of)) { ++*waits; }
  ~Wait() { --*waits; }
  Wait(const Wait&) = delete;
  Wait& operator=(const Wait&) = delete;

  void end(error_code error) {
    if (const auto call = std::exchange(then, nullptr)) call(error, 0);
  }
  void give_up(error_code error) {
    if (!then) return;
    end(error);
    cancelled.emit(boost::asio::cancellation_type::terminal);
  }

  std::shared_ptr<std::atomic<std::size_t>> waits;
  Stream::Moved then;  ///< empty: nobody waits
  boost::asio::cancellation_signal cancelled;
};

OwnerSearch::OwnerSearch(Proxy& proxy, const Visit& visit, const Allowance& allowance)
    : proxy_(proxy),
      visit_(visit),
      allowance_(allowance),
      limit_(proxy.upstreams.executor()) {}

Direction OwnerSearch::look() {
  Direction made = proxy_.directions.direct(visit_);
  stale_ = made.stale;
  return made;
}

UpstreamPtr OwnerSearch::kept(const Direction& direction, bool once) {
  if (!names_owner(direction) || direction.epoch == failed_ || resends_ > 0) return nullptr;
  if (allowance_.left().count() <= 0) return nullptr;
  return proxy_.upstreams.take_kept(direction.endpoint, once);
}

Awaitable<OwnerSearch::Result> OwnerSearch::next(Direction& direction, bool once, bool whole) {
  while (allowance_.left().count() > 0) {
    Over over;
    if (!names_owner(direction)) {
      if (direction.leaving) co_return left(direction);
      if (visit_.detour) co_return no_way(direction);
      if (direction.answer == Admit::refuse) {
        co_return Refusal{ProxyCount::refused, 508, "the request has been sent on too often"};
      }
      lack_ = Lack::owner;
      over = co_await await_owner(visit_.epoch, allowance_.left());
    } else if (direction.epoch == failed_ && visit_.detour) {
      co_return no_way(direction);
    } else if (direction.epoch == failed_ && !take_detour(direction, whole)) {
      direction.guard.reset();  // a hand-over does not wait for a pause
      over = co_await try_again(direction.answer == Admit::serve);
    } else if (UpstreamPtr upstream = co_await connect(direction, once)) {
      co_return upstream;
    }
    if (over) co_return std::move(*over);
    if (allowance_.left().count() > 0) direction = look();
  }
  co_return nobody();
}

void OwnerSearch::cancel() {
  cancelled_ = true;
  limit_.cancel();
  connecting_.cancel();
  if (const auto wait = wait_) wait->give_up(boost::asio::error::operation_aborted);
}

void OwnerSearch::note_failure(const Epoch& epoch) {
  failed_ = epoch;
  ++failures_;
}

// `fault`: none if it is unknown, as others could not reach it and this one did not try, or no time
// was left.
void OwnerSearch::note_unreached(const Direction& direction, std::optional<ConnectFault> fault) {
  if (direction.detour) return;  // the owner's counts
  note_failure(direction.epoch);
  lack_ = direction.answer == Admit::serve ? Lack::way_to_application : Lack::way_to_owner;
  if (fault) fault_ = fault;
}

// Of detours there are two, and they show nothing new of the owner.
void OwnerSearch::note_misdirected(const Direction& direction) {
  if (direction.detour) return;
  ++resends_;
  note_failure(direction.epoch);
  lack_ = Lack::owner_that_takes_it;
}

void OwnerSearch::note_answered(const Direction& direction) {
  if (direction.detour) proxy_.caution.note_reached(around_);
}

// It may come back, or another one takes over. This process' own application is the owner for as
// long as it is: the router would say so at once, again and again.
Awaitable<OwnerSearch::Over> OwnerSearch::try_again(bool own) {
  const milliseconds pause = std::min(kTryAgain * (1U << std::min(failures_, 5U)), kTryAgainMax);
  if (!own) co_return co_await await_owner(failed_, pause);
  proxy_.counters.add(ProxyCount::waited);
  limit_.expires_after(std::min(pause, allowance_.left()));
  co_await await_timer(limit_);
  check();
  failed_ = kNoEpoch;
  co_return Over{};
}

// Others may reach the owner, or serve in its place, of which the log tells this process nothing.
// Where they could not, a request now and then finds out whether they can.
bool OwnerSearch::take_detour(Direction& direction, bool whole) {
  if (!direction.stale || lack_ != Lack::way_to_owner) return false;
  if (!whole || resends_ >= proxy_.limits.resends) return false;
  if (!detours_) {
    around_ = "around " + direction.endpoint;
    if (!proxy_.caution.may_connect(around_, /*suspected=*/true, Allowance::Clock::now())) {
      return false;
    }
    detours_ = proxy_.directions.detours(visit_.slot);
  }
  if (detours_->empty()) {
    if (!around_.empty()) {
      proxy_.caution.note_failed(std::exchange(around_, {}), Allowance::Clock::now());
    }
    return false;
  }
  direction.detour = true;
  direction.suspected = false;
  direction.endpoint = std::move(detours_->front());
  detours_->erase(detours_->begin());
  return true;
}

Awaitable<OwnerSearch::Over> OwnerSearch::await_owner(Epoch after, milliseconds limit) {
  if (*proxy_.waits >= proxy_.limits.waits) co_return nobody();
  proxy_.counters.add(ProxyCount::waited);
  const error_code error = co_await await_route(after, std::min(limit, allowance_.left()));
  check();
  if (error == neliroute::Errc::closed) co_return closed();
  if (error && error != neliroute::Errc::timed_out) co_return nobody();
  failed_ = kNoEpoch;
  co_return Over{};
}

// The router keeps the limit, too; but not while its executor hangs, which is not this one.
Awaitable<error_code> OwnerSearch::await_route(Epoch after, milliseconds limit) {
  const auto wait = std::make_shared<Wait>(proxy_.waits);
  wait_ = wait;
  const Outcome outcome = co_await await_moved([&](Stream::Moved then) {
    wait->then = std::move(then);
    limit_.expires_after(limit + kRouterLate);
    limit_.async_wait([wait](error_code error) {
      if (!error) wait->give_up(neliroute::Errc::timed_out);
    });
    const auto on_route = [wait](error_code error, const Route&) { wait->end(error); };
    proxy_.directions.wait(visit_.slot, after, limit,
                           boost::asio::bind_cancellation_slot(
                               wait->cancelled.slot(),
                               boost::asio::bind_executor(proxy_.upstreams.executor(), on_route)));
  });
  wait_.reset();
  limit_.cancel();
  co_return outcome.error;
}

// Who has left says so, and the caller asks another one, unless it knew the next owner. From now on
// every wait ends at once.
OwnerSearch::Over OwnerSearch::closed() {
  const Direction direction = proxy_.directions.direct(visit_);
  const bool is_new = direction.answer == Admit::redirect && direction.epoch != failed_;
  if (is_new || direction.leaving) return std::nullopt;
  return direction.answer == Admit::redirect ? left(direction) : nobody();
}

OwnerSearch::Refusal OwnerSearch::left(const Direction& direction) {
  return {ProxyCount::refused, 421, "this process has left: ask another one", direction};
}

// The sender asks others, and waits itself.
OwnerSearch::Refusal OwnerSearch::no_way(const Direction& direction) {
  return {ProxyCount::refused, 421,
          "this process does not serve this key, and cannot reach its owner either", direction};
}

OwnerSearch::Refusal OwnerSearch::nobody() const {
  if (lack_ == Lack::owner) {
    return {ProxyCount::unowned, 503, "nobody serves this key at present; try again"};
  }
  if (lack_ == Lack::owner_that_takes_it) {
    return {ProxyCount::unowned, 503,
            "this key's owner says that it is not at present; try again"};
  }
  const std::string why = fault_ ? ": " + std::string(text_of(*fault_)) : "";
  const std::string whom = lack_ == Lack::way_to_application ? "this key's application"
                           : stale_ ? "the log is silent, and this key's last owner"
                                    : "this key's owner";
  return {ProxyCount::unreached, 503, whom + " cannot be reached" + why + "; try again"};
}

Awaitable<UpstreamPtr> OwnerSearch::connect(const Direction& direction, bool once) {
  if (resends_ == 0) {
    if (UpstreamPtr kept = proxy_.upstreams.take_kept(direction.endpoint, once)) co_return kept;
  }
  const bool is_own = direction.answer == Admit::serve;
  const auto now = Allowance::Clock::now();
  if (!is_own && !proxy_.caution.may_connect(direction.endpoint, direction.suspected, now)) {
    note_unreached(direction, std::nullopt);
    co_return nullptr;
  }
  UpstreamPtr made;
  const Outcome outcome = co_await await_moved([&](Stream::Moved then) {
    connecting_ = proxy_.upstreams.connect(
        direction.endpoint, is_own,
        [&made, then = std::move(then)](error_code error, UpstreamPtr upstream) {
          made = std::move(upstream);
          then(error, 0);
        },
        allowance_.left());
  });
  check();
  if (outcome.error) co_return failed(direction, outcome.error);
  const bool had_failed = proxy_.caution.note_reached(direction.endpoint);
  if (had_failed || direction.suspected) proxy_.directions.reached(direction.endpoint);
  co_return made;
}

UpstreamPtr OwnerSearch::failed(const Direction& direction, error_code error) {
  proxy_.counters.add(ProxyCount::unreachable);
  if (direction.answer == Admit::redirect && is_unreachable(error)) {
    proxy_.directions.suspect(direction.endpoint);
    proxy_.caution.note_failed(direction.endpoint, Allowance::Clock::now());
  }
  const bool is_known = error != boost::asio::error::operation_aborted;
  note_unreached(direction, is_known ? std::optional(fault_of(error)) : std::nullopt);
  return nullptr;
}

}  // namespace neliroute::forward
