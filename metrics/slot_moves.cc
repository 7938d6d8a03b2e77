#include "metrics/slot_moves.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "slots/partition.h"

namespace neliroute {
namespace {

// An episode that never becomes steady (a partition that nobody gets) is counted all the same.
constexpr int kEpisodeQuietsMax = 10;

}  // namespace

SlotMoves::SlotMoves(SlotCount slots, std::uint32_t partitions, microseconds quiet)
    : slots_(slots), quiet_(quiet), places_(partitions), restless_(partitions) {}

void SlotMoves::note(Partition partition, ProcessId owner, bool at_rest, LocalTime now) {
  tick(now);
  Place& place = places_[partition.value()];
  if (std::exchange(place.at_rest, at_rest) != at_rest) at_rest ? --restless_ : ++restless_;
  if (std::exchange(place.now, owner) == owner) return;
  if (place.before == kNobody) place.before = owner;  // a first owner is no move
  if (began_ == kNever) began_ = now;
  changed_ = now;
}

void SlotMoves::tick(LocalTime now) {
  if (began_ == kNever) return;
  const bool rests = restless_ == 0 && now >= later(changed_, quiet_);
  if (rests || now >= later(began_, kEpisodeQuietsMax * quiet_)) close();
}

void SlotMoves::close() {
  struct Holding {
    std::int64_t before = 0;
    std::int64_t after = 0;
  };
  // This runs on the strand: with 65,536 partitions a tree would take it tens of milliseconds.
  std::unordered_map<std::uint64_t, Holding> holdings;
  const auto slots_on = [&](std::size_t partition) -> std::int64_t {
    return slots_on_partition(static_cast<std::uint32_t>(partition), slots_,
                              static_cast<std::uint32_t>(places_.size()));
  };
  for (std::size_t p = 0; p < places_.size(); ++p) {
    const Place& place = places_[p];
    if (place.before == kNobody || place.now == kNobody) continue;
    holdings[place.before.value()].before += slots_on(p);
    holdings[place.now.value()].after += slots_on(p);
  }
  std::int64_t moved = 0;
  for (std::size_t p = 0; p < places_.size(); ++p) {
    Place& place = places_[p];
    if (place.now == kNobody) continue;
    const ProcessId from = std::exchange(place.before, place.now);
    if (from == kNobody || from == place.now) continue;
    const std::int64_t slots = slots_on(p);
    std::uint64_t& cause = holdings[from.value()].after == 0         ? counts_.leave
                           : holdings[place.now.value()].before == 0 ? counts_.join
                                                                     : counts_.balance;
    cause += static_cast<std::uint64_t>(slots);
    moved += slots;
  }
  std::int64_t least = 0;
  for (const auto& [id, holding] : holdings) {
    least += std::max<std::int64_t>(0, holding.after - holding.before);
  }
  counts_.excess += static_cast<std::uint64_t>(moved - least);
  began_ = kNever;
}

}  // namespace neliroute
