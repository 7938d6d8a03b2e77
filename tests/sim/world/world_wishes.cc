// Operators that wish something of the assigner, and what must hold of it once all has healed.
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

// Names are for people: where nobody wishes anything of them, all are equal.
std::string World::name_of(const Node& node) const {
  return plan_.has(Fault::wish) ? "p" + std::to_string(node.index % kNames) : "the same name";
}

// Nobody takes the last one away that may own something: the first of each lane.
Wish World::next_wish(std::uint8_t lane) {
  Random& random = chance_[static_cast<std::size_t>(Fault::wish)];
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
  const StandingWishes& wished = wished_[lane].standing();
  if (chance < 20) return {WishVerb::cordon, another, {}, 0};
  if (chance < 40) {
    // Most take back what stands.
    const bool stands = !wished.cordoned.empty() && random.percent(80);
    return {WishVerb::uncordon, stands ? *wished.cordoned.begin() : one, {}, 0};
  }
  if (chance < 55) return {WishVerb::weight, one, {}, weight};
  if (chance < 65) return {WishVerb::unweight, one, {}, 0};
  if (chance < 82) return {WishVerb::pin, one, some(), 0};
  if (chance < 88) return {WishVerb::unpin, "", some(), 0};
  if (chance < 93) return {WishVerb::pause_moves, "", {}, 0};
  return {WishVerb::resume_moves, "", {}, 0};
}

// Operators try until it is stored; often one after the other.
void World::wish() {
  Random& random = chance_[static_cast<std::size_t>(Fault::wish)];
  if (!chaos()) return;
  if (std::max(logs_[0].away_until, topic_away_until_) <= now_) {
    AssignmentRecord record;
    record.type = AssignmentType::wish;
    record.lane = Lane{static_cast<std::uint32_t>(random.between(0, plan_.lanes - 1))};
    record.id = ProcessId{random.next() | 0xff};
    record.seq = 1;
    record.wish = next_wish(static_cast<std::uint8_t>(record.lane.value()));
    append(0, read_value(encode_record(record)));
  }
  if (random.percent(40)) {
    plan_at(now_ + random.magnitude(100, 4 * plan_.latency_max), Happening::wish);
  }
}

void World::note_wish(const AssignmentRecord& record) {
  const std::uint32_t lane = record.lane.value();
  wished_[lane].read(logs_[0].end() - 1, record.wish);
  if (listed_[lane] == 0) listed_[lane] = now_;
  if (!wished_[lane].standing().moves_paused) paused_since_[lane] = 0;
  if (record.wish.verb == WishVerb::pause_moves) paused_since_[lane] = now_;
  last_wish_ = now_;
  oracle_.disturb(now_);
}

// Where nobody assigned for so long that who starts reads no list any more, what the next assigner
// knows is what is left.
void World::note_list(const AssignmentRecord& record) {
  const std::uint32_t lane = record.lane.value();
  if (record.seat != seats_[lane]) return;
  if (listed_[lane] + plan_.lease() < now_) {
    wished_[lane].read_list(logs_[0].end() - 1, record);
    paused_since_[lane] = wished_[lane].standing().moves_paused ? now_ : 0;
    last_wish_ = now_;
  }
  listed_[lane] = now_;
}

bool World::may_own(const Node& node) const {
  const StandingWishes& wished = wished_[node.lane].standing();
  const auto weight = wished.weights.find(name_of(node));
  return !wished.cordoned.contains(name_of(node)) &&
         (weight == wished.weights.end() || weight->second > 0);
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
void World::check_wishes(const Node& holder) {
  if (loses_records() || plan_.has(Fault::topic_made_again)) return;
  const Time since = std::exchange(unwished_since_[holder.lane], 0);
  const StandingWishes& wished = wished_[holder.lane].standing();
  const bool lists = listed_[holder.lane] + plan_.longest_lease() + 2 * plan_.interval() > now_;
  if (!lists) {
    if (!holder.assigned_core()->wishes().used()) return;  // nobody knew any more
    return oracle_.broken("healed, but the assigner does not repeat what is wished", now_);
  }
  std::vector<placement::PlanMember> members;
  std::map<std::uint8_t, placement::MemberId> index;
  std::map<std::string, std::vector<placement::MemberId>> named;
  bool flaps = false;
  for (const Node& node : nodes_) {
    if (!node.alive || node.lane != holder.lane) continue;
    const Wishes& known = node.assigned_core()->wishes();
    if (known.uncertain() || known.standing() != wished) {
      oracle_.broken("healed, but process " + std::to_string(node.index) +
                         " believes that other things are wished than those in the log",
                     now_);
    }
    const auto i = static_cast<placement::MemberId>(members.size());
    index[node.index] = i;
    named[name_of(node)].push_back(i);
    const auto weight = wished.weights.find(name_of(node));
    members.push_back({!may_own(node) ? 0 : weight == wished.weights.end() ? 1 : weight->second});
    const Member* const member = holder.assigned_core()->members().find(node.id);
    flaps = flaps || member == nullptr || member->probation_until != kLongAgo;
  }
  const bool banned = holder.assigned_core()->assignment_status()->given_up > 0;
  if (wished.moves_paused || flaps || banned || is_moving()) return;
  std::vector<placement::PlanPartition> partitions(plan_.partitions);
  std::vector<std::vector<placement::MemberId>> pins;
  for (std::uint32_t p = 0; p < plan_.partitions; ++p) {
    std::uint8_t owner = 0;
    std::uint16_t life = 0;
    if (!leader_of(holder.lane, p, owner, life)) return;
    partitions[p].owner = partitions[p].designee = index.at(owner);
  }
  for (const auto& [name, pinned] : wished.pins) {
    pinned.for_each(plan_.partitions, [&](Partition p) {
      partitions[p.value()].pinned_to = static_cast<std::uint32_t>(pins.size());
    });
    pins.push_back(named[name]);
  }
  const auto moves = placement::plan(members, partitions, pins);
  oracle_.count(Judged::wishes);
  if (moves.empty()) return;
  // A penalty may have ended this moment, and the assigner's record be on its way.
  unwished_since_[holder.lane] = since != 0 ? since : now_;
  if (since == 0 || now_ < since + plan_.known_by() + plan_.interval()) return;
  oracle_.broken("healed, but partition " + std::to_string(moves.front().partition.value()) +
                     " is not where it is wished to be",
                 now_);
}

}  // namespace neliroute::sim
