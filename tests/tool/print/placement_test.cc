#include "tool/print/placement.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace neliroute::tool {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(PlacementTest, MovedIsWhatChangedItsOwner) {
  const Owners before = {"a", "a", "b", ""};
  EXPECT_THAT(moved(before, before), IsEmpty());
  EXPECT_THAT(moved(before, {"a", "b", "", "a"}), ElementsAre(1, 2)) << "3 had nobody to lose";
}

TEST(PlacementTest, LeastMoves) {
  const Owners before = {"a", "a", "a", "b", "b", "b", "c", "c"};
  EXPECT_EQ(least_moves(before, {"a", "b", "c"}), 0u);
  EXPECT_EQ(least_moves(before, {"a", "c"}), 3u) << "b's, and nothing else";
  EXPECT_EQ(least_moves(before, {"a", "b", "c", "d"}), 2u) << "a fair share for who joins";
  EXPECT_EQ(least_moves(before, {"d"}), 8u);
  EXPECT_EQ(least_moves({"", "", "a"}, {"a"}), 2u) << "somebody has to take what nobody has";
  EXPECT_EQ(least_moves({"a", "a", "a", "a"}, {"a", "b"}), 2u) << "for balance's sake";
  EXPECT_EQ(least_moves({"a", "a", "a"}, {"a", "b"}), 1u);
}

Route owned(std::uint32_t partition, const ProcessInfo& owner, std::int64_t offset) {
  Route route;
  route.slot = Slot{partition};
  route.partition = Partition{partition};
  route.verdict = Verdict::remote;
  route.owner_info = &owner;
  route.epoch = Epoch{1, offset};
  route.valid_for = microseconds{1000 * offset};
  return route;
}

TEST(PlacementTest, HoldingsByOwner) {
  const ProcessInfo a{"a", "x", {}};
  const ProcessInfo other{"a", "other", {}};
  const ProcessInfo b{"b", "y", {}};
  Route nobody;
  nobody.partition = Partition{3};
  nobody.verdict = Verdict::unowned;
  const std::vector<Route> view = {owned(0, b, 7), owned(1, a, 5), owned(2, b, 9), nobody,
                                   owned(4, other, 1)};
  const auto holdings = holdings_of(view, SlotCount{12});
  ASSERT_EQ(holdings.size(), 3u) << "two of one name are two";
  EXPECT_EQ(holdings[0].endpoint, "other");
  EXPECT_EQ(holdings[2].owner, "b");
  EXPECT_EQ(holdings[2].partitions.to_string(), "0,2");
  EXPECT_EQ(holdings[2].slots, 5u) << "of 12 slots on 5 partitions the first two carry one more";
  EXPECT_EQ(holdings[2].newest_epoch, (Epoch{1, 9}));
  EXPECT_EQ(holdings[2].valid_for, microseconds{7000}) << "the one that is least sure";
  EXPECT_THAT(owners_of(view), ElementsAre("b", "a", "b", "", "a"));
  EXPECT_EQ(slots_on({0, 3}, SlotCount{12}, 5), 5u);
}

}  // namespace
}  // namespace neliroute::tool
