#include "placement/least_moves.h"

#include <algorithm>
#include <cmath>
#include <neliroute/detail/assert.h>
#include <numeric>

namespace neliroute::placement {
namespace {

constexpr std::size_t kNoShare = SIZE_MAX;

std::uint64_t above(std::uint64_t value, std::uint64_t limit) noexcept {
  return value > limit ? value - limit : 0;
}

/// How much each may keep of what it holds, so that exactly the least moves.
std::vector<std::uint64_t> kept_of(std::span<const std::uint64_t> held,
                                   std::span<const Band> bands, const LeastCount& count) {
  std::vector<std::uint64_t> kept(held.size());
  std::uint64_t released = count.unavoidable;
  for (std::size_t b = 0; b < held.size(); ++b) {
    kept[b] = std::min(held[b], bands[b].most);
    released += held[b] - kept[b];
  }
  // Floors lack more than is free: members above their floor give one each, in rounds, the last
  // first, so that nobody gives much more than the others.
  while (released < count.moves) {
    for (std::size_t b = held.size(); b-- > 0 && released < count.moves;) {
      if (kept[b] > bands[b].least) {
        --kept[b];
        ++released;
      }
    }
  }
  return kept;
}

/// How many each will own: the floors first, then one each, in rounds.
std::vector<std::uint64_t> targets_of(const std::vector<std::uint64_t>& kept,
                                      std::span<const Band> bands, std::uint64_t items) {
  std::vector<std::uint64_t> targets(kept.size());
  for (std::size_t b = 0; b < kept.size(); ++b) targets[b] = std::max(kept[b], bands[b].least);
  std::uint64_t left = items - std::accumulate(targets.begin(), targets.end(), std::uint64_t{0});
  while (left > 0) {
    for (std::size_t b = 0; b < kept.size() && left > 0; ++b) {
      if (targets[b] < bands[b].most) {
        ++targets[b];
        --left;
      }
    }
  }
  return targets;
}

}  // namespace

std::vector<Band> bands_of(std::uint64_t items, std::span<const Share> shares, double tolerance) {
  NELIROUTE_ASSERT(tolerance >= 0 && tolerance <= 1, "a tolerance must be 0 to 1");
  std::uint64_t weights = 0;
  for (const Share& share : shares) weights += share.weight;
  std::vector<Band> bands;
  bands.reserve(shares.size());
  for (const Share& share : shares) {
    const std::uint64_t product = items * share.weight;
    Band band{product / weights, (product + weights - 1) / weights};
    if (tolerance > 0) {
      const double exact = static_cast<double>(product) / static_cast<double>(weights);
      const auto least = static_cast<std::uint64_t>(std::floor(exact * (1 - tolerance)));
      const auto most = static_cast<std::uint64_t>(std::ceil(exact * (1 + tolerance)));
      band = {std::min(band.least, least), std::max(band.most, most)};
    }
    bands.push_back(band);
  }
  return bands;
}

LeastCount least_count(std::uint64_t items, std::span<const std::uint64_t> held,
                       std::span<const Band> bands) {
  std::uint64_t owned = 0;
  std::uint64_t too_many = 0;
  std::uint64_t too_few = 0;
  for (std::size_t b = 0; b < held.size(); ++b) {
    owned += held[b];
    too_many += above(held[b], bands[b].most);
    too_few += above(bands[b].least, held[b]);
  }
  const std::uint64_t orphans = items - owned;
  return {std::max(orphans + too_many, too_few), orphans};
}

LeastMoves least_moves(std::span<const MemberId> current, std::span<const Share> shares,
                       double tolerance, std::size_t roster) {
  NELIROUTE_ASSERT(!shares.empty(), "there must be a member to own the items");
  std::vector<MemberId> members;
  members.reserve(shares.size());
  for (const Share& share : shares) members.push_back(share.member);
  return least_moves_within(current, members, bands_of(current.size(), shares, tolerance), roster);
}

LeastMoves least_moves_within(std::span<const MemberId> current, std::span<const MemberId> members,
                              std::span<const Band> bands, std::size_t roster) {
  NELIROUTE_ASSERT(members.size() == bands.size(), "a band for each member");
  std::vector<std::size_t> share_of(roster, kNoShare);
  for (std::size_t b = 0; b < members.size(); ++b) {
    NELIROUTE_ASSERT(members[b] < roster, "a member must be on the roster");
    share_of[members[b]] = b;
  }
  std::vector<std::uint64_t> held(members.size());
  for (const MemberId owner : current) {
    if (owner == kNobody) continue;
    NELIROUTE_ASSERT(owner < roster, "an owner must be on the roster");
    if (share_of[owner] != kNoShare) ++held[share_of[owner]];
  }
  LeastMoves found{least_count(current.size(), held, bands), {}};
  std::vector<std::uint64_t> may_keep = kept_of(held, bands, found.count);
  std::vector<std::uint64_t> lacks = targets_of(may_keep, bands, current.size());
  for (std::size_t b = 0; b < members.size(); ++b) lacks[b] -= may_keep[b];
  found.owners.assign(current.begin(), current.end());
  std::size_t next = 0;
  for (MemberId& owner : found.owners) {
    const std::size_t b = owner == kNobody ? kNoShare : share_of[owner];
    if (b != kNoShare && may_keep[b] > 0) {
      --may_keep[b];
      continue;
    }
    while (lacks[next] == 0) ++next;
    --lacks[next];
    owner = members[next];
  }
  return found;
}

}  // namespace neliroute::placement
