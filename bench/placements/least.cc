#include "bench/placements/least.h"

#include <vector>

#include "placement/least_moves.h"

namespace neliroute::placement {

void Least::update(std::span<const MemberId>, std::span<const MemberId>) {
  if (members().empty()) return;
  std::vector<Share> shares;
  shares.reserve(members().size());
  for (const MemberId member : members()) shares.push_back({member, weight_of(member)});
  owners_ = least_moves(owners_, shares, tolerance_, setting().roster.size()).owners;
}

}  // namespace neliroute::placement
