// Who cannot lead what the group gives it, leaves for a while: the client's side of it, as
// kafka/group/group_withdrawal.cc and group_member.cc do it.
#include <algorithm>
#include <utility>

#include "tests/sim/world/world.h"

namespace neliroute::sim {
namespace {

constexpr Time kLookEvery = 100 * kMs;

}  // namespace

void World::start_withdrawal(Node& node) {
  node.withdrawal.reset();
  if (broadcasts(node) || plan_.assigner()) return;
  if (!plan_.has(Fault::forbidden) && !plan_.has(Fault::out_of_reach)) return;
  node.withdrawal.emplace(WithdrawalOptions{plan_.partitions, plan_.logs, node.lease,
                                            plan_.timing.session, plan_.timing.heartbeat,
                                            plan_.prepare_timeout});
  plan_for(node, now_ + kLookEvery, Happening::withdrawal_due);
}

void World::handle_of_withdrawal(Node& node, const Planned& event) {
  switch (event.what) {
    case Happening::withdrawal_due:
      return look_whether_able(node);
    case Happening::write_forbidden:
      return write_forbidden(node, event);
    case Happening::leaders_told:
      return tell_leaders(node);
    case Happening::others_told:
      return node.withdrawal->others_counted(event.a, LocalTime{microseconds{event.b}},
                                             node.local(now_));
    case Happening::join_again:
      if (node.member.beat == event.b) join_again(node);
      return;
    default:
      return;
  }
}

// No own record comes back for the bound, and whom an election may still replace is named for
// longer; then up to half the bound by chance, and a question.
Time World::withdrawn_by(Fault fault) const {
  if (plan_.assigner()) return given_up_by();
  const Time bound = std::max(2 * plan_.longest_lease(), plan_.session());
  const Time election = microseconds{Withdrawal::kElectionMost}.count();
  const Time met = fault == Fault::out_of_reach ? std::max(bound, election) + 2 * kSecond : bound;
  return now_ + met + bound / 2 + 2 * kSecond + 20 * plan_.latency_max;
}

// Where all others are well they lead what it was given, however long this lasts.
void World::forbid(Fault fault, Node& node, Random& random) {
  const Time over = until(plan_.only_unable ? random.between(45 * kSecond, 60 * kSecond)
                                            : random.magnitude(kSecond, 60 * kSecond));
  const auto log = static_cast<std::size_t>(
      random.between(0, static_cast<std::int64_t>(logs_.size()) - 1));
  const bool all = random.percent(50);
  for (std::size_t l = 0; l < logs_.size(); ++l) {
    if (l != log && !all) continue;
    if (fault == Fault::forbidden) {
      node.forbidden_until[l] = std::max(node.forbidden_until[l], over);
    } else {
      Link& link = node.links[l];
      link.there_until = link.back_until = std::max(link.both_until(), over);
    }
  }
  const bool only_one = std::all_of(nodes_.begin(), nodes_.end(), [&](const Node& other) {
    const bool well = other.alive && !other.closing && other.paused_until <= now_ &&
                      other.unable_until <= now_ && other.client_until == 0 &&
                      !(other.withdrawal && other.withdrawal->away());
    return other.index == node.index || other.lane != node.lane || well;
  });
  const bool others = std::any_of(nodes_.begin(), nodes_.end(), [&](const Node& other) {
    return other.index != node.index && other.lane == node.lane;
  });
  const Time limit = only_one && others ? std::min(over, withdrawn_by(fault)) : over;
  oracle_.hangs(node.index, over, limit);
  node.unable_until = std::max(node.unable_until, over);
}

bool World::anybody_unable() const {
  return std::any_of(nodes_.begin(), nodes_.end(),
                     [&](const Node& node) { return node.unable_until > now_; });
}

// What strikes now may keep it from leaving, or others from leading in its place.
void World::still_unable() {
  for (const Node& node : nodes_) {
    if (node.unable_until > now_) oracle_.wrong(node.unable_until);
  }
}

void World::note_for_withdrawal(Node& node, const Event& event) {
  if (!node.withdrawal) return;
  Withdrawal& withdrawal = *node.withdrawal;
  const LocalTime now = node.local(now_);
  if (const auto* received = std::get_if<Received>(&event)) {
    const auto* record = std::get_if<Record>(received->value);
    const bool own = record != nullptr && record->id == node.id;
    own ? withdrawal.own_record(received->log, now) : withdrawal.answered(received->log, now);
  } else if (const auto* position = std::get_if<LogPosition>(&event)) {
    withdrawal.answered(position->log, now);
  } else if (const auto* started = std::get_if<TailStarted>(&event)) {
    withdrawal.answered(started->log, now);
  } else if (const auto* reread = std::get_if<Reread>(&event)) {
    if (reread->offset >= 0) withdrawal.answered(reread->log, now);
  } else if (const auto* assigned = std::get_if<GroupAssigned>(&event)) {
    withdrawal.assigned(assigned->partitions, now);
  } else if (const auto* revoked = std::get_if<GroupRevoked>(&event)) {
    withdrawal.revoked(revoked->partitions);
  }
}

void World::write_forbidden(Node& node, const Planned& event) {
  if (node.withdrawal) node.withdrawal->write_refused(Log{event.a}, node.local(now_));
  step(node, WriteFailed{static_cast<std::uint64_t>(event.b)});
}

void World::look_whether_able(Node& node) {
  plan_for(node, now_ + kLookEvery, Happening::withdrawal_due);
  if (node.closing) return;
  const auto random = static_cast<std::uint32_t>(node.random.next());
  const Withdrawal::Step step = node.withdrawal->step(node.local(now_), random);
  if (step.ask_leaders && reaches_anybody(node)) {
    plan_for(node, now_ + 2 * latency(node), Happening::leaders_told);
  }
  if (step.ask_others) count_others(node);
  if (step.leave) withdraw(node, *step.leave);
  if (step.join) join_again(node);
}

// Any broker reports the leader that the cluster names.
bool World::reaches_anybody(const Node& node) const {
  for (std::uint32_t l = 0; l < plan_.logs; ++l) {
    if (node.links[l].both_until() <= now_) return true;
  }
  return node.links[kCoordinator].both_until() <= now_;
}

// One that died is named for a while; none leads a topic that is not there.
void World::tell_leaders(Node& node) {
  std::vector<std::optional<std::int32_t>> leaders(plan_.logs);
  for (std::uint32_t l = 0; l < plan_.logs && topic_away_until_ <= now_; ++l) {
    leaders[l] = static_cast<std::int32_t>(logs_[l].broker);
  }
  node.withdrawal->leaders_named(leaders, node.local(now_));
}

void World::count_others(Node& node) {
  if (node.links[kCoordinator].both_until() > now_ || coordinator_down_until_ > now_) return;
  plan_for(node, now_ + 2 * latency(node), Happening::others_told,
           group_of(node).others(node.index), node.local(now_).time_since_epoch().count());
}

void World::join_again(Node& node) {
  if (!node.withdrawal->away() || node.closing) return;
  tell(node, "joins again");
  node.withdrawal->joined();
  join_group(node);
}

}  // namespace neliroute::sim
