// Seeds that nobody has run before: they follow from the commit that is checked out, so that every
// change is tried on others, and a failure can be repeated from the commit alone.
//
// Threads: one.   Units: none.   Errors: outside of git, a fixed first seed.
#pragma once

#include <cstdint>
#include <string>

namespace neliroute::sim {

struct FreshSeeds {
  std::uint64_t first = 0;
  std::string commit;  ///< empty: not in git
};

/// `folder`: anywhere in the working tree.
[[nodiscard]] FreshSeeds fresh_seeds(const std::string& folder);
/// Far apart for any two hashes; a fixed one for what is no hash.
[[nodiscard]] std::uint64_t first_seed_of(const std::string& commit);

}  // namespace neliroute::sim
