#include "neli_core/assigner/planning/round.h"

#include <algorithm>
#include <string>
#include <utility>

#include "neli_core/assigner/planning/pin_overrides.h"
#include "neli_core/mutation.h"

namespace neliroute {

using placement::PlanMember;
using placement::PlanPartition;

std::vector<Designation> Round::designations(bool repeat) {
  weigh();
  find_failures();
  look_at_partitions(repeat);
  for (const auto& named : planned()) {
    if (is_silent(named.partition)) {
      unfinished_ = true;
    } else {
      to_[named.to].push_back(named.partition);
    }
  }
  std::vector<Designation> made;
  for (const auto& [to, partitions] : to_) {
    made.push_back({living_[to]->id, PartitionRanges::of(partitions)});
  }
  return made;
}

std::vector<WouldMove> Round::moves() {
  weigh();
  look_at_partitions(false);
  std::vector<WouldMove> made;
  for (const auto& named : planned()) {
    const PlanPartition& partition = partitions_[named.partition.value()];
    const auto id = [&](MemberId member) {
      return member == placement::kNobody ? kNobody : living_[member]->id;
    };
    made.push_back({named.partition, id(partition.owner), id(named.to), named.reason});
  }
  return made;
}

/// Moves are paused, or it is not known whether they are.
bool Round::stays() const {
  const bool paused = standing().moves_paused && !mutated(Mutation::pause_ignored);
  const bool uncertain = view_.overrides.uncertain() && !mutated(Mutation::late_starter_moves);
  return paused || uncertain;
}

// What a living member leads stays with it while moves are paused, also if that one should own
// nothing; so does what it is named for and does not lead this moment, as between two claims of
// its own, until it has failed (A5). Where another had been named, and died or failed, who leads
// is named again, or it would drain for ever. One that lives may lead already.
std::vector<placement::Designation> Round::planned() const {
  if (!stays()) return placement::plan(members_, partitions_, pins_);
  auto planned = placement::plan(members_, partitions_, pins_, {.moves_at_once = 0});
  std::erase_if(planned, [this](placement::Designation& named) {
    const PlanPartition& partition = partitions_[named.partition.value()];
    if (partition.owner == placement::kNobody) return is_awaited(named.partition);
    if (partition.owner == named.to) return false;
    named.to = partition.owner;
    named.reason = placement::Reason::keep;
    return partition.designee != placement::kNobody;
  });
  return planned;
}

/// Its designee lives, and has not failed there.
bool Round::is_awaited(Partition partition) const {
  const MemberId designee = partitions_[partition.value()].designee;
  return designee != placement::kNobody && !is_banned(partition, living_[designee]->id);
}

/// In a log that the assigner does not read nobody is named: nobody can lead anew there, and who
/// led before the silence serves on until another is named.
bool Round::is_silent(Partition partition) const {
  return view_.unread.contains(Partition{log_of(partition, logs_).value()}) &&
         !mutated(Mutation::names_in_silence);
}

bool Round::is_banned(Partition partition, ProcessId id) const {
  const Log log = log_of(partition, logs_);
  return bans_.from(log, id, now_) > ignored_[log.value()];
}

// Who died too often is given nothing, as long as there is another; nor is one that is known from
// older records only, as it may be dead. Who is named for something keeps its share: of the one, a
// former assigner knew better; the other may be heard yet.
void Round::weigh() {
  for (MemberId i = 0; i < living_.size(); ++i) {
    const Member& member = *living_[i];
    index_.emplace(member.id, i);
    const bool flaps = view_.members.on_probation(member);
    const bool waits = (flaps || !member.seen_alive) && !view_.designations.names(member.id);
    members_.push_back({waits ? 0 : effective_weight(member, standing())});
    if (flaps) look_again(member.probation_until);
  }
  const auto takes = [](const PlanMember& member) { return member.weight > 0; };
  const bool some = std::any_of(members_.begin(), members_.end(), takes);
  for (MemberId i = 0; i < living_.size() && !some; ++i) {
    members_[i].weight = effective_weight(*living_[i], standing());
  }
  nobody_takes_ = !members_.empty() && std::none_of(members_.begin(), members_.end(), takes);
}

Round::MemberId Round::index_of(ProcessId id) const {
  const auto at = index_.find(id);
  return at == index_.end() ? placement::kNobody : at->second;
}

void Round::look_at_partitions(bool repeat) {
  const std::uint32_t count = view_.designations.count();
  partitions_.resize(count);
  PinOverrides overrides(standing(), living_, members_, count);
  std::vector<std::uint32_t> pins;
  for (std::uint32_t l = 0; l < logs_; ++l) pins.push_back(others_than_banned(Log{l}));
  for (std::uint32_t p = 0; p < count; ++p) {
    const Partition partition{p};
    const Designee& designee = view_.designations.at(partition);
    const Owner owner = view_.owners.at(partition, now_);
    PlanPartition& planned = partitions_[p];
    const bool carried_out = leads(partition, owner);
    const bool banned = is_banned(partition, designee.id);
    planned.owner = index_of(owner.id);
    planned.designee = index_of(designee.id);
    planned.pinned_to = overrides.at(
        partition, log_of(partition, logs_), carried_out ? planned.designee : placement::kNobody,
        [&](MemberId i) { return is_banned(partition, living_[i]->id); }, pins_);
    // What a banned one leads, it keeps, unless it is pinned to another.
    if (planned.pinned_to == PlanPartition::kNotPinned && (!banned || !carried_out)) {
      planned.pinned_to = pins[log_of(partition, logs_).value()];
    }
    if (banned && !carried_out && planned.pinned_to != PlanPartition::kNotPinned) {
      planned.designee = placement::kNobody;
    }
    if (mutated(Mutation::changes_under_way) && !carried_out) {
      planned.designee = placement::kNobody;
    }
    if (planned.designee == placement::kNobody || carried_out) continue;
    if (members_[planned.designee].weight == 0 && !stays()) continue;  // another is named
    unfinished_ = true;
    if (repeat && !is_silent(partition)) to_[planned.designee].push_back(partition);
  }
}

// Its word lasts for its lease, but not its patience.
bool Round::leads(Partition partition, const Owner& owner) const {
  if (owner.id != view_.designations.at(partition).id) return false;
  if (owner.draining && !mutated(Mutation::drainers_lead)) return false;
  return patience_ == nullptr || !has_failed(partition);
}

bool Round::has_failed(Partition partition) const {
  return patience_->left(partition) <= microseconds{0} && !mutated(Mutation::never_goes_back);
}

// First, so that a member that failed at one partition of a log is named for no other there.
void Round::find_failures() {
  for (std::uint32_t p = 0; p < view_.designations.count(); ++p) {
    const Partition partition{p};
    const ProcessId designee = view_.designations.at(partition).id;
    if (index_of(designee) == placement::kNobody) continue;
    if (!has_failed(partition)) {
      look_again(later(now_, patience_->left(partition)));
      continue;
    }
    const Log log = log_of(partition, logs_);
    if (bans_.is_banned(log, designee, now_)) continue;
    for (std::uint32_t l = 0; l < logs_; ++l) {
      if (log != Log{l} && !mutated(Mutation::bans_every_log)) continue;
      bans_.ban(Log{l}, designee, now_);
    }
    given_up_.push_back(
        {Severity::warning, "process " + to_string(designee) + " was named for partition " +
                                std::to_string(p) + " and does not lead it: others are named "
                                "in log " + std::to_string(log.value()) + " for a while"});
  }
}

// Who has failed last is not the one to try again: who failed before it may be well by now.
LocalTime Round::first_if_all_are_banned(Log log) const {
  LocalTime first = kNever;
  for (MemberId i = 0; i < living_.size(); ++i) {
    if (members_[i].weight == 0) continue;
    first = std::min(first, bans_.from(log, living_[i]->id, now_));
  }
  if (first == kNever || mutated(Mutation::all_may_be_banned)) return kLongAgo;
  return first != kLongAgo && mutated(Mutation::ignores_all_bans) ? now_ : first;
}

std::uint32_t Round::others_than_banned(Log log) {
  if (!bans_.any(log, now_)) return PlanPartition::kNotPinned;
  std::vector<MemberId> others;
  bool some_banned = false;  // and living: what is pinned is not balanced, for up to an hour
  ignored_[log.value()] = first_if_all_are_banned(log);
  for (MemberId i = 0; i < living_.size(); ++i) {
    if (members_[i].weight == 0) continue;
    const bool banned = bans_.from(log, living_[i]->id, now_) > ignored_[log.value()];
    some_banned = some_banned || banned;
    if (!banned) others.push_back(i);
  }
  if (!some_banned) return PlanPartition::kNotPinned;
  pins_.push_back(std::move(others));
  return static_cast<std::uint32_t>(pins_.size() - 1);
}

}  // namespace neliroute
