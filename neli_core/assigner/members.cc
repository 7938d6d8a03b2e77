#include "neli_core/assigner/members.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "neli_core/assigner/overrides.h"
#include "neli_core/mutation.h"

namespace neliroute {
namespace {

// A dead member is remembered for that long, so that it is known when it comes back.
constexpr milliseconds kRemembered{std::chrono::minutes{20}};
constexpr int kAsksInInterval = 4;
// Stamps are cut to whole milliseconds.
constexpr milliseconds kStampUnit{1};
// Far above what one log 0 can carry the renewals of.
constexpr std::size_t kMembersMax = 50'000;

}  // namespace

void Members::restarted() noexcept {
  flow_.lost();
  proven_ = kLongAgo;
}

// What cannot be an honest lane is bounded: a record costs a few hundred bytes here.
bool Members::has_room() {
  if (members_.size() < kMembersMax) return true;
  if (dead_ == 0) return false;  // a record of one more must not cost a walk over all
  std::erase_if(members_, [](const auto& entry) { return entry.second.dead; });
  dead_ = 0;
  return members_.size() < kMembersMax;
}

void Members::read(const Record& record, const Sighting& seen) {
  if (!members_.contains(record.id) && !has_room()) return;
  auto [at, fresh] = members_.try_emplace(record.id);
  Member& member = at->second;
  const MemberFields& fields = *record.member;
  if (member.fields.weight != fields.weight || member.fields.cordoned != fields.cordoned ||
      member.fields.seat_priority != fields.seat_priority ||
      member.process.name != record.process.name || member.since != record.since ||
      (fields.leaving && !member.leaving) || (!seen.history && !member.seen_alive)) {
    ++version_;
  }
  if ((fields.preparing.count() > 0) != (member.fields.preparing.count() > 0)) ++prepare_version_;
  member.fields = fields;
  member.process = record.process;
  member.since = record.since;
  if (fresh) {
    member.id = record.id;
    last_newcomer_ = seen.now;
    begin_life(member, seen.now);
  }
  note(member, seen, true);
  if (fields.leaving) begin_to_leave(member);
  member.seen_alive = member.seen_alive || !seen.history;
}

void Members::heard(ProcessId id, const Sighting& seen) {
  if (const auto at = members_.find(id); at != members_.end()) note(at->second, seen, false);
}

void Members::note(Member& member, const Sighting& seen, bool revives) {
  // What is no renewal may have been written before its death: one that lives renews each interval.
  if (!revives && is_silent(member) && !mutated(Mutation::silent_members_flow)) return;
  flow_.read(seen.stamp);
  again_ = seen.again;
  last_read_ = seen.now;
  looked_ = false;
  if (is_taken_for_dead(member) && seen.again) return;  // so was what is read again
  member.heard = flow_.mark(member.fields.session);
  member.heard_at = seen.now;
  note_own(member);
  look_flow_ = std::min(look_flow_, flow_.total() + member.fields.session);
  shortest_ = std::min(shortest_, member.fields.session);
  if (!std::exchange(member.dead, false)) return;
  --dead_;
  // Who is only known from the history was not silent: it had not been listened to.
  if (member.seen_alive) ++false_deaths_;
  begin_life(member, seen.now);
}

// Who began to read later does not know it, and takes it for a member from its next renewal.
bool Members::is_silent(const Member& member) const {
  return is_taken_for_dead(member) ||
         flow_.until_silent(member.heard, member.fields.session) == microseconds{0};
}

// Nobody is dead for itself, but it must see when it is so for others, who heed no gap after that.
void Members::note_own(const Member& heard) {
  if (heard.id == options_.own) {
    own_silent_ = false;
  } else if (const Member* const own = find(options_.own); own != nullptr && !again_) {
    own_silent_ = is_silent(*own);
  }
}

bool Members::is_taken_for_dead(const Member& member) const {
  return member.dead || (own_silent_ && member.id == options_.own);
}

void Members::begin_life(Member& member, LocalTime now) {
  ++version_;
  const milliseconds probation =
      flapping_.probation(member.process, member.id, member.fields.session, now);
  member.probation_until = probation.count() > 0 ? later(now, probation) : kLongAgo;
  if (probation.count() > 0) look_at_ = std::min(look_at_, member.probation_until);
}

// Nobody comes back under the same id.
void Members::begin_to_leave(Member& member) {
  if (std::exchange(member.leaving, true)) return;
  ++version_;
  flapping_.left(member.process, member.id);
}

void Members::leave(ProcessId id, const Sighting& seen) {
  const auto at = members_.find(id);
  if (at == members_.end()) return;
  note(at->second, seen, false);
  begin_to_leave(at->second);
}

void Members::leave_own(ProcessId id) {
  if (const auto at = members_.find(id); at != members_.end()) begin_to_leave(at->second);
}

void Members::read_back(LocalTime sent) {
  proven_ = std::max(proven_, sent);
  if (!options_.believe_stamps) looked_ = false;
}

// Nobody is judged by what is read again: it says how things were.
void Members::tick(LocalTime now) {
  if (now >= look_at_) return look(now);
  if (looked_ || again_) return;
  if (flow_.total() >= look_flow_ || now >= record_due()) look(now);
}

void Members::look(LocalTime now) {
  looked_ = !again_;
  look_flow_ = again_ ? microseconds{0} : microseconds::max();
  look_at_ = kNever;
  shortest_ = kLeaseMax;
  for (auto at = members_.begin(); at != members_.end();) {
    Member& member = at->second;
    if (!again_) judge(member);
    if (member.probation_until != kLongAgo && now >= member.probation_until) {
      member.probation_until = kLongAgo;
      ++version_;
    }
    if (member.probation_until != kLongAgo) look_at_ = std::min(look_at_, member.probation_until);
    const LocalTime forgotten = later(member.dead_at, kRemembered);
    if (member.dead && now >= forgotten) {
      at = members_.erase(at);
      --dead_;
      continue;
    }
    if (member.dead) look_at_ = std::min(look_at_, forgotten);
    if (member.lives()) shortest_ = std::min(shortest_, member.fields.session);
    ++at;
  }
}

void Members::judge(Member& member) {
  if (member.dead || member.id == options_.own) return;
  const microseconds left = flow_.until_silent(member.heard, member.fields.session);
  look_flow_ = std::min(look_flow_, flow_.total() + left);
  if (left == microseconds{0} && is_proven(member)) die(member);
}

bool Members::is_proven(const Member& member) const noexcept {
  return options_.believe_stamps || mutated(Mutation::death_unproven) ||
         proven_ >= later(member.heard_at, with_drift(member.fields.session));
}

// A member that has left is expected to fall silent, and one of the history may have done so.
void Members::die(Member& member) {
  member.dead = true;
  member.dead_at = last_read_;
  ++dead_;
  ++version_;
  const bool told = !member.leaving && member.seen_alive;
  // Looked up only where it died before: all may die at once.
  const bool shared = flapping_.knows(member.process, member.id) && is_shared(member);
  member.counts =
      told && (shared || flapping_.died(member.process, member.id, last_read_) == 1);
  if (told) deaths_.push_back(member.id);
}

std::vector<ProcessId> Members::take_deaths() { return std::exchange(deaths_, {}); }

std::size_t Members::deaths_after(LocalTime since, ProcessId except) const noexcept {
  return static_cast<std::size_t>(
      std::count_if(members_.begin(), members_.end(), [&](const auto& entry) {
        const Member& member = entry.second;
        return member.dead && member.counts && member.dead_at > since && member.id != except;
      }));
}

/// When the log has flowed far enough for somebody to be dead, if it flows as time passes.
LocalTime Members::record_due() const noexcept {
  if (last_read_ == kLongAgo || look_flow_ == microseconds::max()) return kNever;
  const microseconds left = std::max(look_flow_ - flow_.total(), microseconds{0});
  return later(last_read_, with_drift(left + kStampUnit));
}

// One that was not read back within an interval may be lost.
LocalTime Members::ask_at() const noexcept {
  const LocalTime due = record_due();
  if (asked_ == kLongAgo || due == kNever) return due;
  const bool on_its_way = asked_ >= due;
  return std::max(due, later(asked_, on_its_way ? microseconds{options_.interval}
                                                : options_.interval / kAsksInInterval));
}

bool Members::wants_record(LocalTime now) const noexcept { return looked_ && now >= ask_at(); }

LocalTime Members::next_deadline() const noexcept { return std::min(look_at_, ask_at()); }

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
  const auto goes_before = [&](const Member& other) {
    const bool ignored = mutated(Mutation::seat_priorities_ignored);
    return ignored ? is_senior(other, *member) : is_preferred(other, *member);
  };
  const auto before = std::count_if(members_.begin(), members_.end(), [&](const auto& entry) {
    return entry.second.lives() && goes_before(entry.second);
  });
  return static_cast<std::size_t>(before);
}

std::size_t Members::living_count() const noexcept {
  if (std::exchange(counted_, version_) != version_) {
    living_ = static_cast<std::size_t>(std::count_if(
        members_.begin(), members_.end(), [](const auto& entry) { return entry.second.lives(); }));
  }
  return living_;
}

std::size_t Members::takers_besides(ProcessId except, const StandingOverrides& standing) const {
  return static_cast<std::size_t>(
      std::count_if(members_.begin(), members_.end(), [&](const auto& entry) {
        const Member& member = entry.second;
        return member.lives() && entry.first != except && effective_weight(member, standing) > 0;
      }));
}

bool Members::others_read(ProcessId except) const noexcept {
  return std::any_of(members_.begin(), members_.end(), [&](const auto& entry) {
    return entry.first != except && entry.second.lives() && entry.second.fields.reads;
  });
}

// Two that share a name and an endpoint by mistake would be punished for each other.
bool Members::on_probation(const Member& member) const {
  return member.probation_until != kLongAgo && !is_shared(member);
}

// Another one that lives has its name and endpoint.
bool Members::is_shared(const Member& member) const {
  const std::string_view name = lasting_name(member.process, member.id);
  return std::any_of(members_.begin(), members_.end(), [&](const auto& entry) {
    const Member& other = entry.second;
    return other.id != member.id && other.process.endpoint == member.process.endpoint &&
           other.lives() && lasting_name(other.process, other.id) == name;
  });
}

milliseconds Members::longest_session() const noexcept {
  milliseconds longest{0};
  for (const auto& [id, member] : members_) {
    if (member.lives()) longest = std::max(longest, member.fields.session);
  }
  return longest;
}

}  // namespace neliroute
