#include "router/view/member_directory.h"

#include <utility>

namespace neliroute {
namespace {

// Of a process that was dead when this one began to read, and of one that has left and ended, there
// is nothing to show.
bool is_shown(const Member& member) {
  return !member.dead || (member.seen_alive && !member.leaving);
}

MemberState state_of(const Member& member) {
  if (member.dead) return MemberState::silent;
  return member.leaving ? MemberState::leaving : MemberState::living;
}

bool is_same(const ObservedMember& known, const Member& member) {
  const MemberFields& fields = member.fields;
  return known.state == state_of(member) && known.session == fields.session &&
         known.weight == fields.weight && known.cordoned == fields.cordoned &&
         known.on_probation == (member.cordoned_until != kLongAgo) && known.host == fields.host &&
         known.zone == fields.zone && known.peer->info == member.process;
}

PeerPtr peer_of(const Member& member) {
  return std::make_shared<const Peer>(Peer{member.id, member.process});
}

ObservedMember observed(const Member& member) {
  const MemberFields& fields = member.fields;
  return {peer_of(member), state_of(member), fields.session,
          fields.weight,   fields.cordoned,  member.cordoned_until != kLongAgo,
          fields.host,     fields.zone};
}

}  // namespace

// The newest seat claim's writer, unless it is known to assign no more.
MemberDirectory::Holder MemberDirectory::holder_of(const AssignmentReading& reading) {
  const auto& [members, seat, designations] = reading;
  if (!seat.known() || seat.holder() == kNobody) return {};
  const Member* const holder = members.find(seat.holder());
  if (holder == nullptr || !holder->lives()) return {};
  const bool assigning = holder->fields.assigning && holder->fields.seat == seat.epoch();
  return {holder->id, seat.epoch(), assigning};
}

bool MemberDirectory::look(const AssignmentReading& reading) {
  changed_.clear();
  gone_.clear();
  if (std::exchange(seen_, reading.members.version()) != reading.members.version()) {
    compare(reading.members);
  }
  const Holder holder = holder_of(reading);
  const bool other = std::exchange(holder_, holder) != holder;
  if (other) {
    const auto at = members_.find(holder.id);
    assigner_ = at == members_.end() ? nullptr : at->second.peer;
  }
  const bool news = other || !changed_.empty() || !gone_.empty();
  known_ = known_ || news;
  return news;
}

void MemberDirectory::compare(const Members& members) {
  members.for_each([&](const Member& member) {
    if (!is_shown(member)) return;
    const auto [at, added] = members_.try_emplace(member.id);
    if (!added && is_same(at->second, member)) return;
    at->second = observed(member);
    changed_.push_back(at->second);
  });
  std::erase_if(members_, [&](const auto& entry) {
    const Member* const member = members.find(entry.first);
    const bool left = member == nullptr || !is_shown(*member);
    if (left) gone_.push_back(entry.first);
    return left;
  });
}

AssignmentNews MemberDirectory::news() const {
  return {assigner_, holder_.seat, holder_.assigning, changed_, gone_};
}

AssignmentNews MemberDirectory::whole(std::vector<ObservedMember>& all) const {
  for (const auto& [id, member] : members_) all.push_back(member);
  return {assigner_, holder_.seat, holder_.assigning, all, {}};
}

PeerPtr MemberDirectory::designee(const AssignmentReading& reading, Partition partition,
                                  const PeerPtr& owner) const {
  const ProcessId id = reading.designations.at(partition).id;
  if (id == kNobody || (owner && owner->id == id)) return nullptr;
  if (const auto at = members_.find(id); at != members_.end()) return at->second.peer;
  const Member* const member = reading.members.find(id);
  return member == nullptr ? nullptr : peer_of(*member);
}

}  // namespace neliroute
