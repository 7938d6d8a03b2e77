// What happens to the voters of a world.
#include <algorithm>
#include <utility>

#include "tests/quorum/world.h"

namespace neliroute::quorum::sim {

void World::add_newcomer(Random drawn) {
  const auto at = [&](int from, int to) {
    return LocalTime(milliseconds(drawn.between(from, to)));
  };
  const auto retires = index(static_cast<int>(drawn.between(0, size() - 1)));
  Node newcomer;
  newcomer.address = "v" + std::to_string(size());
  newcomer.disk = std::make_unique<Disk>(VoterId(++ids_));
  newcomer.up_at = at(2'000, 12'000);
  priorities_[newcomer.address] = priorities_[addresses_[retires]];
  addresses_.erase(addresses_.begin() + static_cast<std::ptrdiff_t>(retires));
  addresses_.push_back(newcomer.address);
  newcomer.told = addresses_;
  for (Node& node : nodes_) {
    node.told_at = at(2'000, 14'000);
  }
  nodes_[retires].told_at = kNever;
  nodes_[retires].ends_at = at(4'000, 20'000);
  nodes_.push_back(std::move(newcomer));
}

/// Whoever is told of other voters is started again.
void World::tell_others() {
  for (int i = 0; i < size(); ++i) {
    Node& node = nodes_[index(i)];
    if (node.told_at <= now_) {
      node.told_at = kNever;
      node.told = addresses_;
      if (node.voter) {
        crash(i);
        node.up_at = in(chance_.between(10, 1000));
      }
    }
    if (node.ends_at <= now_ && !node.ended && node.voter && may_lose(i, true)) {
      node.ended = true;
      crash(i);
    }
  }
}

/// What is not committed yet, or only just.
const Configuration* World::pending(const Node& node) const {
  const Durable& kept = node.voter ? node.voter->durable() : node.disk->kept();
  const auto at = kept.entries.configured_at();
  const bool is_new = at && *at >= committed() - 1;
  return is_new && kept.entries.configuration() != newest_committed_
             ? &kept.entries.configuration()
             : nullptr;
}

/// A second voter is lost only when the one that lost the first disk counts again, and nobody knows
/// of a change that is not through: more is the loss of a majority, which no log survives. One that
/// does not count may be lost while all others are there. `ends`: it is stopped for good, once all
/// were told.
bool World::may_lose(int i, bool ends) const {
  const VoterId id = nodes_[index(i)].disk->kept().self;
  const auto is_there = [&](const Member& member) {
    const Node& node = nodes_[index(node_at(member.address))];
    return (node.disk->kept().self == member.id && !node.ended) || node_at(member.address) == i;
  };
  const auto endangers = [&](const Node& node) {
    const Configuration* voters = pending(node);
    if (voters == nullptr || voters->find(id) == nullptr) {
      return false;
    }
    const auto left = std::ranges::count_if(voters->members, is_there) - 1;
    return !voters->is_majority(static_cast<std::size_t>(left));
  };
  const auto is_pending = [&](const Node& node) { return pending(node) != nullptr; };
  const std::size_t count = newest_committed_.members.size();
  const bool settled = ends ? count >= 3 : count == addresses_.size();
  const bool spare = newest_committed_.find(id) == nullptr ||
                     (settled && now_ - lost_at_ > milliseconds(2000) &&
                      std::ranges::none_of(nodes_, is_pending));
  return size() >= 3 && committed() > 0 && spare &&
         std::ranges::all_of(newest_committed_.members, is_there) &&
         std::ranges::none_of(nodes_, endangers);
}

void World::strike() {
  const auto someone = [&] { return static_cast<int>(chance_.between(0, size() - 1)); };
  if (faults.crashes && chance_.between(0, 700) == 0) {
    const int i = someone();
    if (nodes_[index(i)].voter) {
      crash(i);
      nodes_[index(i)].up_at = in(chance_.between(0, 3000));
    }
  }
  if (faults.lost_disks && chance_.between(0, 1500) == 0) {
    const int i = someone();
    if (nodes_[index(i)].voter && may_lose(i, false)) {
      crash(i, true);
      nodes_[index(i)].up_at = in(chance_.between(0, 1000));
    }
  }
  if (faults.returning_disks && chance_.between(0, 1000) == 0) {
    const int i = someone();
    Node& node = nodes_[index(i)];
    if (node.voter && node.shelf && log_ && node.shelf->kept().log == log_ &&
        may_lose(i, false)) {
      crash(i);
      std::swap(node.disk, node.shelf);
      ++figures_.returned_disks;
      node.up_at = in(chance_.between(0, 1000));
    }
  }
  if (faults.pauses && chance_.between(0, 900) == 0) {
    nodes_[index(someone())].stopped_until = in(chance_.between(0, 1500));
  }
  if (faults.lag && chance_.between(0, 1200) == 0) {
    nodes_[index(someone())].lags_until = in(chance_.between(100, 3000));
  }
  if (faults.cuts && chance_.between(0, 600) == 0) {
    const int i = someone();
    const bool both = chance_.percent(50);
    const bool one = chance_.percent(30);
    const int only = someone();
    for (int k = 0; k < size(); ++k) {
      if (k == i || (one && k != only)) {
        continue;
      }
      const LocalTime until = in(chance_.between(0, 2500));
      cut(i, k, until);
      if (both) {
        cut(k, i, until);
      }
    }
  }
}

}  // namespace neliroute::quorum::sim
