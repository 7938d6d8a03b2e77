#include "tests/sim/world/group.h"

#include <algorithm>

namespace neliroute::sim {

Group::Group(const Plan& plan, std::uint32_t lane)
    : assigning_(plan.assigning),
      partitions_(plan.partitions),
      session_(plan.session()),
      random_(plan.request.seed, 7 + 100 * lane),
      target_(plan.partitions, 0) {}

Group::Member* Group::find(std::uint32_t id) {
  for (Member& member : members_) {
    if (member.id == id) return &member;
  }
  return nullptr;
}

Group::Member* Group::find(std::uint8_t node, std::uint16_t life, std::uint32_t membership) {
  for (Member& member : members_) {
    const bool same = member.node == node && member.life == life;
    if (same && member.membership == membership) return &member;
  }
  return nullptr;
}

Group::Member& Group::add(std::uint8_t node, std::uint16_t life, std::uint32_t membership) {
  Member member;
  member.id = next_id_++;
  member.node = node;
  member.life = life;
  member.membership = membership;
  member.expires = now_ + session_;
  members_.push_back(member);
  return members_.back();
}

// Moves as little as possible: both sticky assignors do.
void Group::aim() {
  ++rebalances_;
  std::vector<std::uint32_t> load(members_.size(), 0);
  const auto index_of = [&](std::uint32_t id) {
    for (std::size_t i = 0; i < members_.size(); ++i) {
      if (members_[i].id == id) return i;
    }
    return members_.size();
  };
  for (std::uint32_t& owner : target_) {
    const std::size_t i = index_of(owner);
    if (i == members_.size()) {
      owner = 0;
    } else {
      ++load[i];
    }
  }
  if (members_.empty()) return;
  const auto least = [&] {
    return static_cast<std::size_t>(std::min_element(load.begin(), load.end()) - load.begin());
  };
  for (std::uint32_t& owner : target_) {
    if (owner != 0) continue;
    const std::size_t i = least();
    owner = members_[i].id;
    ++load[i];
  }
  for (;;) {
    const auto most =
        static_cast<std::size_t>(std::max_element(load.begin(), load.end()) - load.begin());
    const std::size_t to = least();
    if (load[most] <= load[to] + 1) return;
    *std::find(target_.begin(), target_.end(), members_[most].id) = members_[to].id;
    --load[most];
    ++load[to];
  }
}

PartitionBits Group::target_of(std::uint32_t id) const {
  PartitionBits bits = 0;
  for (std::uint32_t p = 0; p < partitions_; ++p) {
    if (target_[p] == id) bits |= PartitionBits{1} << p;
  }
  return bits;
}

// KIP-848: what a member has too much it gives back first; what it lacks it gets once it is free.
GroupReply Group::reconcile(Member& member, PartitionBits owned) {
  const PartitionBits target = target_of(member.id);
  member.current &= target | owned;
  if ((member.current & ~target) == 0) {
    PartitionBits taken = 0;
    for (const Member& other : members_) {
      if (other.id != member.id) taken |= other.current;
    }
    member.current |= target & ~taken;
  }
  return {GroupReply::Kind::assignment, member.id, member.current & target, 0,
          member.membership};
}

void Group::on(const GroupRequest& request, std::uint8_t node, std::uint16_t life, Time now,
               std::vector<Addressed>& replies) {
  now_ = now;
  Member* member = find(request.member);
  if (request.kind == GroupRequest::Kind::leave) {
    if (request.member == 0) member = find(node, life, request.membership);
    if (member != nullptr) remove(member->id, replies);
    return;
  }
  if (member == nullptr && request.member != 0) {
    replies.push_back(
        {node, life, {GroupReply::Kind::unknown, request.member, 0, 0, request.membership}});
    return;
  }
  if (assigning_ == Assigning::consumer) {
    if (member == nullptr) {
      member = &add(node, life, request.membership);
      aim();
    }
    member->expires = now + session_;
    replies.push_back({node, life, reconcile(*member, request.owned)});
    return;
  }
  if (request.kind == GroupRequest::Kind::heartbeat) {
    if (member == nullptr) return;
    member->expires = now + session_;
    const bool told = joining_ && !member->joined;
    const auto kind = told ? GroupReply::Kind::rebalance : GroupReply::Kind::nothing;
    replies.push_back({node, life, {kind, member->id, 0, 0, member->membership}});
    return;
  }
  // Who asks again because it still waits has its id since the first time (KIP-394). Who gave its
  // membership up is another member, and the old one is there until its session is over.
  if (member == nullptr) member = find(node, life, request.membership);
  if (member == nullptr) member = &add(node, life, request.membership);
  member->expires = now + session_;
  if (!joining_) start_rebalance();
  member->joined = true;
  member->join = request.join;
  member->owned = request.owned;
  complete_if_all_joined(replies);
}

void Group::start_rebalance() {
  if (members_.empty()) {
    joining_ = false;
    aim();
    return;
  }
  joining_ = true;
  for (Member& member : members_) member.joined = false;
}

void Group::complete_if_all_joined(std::vector<Addressed>& replies) {
  const bool all = std::all_of(members_.begin(), members_.end(),
                               [](const Member& member) { return member.joined; });
  if (!joining_ || !all) return;
  joining_ = false;
  aim();
  for (Member& member : members_) {
    PartitionBits elsewhere = 0;
    for (const Member& other : members_) {
      if (other.id != member.id) elsewhere |= other.owned;
    }
    // Cooperative: what another still has comes in the next round, when it was given back.
    PartitionBits assigned = target_of(member.id);
    if (assigning_ == Assigning::cooperative) assigned &= ~elsewhere;
    member.joined = false;
    member.expires = now_ + session_;
    replies.push_back({member.node, member.life,
                       {GroupReply::Kind::assignment, member.id, assigned, 0, member.membership,
                        member.join}});
  }
}

void Group::remove(std::uint32_t id, std::vector<Addressed>& replies) {
  const auto found = std::find_if(members_.begin(), members_.end(),
                                  [id](const Member& member) { return member.id == id; });
  if (found == members_.end()) return;
  members_.erase(found);
  if (assigning_ == Assigning::consumer) return aim();
  if (!joining_) return start_rebalance();
  complete_if_all_joined(replies);
}

void Group::expire(Time now, std::vector<Addressed>& replies) {
  now_ = now;
  for (std::size_t i = 0; i < members_.size();) {
    // A join that waits for the others holds its member in the group.
    if (members_[i].expires > now || members_[i].joined) {
      ++i;
      continue;
    }
    ++expelled_;
    remove(members_[i].id, replies);
    i = 0;
  }
}

void Group::refresh(Time now) {
  for (Member& member : members_) member.expires = now + session_;
}

void Group::forget_all() {
  members_.clear();
  joining_ = false;
  std::fill(target_.begin(), target_.end(), 0U);
}

void Group::reshuffle() {
  if (members_.empty()) return;
  for (std::uint32_t& owner : target_) {
    const auto last = static_cast<std::int64_t>(members_.size()) - 1;
    owner = members_[static_cast<std::size_t>(random_.between(0, last))].id;
  }
  aim();
  if (assigning_ != Assigning::consumer && !joining_) start_rebalance();
}

bool Group::assignee(std::uint32_t partition, std::uint8_t& node, std::uint16_t& life) const {
  for (const Member& member : members_) {
    if (member.id != target_[partition]) continue;
    node = member.node;
    life = member.life;
    return true;
  }
  return false;
}

std::uint32_t Group::others(std::uint8_t node) const {
  return static_cast<std::uint32_t>(
      std::count_if(members_.begin(), members_.end(),
                    [node](const Member& member) { return member.node != node; }));
}

}  // namespace neliroute::sim
