#include "tool/print/placement.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "slots/partition.h"

namespace neliroute::tool {

Owners owners_of(const std::vector<Route>& view) {
  Owners owners;
  owners.reserve(view.size());
  for (const Route& route : view) owners.emplace_back(route.owner());
  return owners;
}

std::vector<Holding> holdings_of(const std::vector<Route>& view, SlotCount slots) {
  std::map<std::pair<std::string_view, std::string_view>, Holding> found;
  const auto count = static_cast<std::uint32_t>(view.size());
  for (const Route& route : view) {
    if (route.owner().empty() && route.endpoint().empty()) continue;
    Holding& holding = found[{route.owner(), route.endpoint()}];
    holding.valid_for = holding.partitions.empty() ? route.valid_for
                                                   : std::min(holding.valid_for, route.valid_for);
    holding.owner = route.owner();
    holding.endpoint = route.endpoint();
    holding.partitions.insert(route.partition);
    holding.slots += slots_on_partition(route.partition.value(), slots, count);
    holding.newest_epoch = std::max(holding.newest_epoch, route.epoch);
  }
  std::vector<Holding> holdings;
  for (auto& [who, holding] : found) holdings.push_back(std::move(holding));
  return holdings;
}

std::uint64_t slots_on(const std::vector<std::uint32_t>& partitions, SlotCount slots,
                       std::uint32_t partition_count) {
  std::uint64_t sum = 0;
  for (const std::uint32_t p : partitions) sum += slots_on_partition(p, slots, partition_count);
  return sum;
}

std::vector<std::uint32_t> moved(const Owners& before, const Owners& after) {
  std::vector<std::uint32_t> found;
  for (std::size_t p = 0; p < before.size(); ++p) {
    if (!before[p].empty() && before[p] != after[p]) found.push_back(static_cast<std::uint32_t>(p));
  }
  return found;
}

std::size_t least_moves(const Owners& before, const std::set<std::string>& owners) {
  if (owners.empty()) return before.size();
  // Every owner may keep the quotient; as many as the remainder may keep one more.
  const std::size_t quotient = before.size() / owners.size();
  std::size_t rest = before.size() % owners.size();
  std::size_t kept = 0;
  for (const std::string& owner : owners) {
    const auto held =
        static_cast<std::size_t>(std::count(before.begin(), before.end(), owner));
    kept += std::min(held, quotient);
    if (held > quotient && rest > 0) {
      --rest;
      ++kept;
    }
  }
  return before.size() - kept;
}

}  // namespace neliroute::tool
