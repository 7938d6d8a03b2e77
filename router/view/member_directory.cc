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

// One that is dead does not, whatever its last record says.
bool is_preparing(const Member& member) {
  return !member.dead && member.fields.preparing.count() > 0;
}

bool is_same(const ObservedMember& known, const Member& member,
             const StandingOverrides& overrides) {
  const MemberFields& fields = member.fields;
  return known.state == state_of(member) && known.session == fields.session &&
         known.weight == uncordoned_weight(member, overrides) &&
         known.cordoned == is_cordoned(member, overrides) &&
         known.on_probation == (member.probation_until != kLongAgo) &&
         known.preparing == is_preparing(member) && known.host == fields.host &&
         known.zone == fields.zone &&
         known.seat_priority == fields.seat_priority && known.peer->info == member.process;
}

PeerPtr peer_of(const Member& member) {
  return std::make_shared<const Peer>(Peer{member.id, member.process});
}

ObservedMember observed(const Member& member, const StandingOverrides& overrides) {
  const MemberFields& fields = member.fields;
  return {peer_of(member),
          state_of(member),
          fields.session,
          uncordoned_weight(member, overrides),
          is_cordoned(member, overrides),
          member.probation_until != kLongAgo,
          is_preparing(member),
          fields.host,
          fields.zone,
          fields.seat_priority};
}

bool is_anything(const StandingOverrides& overrides) { return overrides != StandingOverrides{}; }

}  // namespace

// The newest seat claim's writer, unless it is known to assign no more.
MemberDirectory::Holder MemberDirectory::holder_of(const KnownLane& lane) {
  const Seat& seat = lane.seat;
  if (!seat.known() || seat.holder() == kNobody) return {};
  const Member* const holder = lane.members.find(seat.holder());
  if (holder == nullptr || !holder->lives()) return {};
  const bool assigning = holder->fields.assigning && holder->fields.seat == seat.epoch();
  return {holder->id, seat.epoch(), assigning};
}

bool MemberDirectory::look(const KnownLane& lane) {
  changed_.clear();
  gone_.clear();
  const std::uint64_t versions =
      lane.members.version() + lane.members.prepare_version() + lane.overrides.version();
  bool other = false;
  if (std::exchange(seen_, versions) != versions) {
    compare(lane);
    other = note_overrides(lane.overrides);
  }
  const Holder holder = holder_of(lane);
  if (std::exchange(holder_, holder) != holder) {
    const auto at = members_.find(holder.id);
    assigner_ = at == members_.end() ? nullptr : at->second.peer;
    other = true;
  }
  const bool news = other || !changed_.empty() || !gone_.empty();
  known_ = known_ || news;
  return news;
}

void MemberDirectory::compare(const KnownLane& lane) {
  const StandingOverrides& overrides = lane.overrides.standing();
  lane.members.for_each([&](const Member& member) {
    if (!is_shown(member)) return;
    const auto [at, added] = members_.try_emplace(member.id);
    if (!added && is_same(at->second, member, overrides)) return;
    at->second = observed(member, overrides);
    changed_.push_back(at->second);
  });
  std::erase_if(members_, [&](const auto& entry) {
    const Member* const member = lane.members.find(entry.first);
    const bool left = member == nullptr || !is_shown(*member);
    if (left) gone_.push_back(entry.first);
    return left;
  });
}

bool MemberDirectory::note_overrides(const Overrides& overrides) {
  const StandingOverrides& standing = overrides.standing();
  if (!is_anything(standing)) return std::exchange(overrides_, nullptr) != nullptr;
  ObservedOverrides seen;
  seen.cordoned.assign(standing.cordoned.begin(), standing.cordoned.end());
  seen.weights = standing.weights;
  for (const auto& [name, partitions] : standing.pins) seen.pins[name] = partitions.to_string();
  seen.moves_paused = standing.moves_paused;
  if (overrides_ && *overrides_ == seen) return false;
  overrides_ = std::make_shared<const ObservedOverrides>(std::move(seen));
  return true;
}

AssignmentNews MemberDirectory::news() const {
  return {assigner_, holder_.seat, holder_.assigning, changed_, gone_, overrides_};
}

AssignmentNews MemberDirectory::whole(std::vector<ObservedMember>& all) const {
  for (const auto& [id, member] : members_) all.push_back(member);
  return {assigner_, holder_.seat, holder_.assigning, all, {}, overrides_};
}

PeerPtr MemberDirectory::designee(const KnownLane& lane, Partition partition,
                                  const PeerPtr& owner) const {
  const ProcessId id = lane.designations.at(partition).id;
  if (id == kNobody || (owner && owner->id == id)) return nullptr;
  if (const auto at = members_.find(id); at != members_.end()) return at->second.peer;
  const Member* const member = lane.members.find(id);
  return member == nullptr ? nullptr : peer_of(*member);
}

}  // namespace neliroute
