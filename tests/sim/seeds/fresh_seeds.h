// Seeds that nobody has run before: they follow from the commit that is checked out, so that every
// change is tried on others, and a failure can be repeated from the commit alone.
//
// Threads: one.   Units: none.   Errors: where git tells of no commit, they follow from the date.
#pragma once

#include <cstdint>
#include <string>

namespace neliroute::sim {

struct FreshSeeds {
  std::uint64_t first = 0;
  std::string commit;  ///< empty: git tells of none
};

/// `folder`: anywhere in the working tree.
[[nodiscard]] FreshSeeds fresh_seeds(const std::string& folder);

}  // namespace neliroute::sim
