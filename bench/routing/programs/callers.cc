#include "bench/routing/programs/callers.h"

#include <algorithm>
#include <utility>

namespace neliroute::bench {
namespace {

// For an answer, before another process is asked.
constexpr milliseconds kNextOne{1000};
// Until an owner that could not be reached is tried again, should nobody else lead.
constexpr milliseconds kAgain{50};
constexpr milliseconds kAgainMax{1000};
// At least, also just before the deadline, which is noticed a little late: no wait may spin.
constexpr milliseconds kWaitLeast{5};

Outcome outcome_of(Miss miss) {
  switch (miss) {
    case Miss::status:
      return Outcome::refused;
    case Miss::unreachable:
      return Outcome::unreachable;
    case Miss::unanswered:
      return Outcome::unanswered;
    default:
      return Outcome::broken;
  }
}

// Without a key, what may have been read may have been carried out, and would be again.
bool may_repeat(const Call& call, Miss miss) {
  return call.keyed || miss == Miss::status || miss == Miss::unreachable;
}

}  // namespace

void AnyOwner::begin(const CallPtr& call) {
  if (targets_.empty()) return load_.end(call, Outcome::unowned);
  const std::size_t at = random_() % targets_.size();
  Target* chosen = targets_[at];
  const bool again = call->attempts > 0 && chosen->number == call->first_target;
  if (again) chosen = targets_[(at + 1) % targets_.size()];
  load_.send(call, *chosen);
}

void AnyOwner::missed(const CallPtr& call, Miss miss, unsigned status) {
  const bool elsewhere = miss != Miss::status || status == 421;
  const bool again = elsewhere && call->attempts < 2 && may_repeat(*call, miss);
  again ? begin(call) : load_.end(call, outcome_of(miss), status);
}

milliseconds AnyOwner::patience(const Call& call) const {
  return call.attempts < 2 && call.keyed ? kNextOne : milliseconds{0};
}

void OneProxy::missed(const CallPtr& call, Miss miss, unsigned status) {
  if (miss == Miss::stale && call->attempts < 2 && may_repeat(*call, miss)) {
    return load_.send(call, proxy_, kNoEpoch, /*fresh=*/true);
  }
  load_.end(call, outcome_of(miss), status);
}

void WatchedOwner::begin(const CallPtr& call) {
  if (call->ended) return;
  const Route route = watcher_.route(load_.slot_of(*call));
  const bool known = route.verdict == Verdict::remote && route.epoch > call->failed_under;
  if (!known) return wait(call, load_.left(*call));
  // A suspected owner may be alive all the same: each call finds out for itself, but not at once.
  if (route.suspected && call->failures == 0) {
    call->failed_under = route.epoch;
    ++call->failures;
    return wait(call, kAgain);
  }
  load_.send(call, load_.target(std::string(route.endpoint())), route.epoch);
}

void WatchedOwner::wait(const CallPtr& call, milliseconds limit) {
  watcher_.async_route_after(load_.slot_of(*call), call->failed_under,
                             std::max(std::min(limit, load_.left(*call)), kWaitLeast),
                             [this, call](boost::system::error_code error, const Route&) {
                               if (error && error != Errc::timed_out)
                                 return load_.end(call, Outcome::unowned);
                               if (error)
                                 call->failed_under = kNoEpoch;  // whoever it was may be back
                               begin(call);
                             });
}

void WatchedOwner::missed(const CallPtr& call, Miss miss, unsigned status) {
  if (miss == Miss::status && status != 421) return load_.end(call, Outcome::refused, status);
  if (!may_repeat(*call, miss)) return load_.end(call, outcome_of(miss));
  call->failed_under = call->sent_under;
  const bool reached = miss == Miss::status || miss == Miss::stale;
  if (!reached) watcher_.suspect(load_.targets()[call->last_target]->name);
  const auto pause = kAgain * (1U << std::min(call->failures++, 5U));
  wait(call, std::min(pause, kAgainMax));
}

milliseconds WatchedOwner::patience(const Call& call) const {
  return call.keyed ? kNextOne : milliseconds{0};
}

}  // namespace neliroute::bench
