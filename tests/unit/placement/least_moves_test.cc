// The formula and the assignment, held against every possible assignment of small cases.
#include "placement/least_moves.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <random>

namespace neliroute::placement {
namespace {

std::uint64_t differing(const std::vector<MemberId>& a, const std::vector<MemberId>& b) {
  std::uint64_t count = 0;
  for (std::size_t i = 0; i < a.size(); ++i) if (a[i] != b[i]) ++count;
  return count;
}

/// The least over all assignments within the bands, by trying every one of them.
std::uint64_t by_brute_force(const std::vector<MemberId>& current, const std::vector<Share>& shares,
                             const std::vector<Band>& bands) {
  std::uint64_t best = UINT64_MAX;
  std::vector<std::size_t> choice(current.size(), 0);
  for (;;) {
    std::vector<std::uint64_t> loads(shares.size());
    std::uint64_t moved = 0;
    for (std::size_t item = 0; item < current.size(); ++item) {
      ++loads[choice[item]];
      if (shares[choice[item]].member != current[item]) ++moved;
    }
    bool fits = true;
    for (std::size_t b = 0; b < shares.size(); ++b) {
      fits = fits && loads[b] >= bands[b].least && loads[b] <= bands[b].most;
    }
    if (fits) best = std::min(best, moved);
    std::size_t item = 0;
    while (item < choice.size() && ++choice[item] == shares.size()) choice[item++] = 0;
    if (item == choice.size()) return best;
  }
}

/// The found owners are within the bands and differ from the current ones in as many as it says.
void expect_attained(const std::vector<MemberId>& current, const std::vector<Share>& shares,
                     const std::vector<Band>& bands, const LeastMoves& found) {
  EXPECT_EQ(differing(current, found.owners), found.count.moves);
  for (std::size_t b = 0; b < shares.size(); ++b) {
    const auto load = static_cast<std::uint64_t>(
        std::count(found.owners.begin(), found.owners.end(), shares[b].member));
    EXPECT_GE(load, bands[b].least);
    EXPECT_LE(load, bands[b].most);
  }
}

TEST(LeastMovesTest, EqualsBruteForce) {
  std::mt19937_64 random{9};
  const auto dice = [&random](std::uint64_t count) { return random() % count; };
  for (int round = 0; round < 600; ++round) {
    const std::size_t items = 1 + dice(7);
    const std::size_t members = 1 + dice(4);
    std::vector<Share> shares;
    for (std::size_t b = 0; b < members; ++b) {
      shares.push_back({static_cast<MemberId>(b), round % 2 == 0
                                                      ? 1
                                                      : static_cast<std::uint32_t>(1 + dice(4))});
    }
    // Owners 4 and 5 are gone, or the item is nobody's.
    std::vector<MemberId> current;
    for (std::size_t item = 0; item < items; ++item) {
      const std::uint64_t owner = dice(7);
      current.push_back(owner == 6 ? kNobody : static_cast<MemberId>(owner));
    }
    const double tolerance = round % 3 == 0 ? 0.4 : 0.0;
    const std::vector<Band> bands = bands_of(items, shares, tolerance);
    const LeastMoves found = least_moves(current, shares, tolerance, 6);
    ASSERT_EQ(found.count.moves, by_brute_force(current, shares, bands)) << "round " << round;
    expect_attained(current, shares, bands, found);
    ASSERT_FALSE(HasFailure()) << "round " << round;
  }
}

/// A balanced assignment of the items to members 0..members-1.
std::vector<MemberId> balanced(std::uint32_t items, std::uint32_t members) {
  std::vector<MemberId> owners;
  for (std::uint32_t item = 0; item < items; ++item) owners.push_back(item % members);
  return owners;
}

std::uint64_t moves_to(const std::vector<MemberId>& current, MemberId first, MemberId end) {
  std::vector<Share> shares;
  for (MemberId member = first; member < end; ++member) shares.push_back({member, 1});
  return least_moves(current, shares, 0, 40).count.moves;
}

TEST(LeastMovesTest, ClosedFormsFromABalancedState) {
  for (std::uint32_t items = 1; items < 80; ++items) {
    for (std::uint32_t members = 1; members < 15; ++members) {
      const std::vector<MemberId> current = balanced(items, members);
      for (std::uint32_t k = 1; k <= 5; ++k) {
        const std::uint32_t n = members + k;
        const std::uint32_t rest = items % n;
        ASSERT_EQ(moves_to(current, 0, n),
                  k * (items / n) + (rest > members ? rest - members : 0));
        if (k >= members) continue;
        // The first k go, and then k new ones come in their place: just the orphans move.
        const std::uint32_t orphans = k * (items / members) + std::min(k, items % members);
        ASSERT_EQ(moves_to(current, k, members), orphans);
        ASSERT_EQ(moves_to(current, k, members + k), orphans);
      }
    }
  }
}

TEST(LeastMovesTest, SlotsAndPartitionsHaveMinimaOfTheirOwn) {
  EXPECT_EQ(moves_to(balanced(1024, 10), 0, 11), 93U);
  EXPECT_EQ(moves_to(balanced(64, 10), 0, 11), 5U);
}

TEST(LeastMovesTest, WeightsMakeShares) {
  const std::vector<Share> shares = {{0, 1}, {1, 3}};
  const LeastMoves found = least_moves(std::vector<MemberId>(100, 0), shares, 0, 2);
  EXPECT_EQ(found.count.moves, 75U);
  EXPECT_EQ(found.count.unavoidable, 0U);
  EXPECT_EQ(std::count(found.owners.begin(), found.owners.end(), 1U), 75);
}

TEST(LeastMovesTest, AToleranceSavesMoves) {
  const std::vector<Share> shares = {{0, 1}, {1, 1}, {2, 1}};
  const std::vector<MemberId> current = balanced(300, 2);
  EXPECT_EQ(least_moves(current, shares, 0, 3).count.moves, 100U);
  // 90 are enough for the third, and 110 not too many for the others.
  EXPECT_EQ(least_moves(current, shares, 0.1, 3).count.moves, 90U);
  EXPECT_EQ(least_moves(current, shares, 1, 3).count.moves, 0U);
}

TEST(LeastMovesDeathTest, NobodyCannotOwn) {
  EXPECT_DEATH(static_cast<void>(least_moves(balanced(4, 2), {}, 0, 2)), "must be a member");
}

}  // namespace
}  // namespace neliroute::placement
