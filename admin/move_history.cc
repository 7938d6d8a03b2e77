#include "admin/move_history.h"

#include <algorithm>
#include <boost/json/serialize.hpp>
#include <chrono>
#include <map>
#include <utility>

#include "admin/peer_json.h"
#include "neli_core/record/partition_ranges.h"

namespace neliroute::admin {
namespace {

constexpr int kNobodyIndex = -1;
constexpr int kUnknownIndex = -2;
// Moves of one instant between different pairs of owners; only so many are searched for a match.
constexpr std::ptrdiff_t kPairsSearched = 64;

}  // namespace

MoveHistory::State MoveHistory::state_of(const ObservedRoute& route) {
  return {route.owner, route.verdict != Verdict::unknown};
}

bool MoveHistory::same(const State& left, const State& right) {
  if (!left.owner || !right.owner) {
    return !left.owner && !right.owner && left.known == right.known;
  }
  return left.owner->id == right.owner->id;
}

void MoveHistory::note(Partition partition, const ObservedRoute& before,
                       const ObservedRoute& after, LocalTime at) {
  const State from = state_of(before);
  const State to = state_of(after);
  if (complete_since_ == kNever) complete_since_ = at;
  const bool was_known = was_known_[partition.value()];
  if (to.known) was_known_[partition.value()] = true;
  if (!was_known || same(from, to)) return;
  if (!moves_.empty()) at = std::max(at, moves_.back().at);
  move_of(from, to, at).partitions.push_back(partition);
  ++partitions_;
  forget(at);
}

// Partitions that move together are one move.
MoveHistory::Move& MoveHistory::move_of(const State& from, const State& to, LocalTime at) {
  const auto end = moves_.rbegin() + std::min<std::ptrdiff_t>(std::ssize(moves_), kPairsSearched);
  for (auto move = moves_.rbegin(); move != end && move->at == at; ++move) {
    if (same(move->from, from) && same(move->to, to)) return *move;
  }
  return moves_.emplace_back(Move{at, from, to, {}});
}

void MoveHistory::forget(LocalTime now) {
  while (moves_.size() > kMovesMax || partitions_ > kPartitionsMax ||
         (!moves_.empty() && moves_.front().at + kKept < now)) {
    complete_since_ = std::max(complete_since_, moves_.front().at);
    partitions_ -= moves_.front().partitions.size();
    moves_.pop_front();
  }
}

std::string MoveHistory::text(LocalTime now) const {
  std::map<ProcessId, int> indices;
  std::string processes;
  std::string moves;
  const auto index_of = [&](const State& state) {
    if (!state.owner) return state.known ? kNobodyIndex : kUnknownIndex;
    const auto [at, added] =
        indices.try_emplace(state.owner->id, static_cast<int>(indices.size()));
    if (added) processes += boost::json::serialize(json_of(*state.owner)) + ',';
    return at->second;
  };
  for (const Move& move : moves_) {
    if (move.at + kKept < now) continue;
    const auto ago = std::chrono::duration_cast<milliseconds>(now - move.at);
    const int from = index_of(move.from);
    const int to = index_of(move.to);
    moves += '[' + std::to_string(std::max<std::int64_t>(0, ago.count())) + ',' +
             std::to_string(from) + ',' + std::to_string(to) + ",\"" +
             PartitionRanges::of(move.partitions).to_string() + "\"],";
  }
  if (!processes.empty()) processes.pop_back();
  if (!moves.empty()) moves.pop_back();
  const LocalTime since = std::min(std::max(complete_since_, now - kKept), now);
  const auto reach = std::chrono::duration_cast<milliseconds>(now - since);
  return "{\"reach_ms\":" + std::to_string(reach.count()) + ",\"processes\":[" + processes +
         "],\"moves\":[" + moves + "]}";
}

}  // namespace neliroute::admin
