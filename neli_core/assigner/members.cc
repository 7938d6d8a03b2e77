#include "neli_core/assigner/members.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "neli_core/assigner/reading.h"
#include "neli_core/assigner/wishes.h"
#include "neli_core/mutation.h"

namespace neliroute {
namespace {

// A member that flaps is given nothing for so many of its sessions, and twice as long each time.
constexpr int kPenaltySessions = 10;
constexpr milliseconds kPenaltyMax{std::chrono::minutes{10}};
// A dead member is remembered for that long, so that it is known when it comes back.
constexpr milliseconds kRemembered{std::chrono::minutes{20}};
constexpr int kProofsInInterval = 4;
// Far above what one log 0 can carry the renewals of.
constexpr std::size_t kMembersMax = 50'000;

}  // namespace

bool Members::blind(LocalTime now) const noexcept {
  return is_stale(last_read_, now, options_.interval);
}

// A stretch in which nothing was read says nothing of anybody: all silence begins anew, and lasts
// longer by the length of that stretch, as others were cut off with this process.
microseconds Members::note_read(LocalTime now) {
  microseconds stretch{0};
  if (!mutated(Mutation::blind_judges)) {
    stretch = excuse_for(last_read_, now, options_.interval, options_.lease);
  }
  if (stretch > microseconds{0}) {
    for (auto& [id, member] : members_) member.silent_since = later(now, stretch);
  }
  if (blind(now)) look_at_ = now;
  last_read_ = now;
  return stretch;
}

void Members::restarted(LocalTime now) {
  for (auto& [id, member] : members_) member.silent_since = std::max(member.silent_since, now);
  last_read_ = now;
  proven_ = kLongAgo;
  look_at_ = now;
}

// What cannot be an honest lane is bounded: a record costs a few hundred bytes here.
bool Members::has_room(LocalTime now) {
  if (members_.size() < kMembersMax) return true;
  if (dead_ == 0) return false;  // a record of one more must not cost a walk over all
  std::erase_if(members_, [](const auto& entry) { return entry.second.dead; });
  dead_ = 0;
  look_at_ = now;
  return members_.size() < kMembersMax;
}

void Members::read(const Record& record, bool history, LocalTime now) {
  if (!members_.contains(record.id) && !has_room(now)) return;
  auto [at, fresh] = members_.try_emplace(record.id);
  Member& member = at->second;
  if (fresh) {
    member.id = record.id;
    last_newcomer_ = now;
    ++version_;
  }
  const MemberFields& fields = *record.member;
  if (member.fields.weight != fields.weight || member.fields.cordoned != fields.cordoned ||
      member.process.name != record.process.name || member.since != record.since ||
      (fields.leaving && !member.leaving) || (!history && !member.seen_alive)) {
    ++version_;
  }
  if ((fields.preparing.count() > 0) != (member.fields.preparing.count() > 0)) ++prepare_version_;
  if (!history && fields.preparing.count() > 0) {
    member.prepares_until = later(now, fields.preparing);
  } else {
    member.prepares_until = std::min(member.prepares_until, now);
  }
  member.fields = fields;
  member.process = record.process;
  member.since = record.since;
  member.leaving = member.leaving || fields.leaving;  // nobody comes back under the same id
  // What is read again of a dead member was written before its death.
  if (!history || !member.dead) revive(member, now);
  member.seen_alive = member.seen_alive || !history;
  look_at_ = std::min(look_at_, member.silent_until());
}

void Members::heard(ProcessId id, LocalTime now) {
  if (const auto at = members_.find(id); at != members_.end()) revive(at->second, now);
}

void Members::revive(Member& member, LocalTime now) {
  if (now >= member.silent_until()) look_at_ = now;  // nothing is to be proven of it any more
  member.silent_since = std::max(member.silent_since, now);
  if (!std::exchange(member.dead, false)) return;
  --dead_;
  ++version_;
  // Who is only known from the history was not silent: it had not been listened to.
  if (!member.seen_alive) return;
  ++false_deaths_;
  if (mutated(Mutation::flapping_forgiven)) return;
  const milliseconds first = kPenaltySessions * member.fields.session;
  member.penalty = std::min(std::max(2 * member.penalty, first), kPenaltyMax);
  member.cordoned_until = later(now, member.penalty);
  look_at_ = std::min(look_at_, member.cordoned_until);
}

void Members::leave(ProcessId id, LocalTime now) {
  const auto at = members_.find(id);
  if (at == members_.end()) return;
  at->second.silent_since = std::max(at->second.silent_since, now);
  if (!std::exchange(at->second.leaving, true)) ++version_;
}

void Members::read_back(LocalTime sent) {
  proven_ = std::max(proven_, sent);
  if (unproven_ != kLongAgo) look_at_ = kLongAgo;
}

void Members::tick(LocalTime now) {
  if (now >= look_at_) look(now);
}

void Members::look(LocalTime now) {
  look_at_ = kNever;
  unproven_ = kLongAgo;
  for (auto at = members_.begin(); at != members_.end();) {
    Member& member = at->second;
    judge(member, now);
    const LocalTime forgotten = later(member.dead_at, kRemembered);
    if (member.dead && now >= forgotten) {
      at = members_.erase(at);
      --dead_;
      continue;
    }
    if (member.dead) look_at_ = std::min(look_at_, forgotten);
    ++at;
  }
}

void Members::judge(Member& member, LocalTime now) {
  if (member.cordoned_until != kLongAgo && now >= member.cordoned_until) {
    member.cordoned_until = kLongAgo;
    ++version_;
  }
  if (member.cordoned_until != kLongAgo) look_at_ = std::min(look_at_, member.cordoned_until);
  if (member.dead || member.id == options_.own) return;
  if (now < member.silent_until()) {
    look_at_ = std::min(look_at_, member.silent_until());
    return;
  }
  const bool proven = proven_ >= member.silent_until() || mutated(Mutation::death_unproven);
  if (blind(now) || !proven) {
    unproven_ = std::max(unproven_, member.silent_until());
    return;
  }
  member.dead = true;
  member.dead_at = now;
  ++dead_;
  ++version_;
  // A member that has left is expected to fall silent, and one of the history may have done so.
  if (!member.leaving && member.seen_alive) deaths_.push_back(member.id);
}

std::vector<ProcessId> Members::take_deaths() { return std::exchange(deaths_, {}); }

std::size_t Members::deaths_after(LocalTime since, ProcessId except) const noexcept {
  return static_cast<std::size_t>(
      std::count_if(members_.begin(), members_.end(), [&](const auto& entry) {
        const Member& member = entry.second;
        return member.dead && member.seen_alive && !member.leaving && member.dead_at > since &&
               member.id != except;
      }));
}

LocalTime Members::asked_next() const noexcept {
  return asked_ == kLongAgo ? kLongAgo : later(asked_, options_.interval / kProofsInInterval);
}

// One that was not read back within an interval may be lost.
bool Members::wants_proof(LocalTime now) const noexcept {
  if (unproven_ == kLongAgo || blind(now) || now < asked_next()) return false;
  const bool on_its_way = asked_ != kLongAgo && now < later(asked_, options_.interval);
  return (on_its_way ? std::max(asked_, proven_) : proven_) < unproven_;
}

bool Members::is_silent(ProcessId id, LocalTime now) const {
  const Member* const member = find(id);
  return member != nullptr && now >= member->silent_until();
}

LocalTime Members::next_deadline() const noexcept {
  // What is past waits for the record that proves it, and for no time; or for the next question.
  const bool waits = unproven_ != kLongAgo && asked_ != kLongAgo && asked_ < unproven_;
  return waits ? std::min(look_at_, asked_next()) : look_at_;
}

const Member* Members::find(ProcessId id) const {
  const auto at = members_.find(id);
  return at == members_.end() ? nullptr : &at->second;
}

bool Members::lives(ProcessId id) const {
  const Member* const member = find(id);
  return member != nullptr && member->lives();
}

std::vector<const Member*> Members::living() const {
  std::vector<const Member*> living = present();
  std::erase_if(living, [](const Member* member) { return !member->lives(); });
  return living;
}

std::vector<const Member*> Members::present() const {
  std::vector<const Member*> present;
  for (const auto& [id, member] : members_) {
    if (!member.dead) present.push_back(&member);
  }
  std::sort(present.begin(), present.end(),
            [](const Member* left, const Member* right) { return is_senior(*left, *right); });
  return present;
}

std::optional<std::size_t> Members::rank_of(ProcessId id) const {
  const Member* const member = find(id);
  if (member == nullptr || !member->lives()) return std::nullopt;
  const auto seniors = std::count_if(members_.begin(), members_.end(), [&](const auto& entry) {
    return entry.second.lives() && is_senior(entry.second, *member);
  });
  return static_cast<std::size_t>(seniors);
}

std::size_t Members::living_count() const noexcept {
  if (std::exchange(counted_, version_) != version_) {
    living_ = static_cast<std::size_t>(std::count_if(
        members_.begin(), members_.end(), [](const auto& entry) { return entry.second.lives(); }));
  }
  return living_;
}

std::size_t Members::takers_besides(ProcessId except, const StandingWishes& standing) const {
  return static_cast<std::size_t>(
      std::count_if(members_.begin(), members_.end(), [&](const auto& entry) {
        const Member& member = entry.second;
        return member.lives() && entry.first != except && wished_weight(member, standing) > 0;
      }));
}

milliseconds Members::longest_session() const noexcept {
  milliseconds longest{0};
  for (const auto& [id, member] : members_) {
    if (member.lives()) longest = std::max(longest, member.fields.session);
  }
  return longest;
}

}  // namespace neliroute
