// The clients of the group: heartbeats, rebalance events in order, what a zombie is not sent.
#include <algorithm>
#include <utility>

#include "tests/sim/world/world.h"

namespace neliroute::sim {
namespace {

PartitionRanges ranges_of(PartitionBits bits) {
  std::vector<Partition> parts;
  for (std::uint32_t p = 0; p < kPartitionsMax; ++p) {
    if ((bits >> p & 1) != 0) parts.push_back(Partition{p});
  }
  return PartitionRanges::of(parts);
}

/// A classic member that must join anew may sit out a backoff first.
constexpr Time kJoinBackoff = kSecond;

}  // namespace

void World::join_group(Node& node) {
  node.member.wanted = true;
  node.member.join_wanted = true;
  oracle_.disturb(now_);
  heartbeat(node);
}

void World::leave_group(Node& node) {
  Membership& m = node.member;
  m.wanted = false;
  ++m.beat;
  m.pending.clear();
  m.announced = false;
  m.owned = 0;
  // Whose join is not answered yet has an id all the same: with KIP-848 its own, and classic tells
  // one (KIP-394) before the member counts.
  if (m.id != 0 || m.asking) ask(node, {GroupRequest::Kind::leave, m.id, 0, m.membership});
  m.id = 0;
}

// The client leaves at once; the core is notified that everything was revoked.
void World::withdraw(Node& node, const Withdrawal::Leave& why) {
  tell(node, "leaves for " + std::to_string(why.pause.count()) + " ms: " +
                 neliroute::to_string(why.obstacle));
  ++withdrawals_;
  oracle_.disturb(now_);
  Membership& m = node.member;
  const PartitionBits owned = m.owned;
  leave_group(node);
  ++m.membership;
  m.joining = m.join_wanted = m.asking = false;
  // By what it was told before all healed: whoever is away then comes back at once, too.
  const bool as_before = !chaos() && now_ < chaos_end_ + plan_.settled();
  const Time pause = as_before ? plan_.heartbeat() : microseconds{why.pause}.count();
  plan_for(node, now_ + pause, Happening::join_again, 0, m.beat);
  if (owned == 0) return;
  m.announced = true;
  m.pending.push_back({false, false, owned});
  step(node, GroupRevoked{ranges_of(owned), false});
}

void World::beat_in(Node& node, Time wait) {
  plan_for(node, now_ + wait, Happening::heartbeat_due, 0, ++node.member.beat);
}

// One question at a time; one that was never answered is asked again.
void World::heartbeat(Node& node) {
  Membership& m = node.member;
  if (!m.wanted) return;
  if (notices_expulsion(node)) return;
  beat_in(node, plan_.heartbeat());
  const Time wait = std::max(2 * plan_.heartbeat(), 4 * plan_.latency_max);
  if (m.asking && now_ < m.asked_at + wait) return;
  const bool classic = plan_.assigning != Assigning::consumer;
  if (classic && m.joining && now_ < m.asked_at + plan_.session()) return;
  if (classic && (m.join_wanted || m.joining)) {
    if (m.announced || !m.pending.empty()) return;
    m.join_wanted = false;
    m.joining = true;
    return ask(node, {GroupRequest::Kind::join, m.id, m.owned, m.membership, ++m.joins});
  }
  ask(node, {GroupRequest::Kind::heartbeat, m.id, m.owned_soon(), m.membership});
}

// librdkafka sends none while one is unanswered; one in a rejoin would be another question.
void World::expedite(Node& node) {
  const Membership& m = node.member;
  if (!m.wanted || m.id == 0 || m.asking) return;
  ++expedites_;
  heartbeat(node);
}

void World::ask(Node& node, GroupRequest request) {
  if (!node.member.asking) node.member.asked_first = now_;
  node.member.asking = true;
  node.member.asked_at = now_;
  requests_.push_back(request);
  const Time lands = std::max(now_ + latency(node), node.member.last_request + 1);
  node.member.last_request = lands;
  plan_for(node, lands, Happening::group_request,
           static_cast<std::uint32_t>(requests_.size() - 1));
}

void World::request_lands(const Planned& event) {
  const Node& node = nodes_[event.node];
  if (node.links[kCoordinator].there_until > now_ || coordinator_down_until_ > now_) return;
  group_of(node).on(requests_[event.a], event.node, event.life, now_, addressed_);
  reply_to(addressed_);
}

void World::reply_to(std::vector<Addressed>& replies) {
  for (const Addressed& to : std::exchange(replies, {})) {
    Node& node = nodes_[to.node];
    if (!node.alive || node.life != to.life) continue;
    const Time at = std::max(now_ + latency(node), node.member.last_message + 1);
    if (node.links[kCoordinator].back_until > at) continue;  // lost
    node.member.last_message = at;
    replies_.push_back(to.reply);
    replies_.back().sent = now_;
    plan_for(node, at, Happening::group_reply, static_cast<std::uint32_t>(replies_.size() - 1));
  }
}

void World::on_reply(Node& node, const GroupReply& reply) {
  Membership& m = node.member;
  if (!m.wanted || reply.membership != m.membership) return;
  if (m.id != 0 && reply.member != m.id) return;
  // Who asked once more did so because the connection to the first answer was gone.
  const bool of_join = plan_.assigning != Assigning::consumer;
  if (of_join && reply.kind == GroupReply::Kind::assignment && reply.join != m.joins) return;
  // A join is answered when everybody has joined, and a session begins with that.
  const bool begins = m.joining && reply.kind == GroupReply::Kind::assignment;
  if (m.asking) m.answered = begins ? reply.sent : m.asked_first;
  m.asking = false;
  switch (reply.kind) {
    case GroupReply::Kind::nothing:
      return;
    case GroupReply::Kind::unknown:
      return lose_membership(node);
    case GroupReply::Kind::rebalance:
      if (m.joining || m.join_wanted || m.announced || !m.pending.empty()) return;
      m.join_wanted = true;
      if (plan_.assigning == Assigning::eager && m.owned != 0) {
        m.pending.push_back({false, false, m.owned});
        return announce(node);
      }
      return beat_in(node, node.random.percent(20) ? node.random.between(0, kJoinBackoff) : 0);
    case GroupReply::Kind::assignment: {
      const bool joins = m.id == 0 && plan_.assigning == Assigning::consumer;
      m.id = reply.member;
      m.joining = false;
      if (joins) plan_for(node, now_, Happening::group_joined);
      return take_assignment(node, reply.assigned);
    }
  }
}

// What is too much is given back before anything new comes.
void World::take_assignment(Node& node, PartitionBits assigned) {
  Membership& m = node.member;
  if (m.announced || !m.pending.empty()) return;  // the next heartbeat says it again
  const PartitionBits too_much = m.owned & ~assigned;
  const PartitionBits more = assigned & ~m.owned;
  if (too_much != 0) m.pending.push_back({false, false, too_much});
  // KIP-848 hands out more only once it has heard that the rest was given back.
  const bool both = plan_.assigning != Assigning::consumer || too_much == 0;
  if (more != 0 && both) m.pending.push_back({true, false, more});
  if (too_much != 0 && plan_.assigning == Assigning::cooperative) m.join_wanted = true;
  announce(node);
}

void World::lose_membership(Node& node) {
  Membership& m = node.member;
  m.id = 0;
  ++m.membership;
  m.joining = false;
  m.join_wanted = true;
  while (m.pending.size() > (m.announced ? 1U : 0U)) m.pending.pop_back();
  if (m.owned != 0) m.pending.push_back({false, true, m.owned});
  if (m.pending.empty()) return beat_in(node, 0);
  announce(node);
}

void World::announce(Node& node) {
  Membership& m = node.member;
  if (!m.wanted || m.announced || m.pending.empty()) return;
  m.announced = true;
  const Membership::Rebalance next = m.pending.front();
  if (next.assign) {
    m.owned |= next.parts;
    if (plan_.request.trace) tell(node, "is given " + ranges_of(next.parts).to_string());
    for (std::uint32_t p = 0; p < plan_.partitions; ++p) {
      if ((next.parts >> p & 1) != 0) oracle_.assigned(node.index, part_of(node, p), now_);
    }
    if (broadcasts(node)) start_hearing(node, next.parts);
    step(node, GroupAssigned{ranges_of(next.parts)});
  } else {
    m.owned &= ~next.parts;
    if (plan_.request.trace) tell(node, "is taken " + ranges_of(next.parts).to_string());
    for (std::uint32_t p = 0; p < plan_.partitions; ++p) {
      if ((next.parts >> p & 1) != 0) oracle_.taken(node.index, part_of(node, p));
    }
    step(node, GroupRevoked{ranges_of(next.parts), next.lost});
  }
}

// The coordinator learns at once that the client has done what was requested.
void World::finish_rebalances(Node& node, std::uint32_t count) {
  Membership& m = node.member;
  for (; count > 0 && m.announced; --count) {
    m.announced = false;
    m.pending.pop_front();
  }
  if (!m.wanted) return;
  if (!m.pending.empty()) return plan_for(node, now_, Happening::announce);
  beat_in(node, 0);
}

}  // namespace neliroute::sim
