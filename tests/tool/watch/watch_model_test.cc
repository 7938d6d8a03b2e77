#include "tool/watch/watch_model.h"

#include <gtest/gtest.h>

#include "tests/tool/watch/watch_rig.h"

namespace neliroute::tool {
namespace {

TEST(WatchModelTest, SumsUpWhatEachOwnerHas) {
  WatchRig rig(20, 8);  // partitions 0 to 3 carry 3 slots, the others 2
  rig.tell({0, 1, 2, 4}, WatchRig::led(kBeta, kStart - 5s));
  ObservedRoute draining = WatchRig::led(kAlpha, kStart - 9s);
  draining.draining = true;
  draining.next = kBeta;
  rig.tell({5, 6}, draining);
  rig.tell({3}, WatchRig::nobodys(Verdict::unowned));
  rig.model.hear({1s, 2s, 1s, 0s, 1s, 1s, 4s, 0s});
  const WatchSummary& sum = rig.model.summary();
  const auto& owners = sum.owners;
  ASSERT_EQ(owners.size(), 2U);
  EXPECT_EQ(owners[0].peer, kBeta) << "it has most";
  EXPECT_EQ(owners[0].partitions.to_string(), "0-2,4");
  EXPECT_EQ(owners[0].slots, 11U);
  EXPECT_EQ(owners[0].coming, 2U);
  EXPECT_EQ(owners[0].handing, 0U);
  EXPECT_EQ(owners[0].heard, 2s);
  EXPECT_EQ(owners[1].peer, kAlpha);
  EXPECT_EQ(owners[1].partitions.to_string(), "5-6");
  EXPECT_EQ(owners[1].slots, 4U);
  EXPECT_EQ(owners[1].coming, 0U);
  EXPECT_EQ(owners[1].handing, 2U);
  EXPECT_EQ(owners[1].heard, 4s);
  const auto slots = [&](Verdict verdict) { return sum.slots[static_cast<std::size_t>(verdict)]; };
  EXPECT_EQ(slots(Verdict::remote), 15U);
  EXPECT_EQ(slots(Verdict::unowned), 3U);
  EXPECT_EQ(slots(Verdict::unknown), 2U);
  EXPECT_EQ(sum.moving, 2U);
  EXPECT_EQ(sum.sharing, 2U);
}

// A claim that nothing leads yet, and a designation: each is one move, and only one.
TEST(WatchModelTest, CountsWhatComesToWhom) {
  WatchRig rig(8, 4);
  ObservedRoute named = WatchRig::led(kAlpha);
  named.designee = kBeta;
  ObservedRoute claimed = named;
  claimed.next = kBeta;
  ObservedRoute free = WatchRig::nobodys(Verdict::unowned);
  free.next = kBeta;
  rig.tell({0}, named);
  rig.tell({1}, claimed);
  rig.tell({2}, free);
  const WatchSummary& sum = rig.model.summary();
  ASSERT_EQ(sum.owners.size(), 2U);
  EXPECT_EQ(sum.owners[0].handing, 2U);
  EXPECT_EQ(sum.owners[1].coming, 3U);
  EXPECT_EQ(sum.owners[1].slots, 0U);
  EXPECT_EQ(sum.moving, 3U);
  EXPECT_EQ(sum.sharing, 2U) << "one that is about to own something shares";
}

TEST(WatchModelTest, TwoProcessesOfOneNameAreTwoOwners) {
  WatchRig rig(4, 4);
  rig.tell({0, 1}, WatchRig::led(process("twin", 7)));
  rig.tell({2, 3}, WatchRig::led(process("twin", 8)));
  EXPECT_EQ(rig.model.summary().owners.size(), 2U);
}

TEST(WatchModelTest, TellsWhoSharesAnEndpointWithAnotherOneThatGoesOn) {
  const auto at_one = [](std::uint64_t id) {
    return std::make_shared<const Peer>(Peer{ProcessId{id}, {std::to_string(id), "one:1", {}}});
  };
  WatchRig rig(4, 4);
  ObservedRoute leaving = WatchRig::led(at_one(3));
  leaving.draining = true;
  rig.tell({0}, WatchRig::led(at_one(1)));
  rig.tell({1}, WatchRig::led(process("9", 9)));
  rig.tell({2}, leaving);
  for (const OwnerRow& row : rig.model.summary().owners) EXPECT_FALSE(row.endpoint_shared);
  rig.tell({3}, WatchRig::led(at_one(2)));
  ASSERT_EQ(rig.model.summary().owners.size(), 4U);
  EXPECT_TRUE(rig.model.summary().owners[0].endpoint_shared);
  EXPECT_TRUE(rig.model.summary().owners[1].endpoint_shared);
  EXPECT_FALSE(rig.model.summary().owners[2].endpoint_shared) << "it hands over";
  EXPECT_FALSE(rig.model.summary().owners[3].endpoint_shared);
}

TEST(WatchModelTest, WhoIsHeardOfFirstOrAgainHasNotMoved) {
  WatchRig rig(4, 4);
  rig.tell({0, 1, 2}, WatchRig::led(kAlpha));
  rig.tell({3}, WatchRig::nobodys(Verdict::unowned));
  rig.tell({3}, WatchRig::led(kBeta));
  rig.tell({0}, WatchRig::nobodys(Verdict::unknown));
  rig.tell({0}, WatchRig::led(kAlpha));
  EXPECT_TRUE(rig.model.moves().empty());
  rig.tell({0}, WatchRig::nobodys(Verdict::unknown));
  rig.tell({0}, WatchRig::led(kBeta));
  ASSERT_EQ(rig.model.moves().size(), 1U) << "it moved while nobody could tell";
  EXPECT_EQ(rig.model.moves()[0].from, kAlpha);
  EXPECT_EQ(rig.model.moves()[0].to, kBeta);
}

TEST(WatchModelTest, MovesOfOneMomentAndDirectionAreOneRow) {
  WatchRig rig(16, 8);
  rig.tell({0, 1, 2, 3}, WatchRig::led(kAlpha));
  rig.tell({4, 5, 6, 7}, WatchRig::led(kBeta));
  rig.tell({4, 5}, WatchRig::nobodys(Verdict::unowned));
  rig.now += 200ms;
  rig.tell({6}, WatchRig::nobodys(Verdict::unowned));
  rig.now += 800ms;
  rig.tell({4}, WatchRig::led(kAlpha));
  rig.now += 100ms;
  rig.tell({5}, WatchRig::led(kAlpha));
  rig.tell({7}, WatchRig::led(kAlpha));
  rig.tell({5}, WatchRig::led(kAlpha));
  const auto& moves = rig.model.moves();
  ASSERT_EQ(moves.size(), 2U);
  EXPECT_EQ(moves[0].from, kBeta);
  EXPECT_EQ(moves[0].to, kAlpha);
  EXPECT_EQ(moves[0].partitions.to_string(), "4-5,7");
  EXPECT_EQ(moves[0].unowned, 1100ms) << "of the one that waited longest";
  EXPECT_FALSE(moves[1].to);
  EXPECT_EQ(moves[1].partitions.to_string(), "4-6");
  rig.now += 251ms;
  rig.tell({6}, WatchRig::led(kAlpha));
  EXPECT_EQ(moves.size(), 3U) << "another moment";
}

TEST(WatchModelTest, AnOwnerThatIsBackAfterAGapIsTold) {
  WatchRig rig(1, 1);
  rig.tell({0}, WatchRig::led(kAlpha));
  rig.tell({0}, WatchRig::nobodys(Verdict::unowned));
  rig.now += 2s;
  rig.tell({0}, WatchRig::led(kAlpha));
  ASSERT_EQ(rig.model.moves().size(), 2U);
  EXPECT_EQ(rig.model.moves()[0].to, kAlpha);
  EXPECT_EQ(rig.model.moves()[0].unowned, 2s);
}

TEST(WatchModelTest, KeepsTheLastMovesOnly) {
  WatchRig rig(1, 1);
  rig.tell({0}, WatchRig::led(kAlpha));
  for (std::size_t i = 0; i < WatchModel::kMovesKept + 5; ++i) {
    rig.now += 1s;
    rig.tell({0}, WatchRig::led(i % 2 == 0 ? kBeta : kAlpha));
  }
  EXPECT_EQ(rig.model.moves().size(), WatchModel::kMovesKept);
  EXPECT_EQ(rig.model.moves().front().at, rig.now);
}

}  // namespace
}  // namespace neliroute::tool
