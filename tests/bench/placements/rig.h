// What the tests of placements share: rosters, and what a change did.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "bench/placements/catalog.h"
#include "bench/placements/hash/mix.h"

namespace neliroute::placement {

inline std::vector<Member> roster_of(std::uint32_t count, std::uint64_t seed) {
  std::vector<Member> roster;
  for (std::uint32_t i = 0; i < count; ++i) {
    roster.push_back({"m" + std::to_string(hash_words(i, seed)), 1});
  }
  return roster;
}

inline std::vector<MemberId> first_ids(std::uint32_t count) {
  std::vector<MemberId> ids;
  for (MemberId id = 0; id < count; ++id) ids.push_back(id);
  return ids;
}

/// A placement and its roster, with members 0..members-1 in it.
struct Rig {
  Rig(std::string_view spec, std::uint32_t items, std::vector<Member> who, std::uint32_t members,
      std::uint64_t seed = 1)
      : roster(std::move(who)),
        placement(make_placement(*parse_spec(spec),
                                 {items, seed, roster,
                                  static_cast<std::uint32_t>(roster.size())})) {
    placement->change({}, first_ids(members));
  }

  std::vector<MemberId> owners() const {
    return {placement->owners().begin(), placement->owners().end()};
  }

  /// Items by member of the roster; nobody's are not counted.
  std::vector<std::uint64_t> loads() const {
    std::vector<std::uint64_t> loads(roster.size());
    for (const MemberId owner : placement->owners()) {
      if (owner != kNobody) ++loads[owner];
    }
    return loads;
  }

  std::vector<Member> roster;
  std::unique_ptr<Placement> placement;
};

inline std::uint64_t differing(const std::vector<MemberId>& a, const std::vector<MemberId>& b) {
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < a.size(); ++i) if (a[i] != b[i]) ++count;
  return count;
}

}  // namespace neliroute::placement
