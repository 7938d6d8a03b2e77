// Callers send requests by hints that may be old; processes serve them, send them on or let them
// wait, by production's decision.
#include <algorithm>
#include <utility>

#include "router/view/admission_rules.h"
#include "tests/sim/world/world.h"

namespace neliroute::sim {
namespace {

constexpr std::size_t kCallers = 3;           ///< of each lane
constexpr std::int64_t kForgetfulPercent = 30;  ///< a caller asks any process, without an epoch
constexpr std::uint32_t kHopLimit = 3;
/// How soon one whom nobody answers tries again: at once, a hundred callers of a process that is
/// away for a minute would be all that happens.
constexpr Time kTryAgain = 20 * kMs;

}  // namespace

void World::send_requests() {
  if (plan_.broadcast()) return;
  if (hints_.empty()) {
    hints_.resize(kCallers * kPartsMax);
    chance_of_requests_ = Random(plan_.request.seed, 11);
  }
  std::erase_if(open_requests_, [this](std::uint32_t i) { return callers_requests_[i].done; });
  const std::uint32_t lanes = plan_.has(Fault::broadcast_beside) ? 1 : plan_.lanes;
  for (std::uint32_t lane = 0; lane < lanes; ++lane) {
    CallerRequest request;
    request.lane = static_cast<std::uint8_t>(lane);
    request.partition =
        static_cast<std::uint32_t>(chance_of_requests_.between(0, plan_.partitions - 1));
    request.caller = static_cast<std::size_t>(chance_of_requests_.between(0, kCallers - 1));
    const CallerHint& known = hint_of(request);
    request.node = known.node;
    request.asked = known.epoch;
    if (known.epoch == kNoEpoch || chance_of_requests_.percent(kForgetfulPercent)) {
      const auto last = static_cast<std::int64_t>(nodes_.size()) - 1;
      request.node = static_cast<std::uint8_t>(chance_of_requests_.between(0, last));
      request.asked = kNoEpoch;
    }
    if (nodes_[request.node].lane != lane) continue;
    request.until =
        std::max(now_, recovered_by_) + plan_.settled() + plan_.takeover() + plan_.grace();
    const auto index = static_cast<std::uint32_t>(callers_requests_.size());
    callers_requests_.push_back(request);
    open_requests_.push_back(index);
    send_on(index);
    plan_at(request.until, Happening::request_given_up, index);
  }
}

CallerHint& World::hint_of(const CallerRequest& request) {
  const std::uint32_t part = request.lane * plan_.partitions + request.partition;
  return hints_[request.caller * kPartsMax + part];
}

void World::send_on(std::uint32_t index, Time pause) {
  callers_requests_[index].waits = false;
  plan_at(now_ + pause + chance_of_requests_.between(1, plan_.latency_max),
          Happening::request_arrives, index);
}

// Whoever has the endpoint now answers: a process that was restarted does, and one that was stopped
// once it runs again.
void World::request_arrives(std::uint32_t index) {
  CallerRequest& request = callers_requests_[index];
  if (request.done) return;
  const Node& node = nodes_[request.node];
  if (!node.alive || node.other_settings || node.paused_until > now_) {
    return send_on(index, kTryAgain);
  }
  admit(node, index);
}

void World::admit(const Node& node, std::uint32_t index) {
  CallerRequest& request = callers_requests_[index];
  const Asked asked{request.asked, request.hops};
  const Route route = node.view->look(Slot{request.partition}, node.local(now_));
  if (route.verdict == Verdict::local &&
      may_serve(plan_.request.mode, route.stale, route.epoch, asked.epoch)) {
    return serve(node, request, route.epoch);
  }
  switch (admit_elsewhere(route, asked, kHopLimit)) {
    case Admit::redirect:
      return redirect(node, index, route);
    case Admit::refuse:
      oracle_.count(Judged::requests_refused);
      request.done = true;
      return;
    default:
      if (!request.waits) oracle_.count(Judged::requests_waiting);
      request.waits = true;
      request.life = node.life;
  }
}

void World::serve(const Node& node, CallerRequest& request, const Epoch& epoch) {
  request.done = true;
  oracle_.count(Judged::requests_served);
  if (!oracle_.led(node.index, part_of(node, request.partition), now_)) {
    wrong_answer(node, request.partition, "serves a request, and does not lead");
  }
  CallerHint& known = hint_of(request);
  if (epoch > known.epoch) known = {node.index, epoch};
}

void World::redirect(const Node& node, std::uint32_t index, const Route& route) {
  CallerRequest& request = callers_requests_[index];
  oracle_.count(Judged::requests_redirected);
  if (route.epoch <= request.asked) {
    wrong_answer(node, request.partition, "sends a request on in a circle");
  }
  request.asked = route.epoch;
  if (++request.hops > kHopLimit) {
    wrong_answer(node, request.partition, "sends a request on too often");
  }
  const Hint& hint = node.directory->hint(Partition{request.partition});
  if (const Node* const owner = hint.owner ? process_of(hint.owner->id) : nullptr) {
    request.node = owner->index;
  }
  send_on(index);
}

// Woken by what was read, as async_route_after() is; by a lease that ended, at the next look.
void World::admit_waiting(const Node& node) {
  for (std::size_t i = 0; i < open_requests_.size(); ++i) {
    const std::uint32_t index = open_requests_[i];
    const CallerRequest& request = callers_requests_[index];
    if (request.done || !request.waits || request.node != node.index) continue;
    request.life == node.life ? admit(node, index) : send_on(index);
  }
}

// Nothing was wrong for long enough, so it had to be served, also if it was sent before.
void World::request_given_up(std::uint32_t index) {
  CallerRequest& request = callers_requests_[index];
  if (std::exchange(request.done, true)) return;
  if (is_mixed(request.lane)) return;
  oracle_.broken_if_assumed("a request for partition " + std::to_string(request.partition) +
                                " that process " + std::to_string(request.node) +
                                " has was not served after the recovery",
                            now_);
}

}  // namespace neliroute::sim
