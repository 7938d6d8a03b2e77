// A member assigns: what was written, and what must hold once everything has healed.
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "tests/sim/world/world.h"

namespace neliroute::sim {
namespace {

/// How the notice begins by which an assigner says that it yields the seat.
constexpr std::string_view kYields = "this process assigns, and reads its logs worse";

}  // namespace

void World::note_assignment(const AssignmentRecord& record) {
  if (record.lane.value() >= plan_.lanes) return;
  if (record.type == AssignmentType::override) return note_override(record);
  if (record.type == AssignmentType::overrides) return note_list(record);
  if (record.type != AssignmentType::assign) return;
  // One that came late, after another claim of the seat, names nobody: readers refuse it.
  const bool others = record.seat == seats_[record.lane.value()] && names_others(record);
  meet(Met::assignments);
  last_assignment_ = now_;
  if (others && now_ >= recovered_by_) ++assignments_after_;
}

// A2: the newest claim that counts. A3: who names a newer one, and has read past that, read what
// the log has lost since.
void World::note_seat(const StoredRecord& stored, std::int64_t offset) {
  const auto take = [this](Lane lane, const Epoch& claim, ProcessId writer) {
    seats_[lane.value()] = claim;
    seated_[lane.value()] = writer;
  };
  const auto* claim = stored.value ? std::get_if<AssignmentRecord>(stored.value.get()) : nullptr;
  if (claim != nullptr && claim->type == AssignmentType::seat_claim) {
    if (claim->lane.value() >= plan_.lanes) return;
    const Epoch& seat = seats_[claim->lane.value()];
    const bool late = claim->seat.offset < seat.offset && claim->seat < seat;
    if (claim->seat != kNoEpoch && late) return;
    return take(claim->lane, seat_at(stored.stamped, offset), claim->id);
  }
  const Record* const record = stored.record();
  if (record == nullptr || record->lane.value() >= plan_.lanes || !record->member) return;
  const Epoch& seat = seats_[record->lane.value()];
  const MemberFields& member = *record->member;
  const bool lost = member.seat && *member.seat > seat && member.upto > seat.offset;
  if (lost) take(record->lane, *member.seat, member.seat_by);
}

// Who begins to assign has named nobody yet.
void World::note_assigner(const StoredRecord& stored, std::int64_t offset) {
  const auto seats = seats_;
  const auto seated = seated_;
  note_seat(stored, offset);
  if (seated_ != seated) meet(Met::seat_changes);
  for (std::size_t lane = 0; lane < plan_.lanes; ++lane) {
    if (seated_[lane] != seated[lane]) judge_preference(lane, seated[lane]);
    if (seats_[lane] == seats[lane]) continue;
    for (std::uint32_t log = 0; log < plan_.logs; ++log) oracle_.unread(lane, log, now_);
  }
}

// Log 0 has lost records, and with them perhaps the newest claims.
void World::look_for_seats() {
  seats_ = {};
  seated_ = {};
  const TopicLog& log = logs_[0];
  for (std::int64_t at = log.low; at < log.end(); ++at) {
    if (const StoredRecord* const stored = log.find(at)) note_seat(*stored, at);
  }
}

// Who holds the seat says in which logs nobody can be known to have had time.
void World::note_unread(const Record& record) {
  const std::size_t lane = record.lane.value();
  if (lane >= plan_.lanes || !record.member || record.id != seated_[lane]) return;
  record.member->unread.for_each(plan_.logs, [&](Partition number) {
    oracle_.unread(lane, number.value(), now_);
  });
}

// An assignment is repeated until it is carried out, which takes long if its designee prepares.
bool World::names_others(const AssignmentRecord& record) {
  const auto lane = static_cast<std::uint8_t>(record.lane.value());
  bool others = false;
  for (const Designation& designation : record.designations) {
    designation.partitions.for_each(plan_.partitions, [&](Partition partition) {
      const std::uint32_t part = lane * plan_.partitions + partition.value();
      const ProcessId before = std::exchange(named_[part], designation.to);
      for (const Node& node : nodes_) {
        if (node.alive && node.id == designation.to) oracle_.named(node.index, part, now_);
      }
      if (before == designation.to) return;
      others = true;
      oracle_.renamed(part, now_);
      judge_pause(lane, partition, before);
    });
  }
  return others;
}

void World::count_met(const AssignedCore& core) {
  const AssignmentStatus status = *core.assignment_status();
  meet(Met::refused, status.assignments_refused);
  meet(Met::given_up, status.given_up);
  meet(Met::waits, status.waits);
  meet(Met::deaths, status.deaths);
  meet(Met::false_deaths, status.false_deaths);
}

void World::judge_member(const Node& node, const Ready& ready) {
  for (const Notice& notice : ready.notices) {
    if (notice.text.starts_with(kYields)) meet(Met::yields);
  }
  judge_deaths(node);
  judge_agreement(node);
  judge_leave(node, ready.transitions);
}

// Members that have read the same log to the same offset, for long enough, agree on who is dead,
// whatever each of them went through.
void World::judge_agreement(const Node& node) {
  for (const Fault fault : {Fault::no_broker_time, Fault::topic_made_again, Fault::truncation,
                            Fault::unclean_leader, Fault::other_settings}) {
    if (plan_.has(fault)) return;
  }
  const std::int64_t read = node.claims()->progress(Log{0}).next;
  if (std::exchange(compared_[node.index], read) == read) return;
  const Time long_ago = now_ - 4 * plan_.session() - plan_.settled();
  for (const Node& other : nodes_) {
    if (!other.alive || other.lane != node.lane || other.index == node.index) continue;
    if (std::max(node.tail_since, other.tail_since) > long_ago) continue;
    if (other.claims()->progress(Log{0}).next != read) continue;
    oracle_.count(Judged::agreements);
    const Members& theirs = other.assigned_core()->members();
    node.assigned_core()->members().for_each([&](const Member& member) {
      const Member* const known = theirs.find(member.id);
      if (known == nullptr || known->dead == member.dead) return;
      if (member.id == node.id || member.id == other.id) return;  // nobody is dead for itself
      oracle_.broken("processes " + std::to_string(node.index) + " and " +
                         std::to_string(other.index) + " have read log 0 up to " +
                         std::to_string(read) + ", and do not agree on whether " +
                         to_string(member.id) + " is dead",
                     now_);
    });
  }
}

// Who is well is not taken for dead by who is well. Records that are lost or late by themselves
// disturb nobody, so that runs with these say nothing.
void World::judge_deaths(const Node& node) {
  for (const Fault fault : {Fault::write_lost, Fault::write_late, Fault::write_unanswered,
                            Fault::slow_network, Fault::other_settings}) {
    if (plan_.has(fault)) return;
  }
  const Time wrong = now_ - plan_.session() - plan_.longest_lease() - plan_.settled();
  for (const ProcessId id : node.assigned_core()->deaths()) {
    const Node* const victim = process_of(id);
    if (victim == nullptr || !victim->alive || victim->id != id || victim->closing) continue;
    if (std::max(oracle_.disturbed_until(node.index), oracle_.disturbed_until(victim->index)) >
        wrong) {
      continue;
    }
    oracle_.broken("process " + std::to_string(node.index) + " takes process " +
                       std::to_string(victim->index) + " for dead, and nothing was wrong",
                   now_);
  }
}

// A2: the seat of one that died or left goes to who is preferred of those that are well. Not where
// records are lost or late by themselves, or a rank's wait is shorter than they take.
void World::judge_preference(std::size_t lane, ProcessId before) {
  constexpr Fault kOfRecords[] = {
      Fault::write_lost,      Fault::write_late,      Fault::write_unanswered,
      Fault::write_reordered, Fault::slow_network,    Fault::fetch_in_parts,
      Fault::notice_lost,     Fault::no_broker_time,  Fault::other_settings,
      Fault::truncation,      Fault::unclean_leader,  Fault::topic_made_again};
  for (const Fault fault : kOfRecords) {
    if (plan_.has(fault)) return;
  }
  if (plan_.seat_priorities.empty() || plan_.interval() <= plan_.known_by()) return;
  const Node* const holder = process_of(before);
  const Node* const next = process_of(seated_[lane]);
  if (holder == nullptr || next == nullptr) return;  // from nothing, who has read first claims
  // It yields, or does not read.
  if (holder->alive && holder->id == before && !holder->closing) return;
  oracle_.count(Judged::preferences);
  const auto priority = [this](const Node& node) {
    return plan_.seat_priority(node.index, node.life);
  };
  const Time well = now_ - 2 * plan_.session() - plan_.settled();
  for (const Node& node : nodes_) {
    if (!node.alive || node.lane != lane || node.closing || node.started_at > well) continue;
    if (oracle_.disturbed_until(node.index) > well || priority(node) <= priority(*next)) continue;
    oracle_.broken("process " + std::to_string(next->index) + " takes the seat, and process " +
                       std::to_string(node.index) + ", which is well, is preferred",
                   now_);
  }
}

// A designee that does not lead is given up once its lease is over and it had its time (A5). If it
// holds the seat itself, it notices after a lease that it is cut, and the next one begins anew.
Time World::given_up_by() const {
  const Time patience = plan_.patience();
  return now_ + plan_.longest_lease() + 2 * patience + plan_.longest_lease() +
         (4 + static_cast<Time>(nodes_.size())) * plan_.interval() + 20 * plan_.latency_max +
         2 * plan_.prepare();
}

// As long as a drain may last at least (A8); with the group, successors may need any time.
LocalTime World::leave_bound(const Node& node) const {
  if (!plan_.assigner()) return kNever;
  const milliseconds drain = plan_.exclusive()
                                 ? 2 * node.lease + plan_.timing.session
                                 : 3 * plan_.timing.session + 4 * plan_.timing.interval;
  return later(node.local(now_), drain + 2 * plan_.prepare_timeout);
}

// A leaver's bound that ends with nobody to lead is a finding where another lived all the time and
// nothing was wrong: the oracle then sees a partition become unowned.
void World::judge_leave(const Node& node, const std::vector<Transition>& transitions) {
  if (!node.closing || node.left_at == 0) return;
  const bool ends = std::any_of(transitions.begin(), transitions.end(), [](const Transition& t) {
    return t.kind == TransitionKind::stopped && t.reason == StopReason::closed;
  });
  if (!ends) return;
  const bool another = std::any_of(nodes_.begin(), nodes_.end(), [&](const Node& other) {
    return other.index != node.index && other.lane == node.lane && other.alive &&
           !other.closing && other.started_at < node.left_at && may_own(other);
  });
  const bool calm =
      std::max(oracle_.wrong_until(), last_override_) + plan_.settled() < node.left_at;
  if (!another || !calm) oracle_.disturb_node(node.index, now_);
}

// A member that flapped is named again when its penalty ends, long after the last fault.
bool World::is_moving() const {
  return last_assignment_ != 0 &&
         now_ < last_assignment_ + plan_.handover() + plan_.prepare() + plan_.known_by() +
                    2 * plan_.interval();
}

bool World::leader_of(std::uint8_t lane, std::uint32_t p, std::uint8_t& owner,
                      std::uint16_t& life) const {
  for (const Node& node : nodes_) {
    if (!node.alive || node.lane != lane) continue;
    if (!oracle_.led(node.index, part_of(node, p), now_)) continue;
    owner = node.index;
    life = node.life;
    return true;
  }
  return false;
}

// One assigner, known to all; whom it names leads; and it is not busy for ever.
void World::check_assigner(std::uint8_t lane) {
  const Node* holder = nullptr;
  for (const Node& node : nodes_) {
    if (!node.alive || node.lane != lane) continue;
    const Seat& seat = node.assigned_core()->seat();
    if (!seat.held_by_own()) continue;
    if (holder != nullptr) {
      oracle_.broken("healed, but processes " + std::to_string(holder->index) + " and " +
                         std::to_string(node.index) + " hold the seat",
                     now_);
    }
    holder = &node;
  }
  if (holder == nullptr) return oracle_.broken("healed, but nobody holds the seat", now_);
  for (const Node& node : nodes_) {
    if (!node.alive || node.lane != lane) continue;
    const Seat& seat = node.assigned_core()->seat();
    if (!seat.known() || seat.holder() != holder->id) {
      oracle_.broken("healed, but process " + std::to_string(node.index) +
                         " does not know who holds the seat",
                     now_);
    }
  }
  if (plan_.has(Fault::override)) check_overrides(*holder);
  for (std::uint32_t p = 0; p < plan_.partitions && !is_moving(); ++p) {
    const ProcessId named = holder->assigned_core()->designations().at(Partition{p}).id;
    std::uint8_t owner = 0;
    std::uint16_t life = 0;
    if (leader_of(lane, p, owner, life) && nodes_[owner].id != named) {
      oracle_.broken("healed, but process " + std::to_string(owner) + " leads partition " +
                         std::to_string(p) + ", for which " + to_string(named) + " is named",
                     now_);
    }
  }
  // Each member's penalty ends once; more is a ping-pong.
  if (assignments_after_ > 2 * nodes_.size()) {
    oracle_.broken("healed, but partitions are named for others again and again", now_);
  }
}

}  // namespace neliroute::sim
