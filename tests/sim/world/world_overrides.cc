// Operators that order something of the assigner, and what must hold of it once all has healed.
#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "placement/plan.h"
#include "tests/sim/world/world.h"

namespace neliroute::sim {
namespace {

/// Some processes share a name.
constexpr std::uint32_t kNames = 5;

}  // namespace

// Names are for people: where no override can be for one, all are equal.
std::string World::name_of(const Node& node) const {
  return plan_.has(Fault::override) ? "p" + std::to_string(node.index % kNames) : "the same name";
}

// Nobody takes the last one away that may own something: the first of each lane.
Override World::next_override(std::uint8_t lane) {
  Random& random = chance_[static_cast<std::size_t>(Fault::override)];
  const auto number = [&](std::uint32_t first) {
    return static_cast<std::uint32_t>(random.between(first, kNames - 1));
  };
  const auto some = [&] {
    PartitionRanges parts;
    for (std::int64_t i = random.between(1, 3); i > 0; --i) {
      parts.insert(Partition{static_cast<std::uint32_t>(random.between(0, plan_.partitions - 1))});
    }
    return parts;
  };
  const std::int64_t chance = random.between(0, 99);
  const std::string one = "p" + std::to_string(number(0));
  const std::string another = "p" + std::to_string(number(plan_.lanes));
  const bool needed = one == "p0" || one == "p1";
  const auto weight = static_cast<std::uint32_t>(random.between(needed ? 1 : 0, 3));
  const StandingOverrides& standing = overrides_[lane].standing();
  if (chance < 20) return {OverrideVerb::cordon, another, {}, 0};
  if (chance < 40) {
    // Most withdraw what stands.
    const bool stands = !standing.cordoned.empty() && random.percent(80);
    return {OverrideVerb::uncordon, stands ? *standing.cordoned.begin() : one, {}, 0};
  }
  if (chance < 55) return {OverrideVerb::weight, one, {}, weight};
  if (chance < 65) return {OverrideVerb::unweight, one, {}, 0};
  if (chance < 82) return {OverrideVerb::pin, one, some(), 0};
  if (chance < 88) return {OverrideVerb::unpin, "", some(), 0};
  if (chance < 93) return {OverrideVerb::pause_moves, "", {}, 0};
  return {OverrideVerb::resume_moves, "", {}, 0};
}

// Operators try until it is stored; often one after the other.
void World::order() {
  Random& random = chance_[static_cast<std::size_t>(Fault::override)];
  if (!chaos()) return;
  if (std::max(logs_[0].away_until, topic_away_until_) <= now_) {
    AssignmentRecord record;
    record.type = AssignmentType::override;
    record.lane = Lane{static_cast<std::uint32_t>(random.between(0, plan_.lanes - 1))};
    record.id = ProcessId{random.next() | 0xff};
    record.seq = 1;
    record.override = next_override(static_cast<std::uint8_t>(record.lane.value()));
    append(0, read_value(encode_record(record)));
  }
  if (random.percent(40)) {
    plan_at(now_ + random.magnitude(100, 4 * plan_.latency_max), Happening::override);
  }
}

void World::note_override(const AssignmentRecord& record) {
  const std::uint32_t lane = record.lane.value();
  overrides_[lane].read(logs_[0].end() - 1, record.override);
  if (listed_[lane] == 0) listed_[lane] = now_;
  if (!overrides_[lane].standing().moves_paused) paused_since_[lane] = 0;
  if (record.override.verb == OverrideVerb::pause_moves) paused_since_[lane] = now_;
  last_override_ = now_;
  oracle_.disturb(now_);
}

// Where nobody assigned for so long that who starts reads no list any more, what the next assigner
// knows is what is left.
void World::note_list(const AssignmentRecord& record) {
  const std::uint32_t lane = record.lane.value();
  if (record.seat != seats_[lane]) return;
  if (listed_[lane] + plan_.lease() < now_) {
    overrides_[lane].read_list(logs_[0].end() - 1, record);
    paused_since_[lane] = overrides_[lane].standing().moves_paused ? now_ : 0;
    last_override_ = now_;
  }
  listed_[lane] = now_;
}

bool World::may_own(const Node& node) const {
  const StandingOverrides& standing = overrides_[node.lane].standing();
  const auto weight = standing.weights.find(name_of(node));
  return !standing.cordoned.contains(name_of(node)) &&
         (weight == standing.weights.end() || weight->second > 0);
}

// What somebody leads that lives, as it is to, is named for nobody else while moves are paused.
void World::judge_pause(std::uint8_t lane, Partition partition, ProcessId before) {
  const Time since = std::max(paused_since_[lane], oracle_.wrong_until());
  // Where no list was written for so long, nobody may know of it any more.
  const bool lists = listed_[lane] + plan_.longest_lease() + 2 * plan_.interval() > now_;
  const bool paused = paused_since_[lane] != 0 && lists && !loses_records() &&
                      !plan_.has(Fault::topic_made_again) &&
                      since + plan_.settled() + plan_.takeover() < now_;
  const Node* const owner = process_of(before);
  if (!paused || owner == nullptr || !owner->alive) return;
  if (owner->id != before || owner->closing) return;
  if (!oracle_.led(owner->index, lane * plan_.partitions + partition.value(), now_)) return;
  oracle_.broken("partition " + std::to_string(partition.value()) +
                     " is named for another than process " + std::to_string(owner->index) +
                     ", which leads it, though moves are paused",
                 now_);
}

// Everybody believes what the log says, and who owns what is as plan() makes it of that.
void World::check_overrides(const Node& holder) {
  if (loses_records() || plan_.has(Fault::topic_made_again)) return;
  const Time since = std::exchange(disobeyed_since_[holder.lane], 0);
  const StandingOverrides& standing = overrides_[holder.lane].standing();
  const bool lists = listed_[holder.lane] + plan_.longest_lease() + 2 * plan_.interval() > now_;
  if (!lists) {
    if (!holder.assigned_core()->overrides().used()) return;  // nobody knew any more
    return oracle_.broken("healed, but the assigner does not repeat the overrides", now_);
  }
  std::vector<placement::PlanMember> members;
  std::map<std::uint8_t, placement::MemberId> index;
  std::map<std::string, std::vector<placement::MemberId>> named;
  bool flaps = false;
  for (const Node& node : nodes_) {
    if (!node.alive || node.lane != holder.lane) continue;
    const Overrides& known = node.assigned_core()->overrides();
    if (known.uncertain() || known.standing() != standing) {
      oracle_.broken("healed, but process " + std::to_string(node.index) +
                         " believes in other overrides than those in the log",
                     now_);
    }
    const auto i = static_cast<placement::MemberId>(members.size());
    index[node.index] = i;
    named[name_of(node)].push_back(i);
    const auto weight = standing.weights.find(name_of(node));
    members.push_back({!may_own(node) ? 0 : weight == standing.weights.end() ? 1 : weight->second});
    const Member* const member = holder.assigned_core()->members().find(node.id);
    flaps = flaps || member == nullptr || member->probation_until != kLongAgo;
  }
  const bool banned = holder.assigned_core()->assignment_status()->given_up > 0;
  if (standing.moves_paused || flaps || banned || is_moving()) return;
  std::vector<placement::PlanPartition> partitions(plan_.partitions);
  std::vector<std::vector<placement::MemberId>> pins;
  for (std::uint32_t p = 0; p < plan_.partitions; ++p) {
    std::uint8_t owner = 0;
    std::uint16_t life = 0;
    if (!leader_of(holder.lane, p, owner, life)) return;
    partitions[p].owner = partitions[p].designee = index.at(owner);
  }
  for (const auto& [name, pinned] : standing.pins) {
    pinned.for_each(plan_.partitions, [&](Partition p) {
      partitions[p.value()].pinned_to = static_cast<std::uint32_t>(pins.size());
    });
    pins.push_back(named[name]);
  }
  const auto moves = placement::plan(members, partitions, pins);
  oracle_.count(Judged::overrides);
  if (moves.empty()) return;
  // A penalty may have ended this moment, and the assigner's record be on its way.
  disobeyed_since_[holder.lane] = since != 0 ? since : now_;
  if (since == 0 || now_ < since + plan_.known_by() + plan_.interval()) return;
  oracle_.broken("healed, but partition " + std::to_string(moves.front().partition.value()) +
                     " is not where overrides put it",
                 now_);
}

}  // namespace neliroute::sim
