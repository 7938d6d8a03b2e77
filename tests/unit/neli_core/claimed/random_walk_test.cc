// Random walks, thousands of them. A failure prints its seed; NELIROUTE_WALK_SEED=N runs that one
// alone and tells what happened, NELIROUTE_WALK_SEEDS=N runs N of each kind.
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "tests/sanitized.h"
#include "tests/unit/neli_core/claimed/walk.h"

namespace neliroute::walk {
namespace {

// Of each kind: 2 s. A sanitizer makes them ten times slower, and other machines are slower still;
// what it looks for shows in few walks (builds.asan.walks.long takes 200).
constexpr std::uint64_t kSeeds = kSanitized ? 20 : kOptimized ? 500 : 150;

std::uint64_t number_of(const char* variable, std::uint64_t otherwise) {
  const char* text = std::getenv(variable);
  return text == nullptr ? otherwise : std::strtoull(text, nullptr, 10);
}

void walk(WalkOptions options) {
  const std::uint64_t only = number_of("NELIROUTE_WALK_SEED", 0);
  const std::uint64_t first = only != 0 ? only : number_of("NELIROUTE_WALK_FIRST", 1);
  const std::uint64_t count = only != 0 ? 1 : number_of("NELIROUTE_WALK_SEEDS", kSeeds);
  options.verbose = only != 0;
  for (std::uint64_t seed = first; seed < first + count; ++seed) {
    options.seed = seed;
    EXPECT_EQ(Walk(options).run(), "") << "again with NELIROUTE_WALK_SEED=" << seed;
    if (testing::Test::HasFailure()) return;
  }
}

TEST(RandomWalk, exclusive_mode_never_has_two_leaders_and_heals) {
  walk({.mode = Mode::exclusive});
}

TEST(RandomWalk, exclusive_mode_never_has_two_leaders_when_topics_are_made_again) {
  walk({.mode = Mode::exclusive, .topic_made_again = true});
}

TEST(RandomWalk, non_exclusive_mode_heals) {
  walk({.mode = Mode::non_exclusive, .topic_made_again = true});
}

TEST(RandomWalk, planned_moves_leave_no_unowned_moment_in_non_exclusive_mode) {
  walk({.mode = Mode::non_exclusive, .calm = true});
}

TEST(RandomWalk, planned_moves_heal_in_exclusive_mode) {
  walk({.mode = Mode::exclusive, .calm = true});
}

}  // namespace
}  // namespace neliroute::walk
