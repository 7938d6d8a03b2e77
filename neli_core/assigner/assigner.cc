#include "neli_core/assigner/assigner.h"

#include <algorithm>
#include <map>
#include <utility>

#include "neli_core/assigner/reading.h"
#include "neli_core/assigner/wished_pins.h"
#include "neli_core/mutation.h"
#include "placement/plan.h"

namespace neliroute {
namespace {

using placement::MemberId;
using placement::PlanMember;
using placement::PlanPartition;

// Where much changes, every record may change the plan, which takes a look at every partition.
constexpr int kPlansInInterval = 8;
// Restarts of a tail that are less apart belong together.
constexpr int kSeriesIntervals = 4;

std::uint64_t version_of(const AssignerView& view) {
  return view.members.version() + view.owners.version() + view.designations.version() +
         view.wishes.version();
}

bool leads(const Owner& owner, const Designee& designee) {
  return owner.id == designee.id && (!owner.draining || mutated(Mutation::drainers_lead));
}

/// How long a designee may take (A5).
microseconds patience(milliseconds lease, milliseconds session) {
  return with_drift(2 * lease + session);
}

}  // namespace

// One plan: members by their index, partitions with who has them or is to have them.
class Assigner::Round {
 public:
  Round(Assigner& assigner, const AssignerView& view, LocalTime now)
      : assigner_(assigner), view_(view), now_(now), living_(view.members.living()) {}

  std::vector<Designation> designations() {
    weigh();
    find_failures(view_.designations.count());
    look_at_partitions();
    for (const auto& named : planned()) to_[named.to].push_back(named.partition);
    std::vector<Designation> made;
    for (const auto& [to, partitions] : to_) {
      made.push_back({living_[to]->id, PartitionRanges::of(partitions)});
    }
    return made;
  }

  /// What would move now, and why.
  std::vector<WouldMove> moves() {
    weigh();
    look_at_partitions();
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

  /// Something is not carried out yet: it is to be said again.
  [[nodiscard]] bool unfinished() const noexcept { return unfinished_; }

 private:
  /// Moves are paused, or it is not known whether they are.
  [[nodiscard]] bool stays() const {
    const bool paused = standing().moves_paused && !mutated(Mutation::pause_ignored);
    const bool uncertain =
        view_.wishes.uncertain() && !mutated(Mutation::late_starter_moves);
    return paused || uncertain;
  }

  // What a living member leads stays with it while moves are paused, also if that one should own
  // nothing; so does what it is named for and does not lead this moment, as between two claims of
  // its own, until it has failed (A5). Where another had been named, and died or failed, who leads
  // is named again, or it would drain for ever. One that lives may lead already.
  std::vector<placement::Designation> planned() const {
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
  [[nodiscard]] bool is_awaited(Partition partition) const {
    const MemberId designee = partitions_[partition.value()].designee;
    if (designee == placement::kNobody) return false;
    const Log log = log_of(partition, assigner_.options_.logs);
    return !assigner_.bans_.is_banned(log, living_[designee]->id, now_);
  }

  [[nodiscard]] const StandingWishes& standing() const { return view_.wishes.standing(); }

  // A member that flaps is given nothing, as long as there is another; nor is one that is known
  // from older records only, as it may be dead. Who is named for something keeps its share: of the
  // one, a former assigner knew better; the other may be heard yet.
  void weigh() {
    for (MemberId i = 0; i < living_.size(); ++i) {
      const Member& member = *living_[i];
      index_.emplace(member.id, i);
      const bool flaps = now_ < member.cordoned_until;
      const bool waits =
          (flaps || !member.seen_alive) && !view_.designations.names(member.id);
      members_.push_back({waits ? 0 : wished_weight(member, standing())});
      if (flaps) assigner_.look_again(member.cordoned_until);
    }
    const auto takes = [](const PlanMember& member) { return member.weight > 0; };
    const bool some = std::any_of(members_.begin(), members_.end(), takes);
    for (MemberId i = 0; i < living_.size() && !some; ++i) {
      members_[i].weight = wished_weight(*living_[i], standing());
    }
    const bool none =
        !members_.empty() && std::none_of(members_.begin(), members_.end(), takes);
    if (none && !assigner_.told_cordoned_) {
      assigner_.notices_.push_back({Severity::warning, "every member is cordoned or of weight 0: "
                                                       "nobody is named for what nobody owns"});
    }
    assigner_.told_cordoned_ = none;
  }

  [[nodiscard]] MemberId index_of(ProcessId id) const {
    const auto at = index_.find(id);
    return at == index_.end() ? placement::kNobody : at->second;
  }

  void look_at_partitions() {
    const std::uint32_t count = view_.designations.count();
    partitions_.resize(count);
    WishedPins wished(standing(), living_, members_, count);
    std::vector<std::uint32_t> pins;
    for (std::uint32_t l = 0; l < assigner_.options_.logs; ++l) {
      pins.push_back(others_than_banned(Log{l}));
    }
    const bool repeat = assigner_.repeats(now_);
    for (std::uint32_t p = 0; p < count; ++p) {
      const Partition partition{p};
      const Log log = log_of(partition, assigner_.options_.logs);
      const Designee& designee = view_.designations.at(partition);
      const Owner owner = view_.owners.at(partition, now_);
      PlanPartition& planned = partitions_[p];
      const bool carried_out = leads(owner, designee);
      const bool banned = assigner_.bans_.is_banned(log, designee.id, now_);
      planned.owner = index_of(owner.id);
      planned.designee = index_of(designee.id);
      planned.pinned_to = wished.at(
          partition, log, carried_out ? planned.designee : placement::kNobody,
          [&](MemberId i) { return assigner_.bans_.is_banned(log, living_[i]->id, now_); }, pins_);
      // What a banned one leads, it keeps, unless it is pinned to another.
      if (planned.pinned_to == PlanPartition::kNotPinned && (!banned || !carried_out)) {
        planned.pinned_to = pins[log.value()];
      }
      // Where all are banned, nobody is.
      if (banned && !carried_out && planned.pinned_to != PlanPartition::kNotPinned) {
        planned.designee = placement::kNobody;
      }
      if (mutated(Mutation::changes_under_way) && !carried_out) {
        planned.designee = placement::kNobody;
      }
      if (planned.designee == placement::kNobody || carried_out) continue;
      if (members_[planned.designee].weight == 0 && !stays()) continue;  // another is named
      unfinished_ = true;
      assigner_.look_again(assigner_.fails_at(view_, partition));
      if (repeat) to_[planned.designee].push_back(partition);
    }
  }

  // First, so that a member that failed at one partition of a log is named for no other there.
  void find_failures(std::uint32_t count) {
    for (std::uint32_t p = 0; p < count; ++p) {
      const Partition partition{p};
      const Designee& designee = view_.designations.at(partition);
      if (index_of(designee.id) == placement::kNobody) continue;
      if (leads(view_.owners.at(partition, now_), designee)) continue;
      if (assigner_.has_failed(view_, partition, now_)) {
        const Log log = log_of(partition, assigner_.options_.logs);
        if (assigner_.bans_.is_banned(log, designee.id, now_)) continue;
        for (std::uint32_t l = 0; l < assigner_.options_.logs; ++l) {
          if (log != Log{l} && !mutated(Mutation::bans_every_log)) continue;
          assigner_.bans_.ban(Log{l}, designee.id, now_);
        }
        ++assigner_.given_up_;
        assigner_.notices_.push_back(
            {Severity::warning, "process " + to_string(designee.id) + " was named for partition " +
                                    std::to_string(p) + " and does not lead it: others are named "
                                    "in log " + std::to_string(log.value()) + " for a while"});
      }
    }
  }

  std::uint32_t others_than_banned(Log log) {
    if (!assigner_.bans_.any(log, now_)) return PlanPartition::kNotPinned;
    std::vector<MemberId> others;
    bool some_banned = false;  // and living: what is pinned is not balanced, for up to an hour
    for (MemberId i = 0; i < living_.size(); ++i) {
      if (members_[i].weight == 0) continue;
      const bool banned = assigner_.bans_.is_banned(log, living_[i]->id, now_);
      some_banned = some_banned || banned;
      if (!banned) others.push_back(i);
    }
    const bool all = others.empty() && !mutated(Mutation::all_may_be_banned);
    if (all || !some_banned) return PlanPartition::kNotPinned;
    pins_.push_back(std::move(others));
    return static_cast<std::uint32_t>(pins_.size() - 1);
  }

  Assigner& assigner_;
  const AssignerView& view_;
  LocalTime now_;
  std::vector<const Member*> living_;
  std::map<ProcessId, MemberId> index_;
  std::vector<PlanMember> members_;
  std::vector<PlanPartition> partitions_;
  std::vector<std::vector<MemberId>> pins_;
  std::map<MemberId, std::vector<Partition>> to_;  ///< what is to be said
  bool unfinished_ = false;
};

void Assigner::begin(ProcessId predecessor, LocalTime now) {
  if (active_) return;
  active_ = true;
  begun_ = now;
  predecessor_ = predecessor;
  planned_ = kLongAgo;
  written_ = kLongAgo;
  repeated_ = now;
  patient_ = false;
  patient_until_ = kLongAgo;
  seen_ = UINT64_MAX;
  next_ = now;
  for (LogTrust& log : logs_) log.since = now;
}

void Assigner::read_back(Log log, LocalTime now) {
  LogTrust& trust = logs_[log.value()];
  const microseconds excused = excuse_for(trust.read, now, options_.interval, options_.lease);
  if (excused > microseconds{0}) trust.since = later(now, excused);
  trust.read = now;
}

void Assigner::read_anew(Log log, LocalTime now) {
  LogTrust& trust = logs_[log.value()];
  if (now >= later(trust.started, kSeriesIntervals * options_.interval)) trust.series = now;
  trust.started = now;
}

bool Assigner::is_cut(LocalTime now, std::uint32_t yields) const {
  constexpr std::uint32_t kDoubledMost = 6;
  const std::uint32_t doublings = mutated(Mutation::yields_never_double) ? 0 : yields;
  const microseconds longest = patience(options_.lease, options_.session) *
                               (std::int64_t{1} << std::min(doublings, kDoubledMost));
  return std::any_of(logs_.begin(), logs_.end(), [&](const LogTrust& log) {
    return now >= later(std::max(log.read, begun_), longest);
  });
}

bool Assigner::reads_every_log(LocalTime now) const {
  return std::none_of(logs_.begin(), logs_.end(), [&](const LogTrust& log) {
    return is_stale(log.read, now, options_.interval);
  });
}

bool Assigner::repeats(LocalTime now) const noexcept {
  return !mutated(Mutation::never_repeats) && now >= later(repeated_, 2 * options_.interval);
}

LocalTime Assigner::fails_at(const AssignerView& view, Partition partition) const {
  const Designee& designee = view.designations.at(partition);
  const Member* const member = view.members.find(designee.id);
  const LogTrust& trust = logs_[log_of(partition, options_.logs).value()];
  // What its application needs to prepare is not its failure.
  const bool prepares = member != nullptr && !mutated(Mutation::preparing_fails);
  const LocalTime prepared = prepares ? member->prepares_until : kLongAgo;
  return later(std::max({designee.since, trust.since, led_[partition.value()], begun_, prepared}),
               patience(std::max(options_.lease, view.longest_lease),
                        member == nullptr ? options_.session : member->fields.session));
}

bool Assigner::has_failed(const AssignerView& view, Partition partition, LocalTime now) const {
  if (mutated(Mutation::never_goes_back)) return false;
  const LogTrust& trust = logs_[log_of(partition, options_.logs).value()];
  const bool reads = !is_stale(trust.read, now, options_.interval);
  return (reads || mutated(Mutation::judges_unread_logs)) && now >= fails_at(view, partition);
}

// A7: who owns what is known when each has renewed it. Others' intervals may be longer than this
// one's, up to a third of their sessions. A tail that restarts again and again, or a log that
// cannot be read at all, does not hold up the others for ever.
bool Assigner::waits_for_owners(const Members& members, LocalTime now) {
  const microseconds renewed =
      std::max<microseconds>(2 * options_.interval, members.longest_session() / 3);
  LocalTime until = kLongAgo;
  for (const LogTrust& log : logs_) {
    const bool read = log.started != kLongAgo;
    until = std::max(until, read ? std::min(later(log.started, renewed),
                                            later(log.series, 4 * renewed))
                                 : later(begun_, 2 * options_.interval));
  }
  if (now >= until || mutated(Mutation::plans_before_owners)) return false;
  look_again(until);
  return true;
}

// A6: who starts a group need not hand over half of it a moment later.
bool Assigner::waits_for_newcomers(const AssignerView& view, LocalTime now) {
  const std::uint32_t count = view.designations.count();
  for (std::uint32_t p = 0; p < count; ++p) {
    const Partition partition{p};
    if (view.members.lives(view.owners.at(partition, now).id)) return false;
    if (view.members.lives(view.designations.at(partition).id)) return false;
  }
  const LocalTime until = std::min(later(view.members.last_newcomer(), 2 * options_.interval),
                                   later(begun_, options_.session));
  if (now >= until || mutated(Mutation::names_the_first)) return false;
  look_again(until);
  return true;
}

// A9: more likely than the death of many is that this process was cut off from them. While it
// waits, those count that made it wait, however long ago they fell silent.
bool Assigner::waits_for_the_dead(const Members& members, LocalTime now) {
  const bool waits = patient_ && now < patient_until_;
  const LocalTime from = waits ? patient_from_ : now - options_.session;
  // Whom this process replaced is dead for certain, and needs no others to have died with it.
  const std::size_t dead = members.deaths_after(from, predecessor_);
  const bool many = dead >= 2 && 3 * dead > members.living_count() + dead &&
                    !mutated(Mutation::believes_many_deaths);
  if (!many) {
    patient_ = false;
    return false;
  }
  if (!patient_) {
    patient_ = true;
    ++waits_;
    patient_from_ = from;
    patient_until_ = later(now, with_drift(options_.session));
    notices_.push_back({Severity::warning,
                        std::to_string(dead) + " members fell silent within a session: waiting "
                        "another session before others are named for their partitions"});
  }
  if (now >= patient_until_) return false;
  look_again(patient_until_);
  return true;
}

bool Assigner::may_decide(const AssignerView& view, LocalTime now) {
  if (view.members.blind(now)) {
    look_again(later(now, options_.interval));  // what it reads then may change no version
    return false;
  }
  if (written_ != kLongAgo && !mutated(Mutation::plans_unread)) {
    const LocalTime lost = later(written_, 2 * options_.interval);
    if (now < lost) {
      look_again(lost);
      return false;
    }
  }
  if (waits_for_owners(view.members, now) || waits_for_the_dead(view.members, now)) return false;
  return !waits_for_newcomers(view, now);
}

std::vector<Designation> Assigner::decide(const AssignerView& view, LocalTime now) {
  if (!active_) return {};
  const std::uint64_t version = version_of(view);
  if (now < next_) {
    if (version == seen_) return {};
    const LocalTime earliest = later(planned_, options_.interval / kPlansInInterval);
    if (now < earliest && !mutated(Mutation::plans_without_pause)) {
      look_again(earliest);
      return {};
    }
  }
  planned_ = now;
  next_ = kNever;
  bans_.forget(now);
  look_again(bans_.next_end(now));
  note_who_leads(view, now);
  if (!may_decide(view, now)) return {};
  seen_ = version;
  Round round(*this, view, now);
  std::vector<Designation> made = round.designations();
  if (round.unfinished()) {
    if (repeats(now)) repeated_ = now;
    look_again(later(repeated_, 2 * options_.interval));
  } else {
    repeated_ = now;
  }
  if (!made.empty()) {
    written_ = now;
    look_again(later(now, 2 * options_.interval));  // it may be lost, and nobody told
  }
  if (next_ <= now) next_ = later(now, options_.interval);
  return made;
}

// Leases end without a record, so how long a designee has led is looked up, too.
void Assigner::note_who_leads(const AssignerView& view, LocalTime now) {
  const std::uint32_t count = view.designations.count();
  led_.resize(count, kLongAgo);
  for (std::uint32_t p = 0; p < count; ++p) {
    const Designee& designee = view.designations.at(Partition{p});
    if (designee.id == kNobody) continue;
    const LocalTime until = view.owners.led_until(Partition{p}, designee.id);
    led_[p] = std::max(led_[p], std::min(now, until));
    if (until > now) look_again(until);
  }
}

std::vector<WouldMove> Assigner::would_move(const AssignerView& view, std::uint32_t logs,
                                            LocalTime now) {
  Assigner assigner({logs});
  assigner.led_.resize(view.designations.count(), kLongAgo);
  return Round(assigner, view, now).moves();
}

std::vector<Notice> Assigner::take_notices() { return std::exchange(notices_, {}); }

}  // namespace neliroute
