// A process leaves the group only if it cannot lead what it is assigned; and it does not flap.
#include "neli_core/leaving/withdrawal.h"

#include <gtest/gtest.h>

#include <functional>

namespace neliroute {
namespace {

using namespace std::chrono_literals;

constexpr Log kGood{0};
constexpr Log kBad{1};
constexpr std::uint32_t kMost = 0xffff'ffffU;

/// A group of so many other members, in which this process is given partitions 0-3 of two logs; it
/// looks ten times a second. The brokers answer what they are asked, unless they are away.
class WithdrawalTest : public testing::Test {
 protected:
  WithdrawalTest() { join(); }

  void join() {
    withdrawal.joined();
    withdrawal.assigned(*PartitionRanges::parse("0-3"), now);
  }
  /// A tenth of a second.
  void pass() {
    now += 100ms;
    if (good) withdrawal.own_record(kGood, now);
    if (facts) facts();
    step = withdrawal.step(now, random);
    if (step.stays_alone) ++told_alone;
    others_asked += step.ask_others ? 1 : 0;
    leaders_asked += step.ask_leaders ? 1 : 0;
    if (step.ask_others && others) withdrawal.others_counted(*others, now, now);
    if (step.join) ++joins_early;
    if (step.ask_leaders && leaders) withdrawal.leaders_named(*leaders, now);
    if (!step.leave) return;
    left_at = now;
    ++left;
    pauses.push_back(step.leave->pause);
    withdrawal.revoked(*PartitionRanges::parse("0-3"));
  }
  void pass_for(milliseconds time) {
    for (const LocalTime until = now + time; now < until;) pass();
  }
  /// How long it stays in the group, at most so long.
  milliseconds stay(milliseconds most = 10min) {
    const LocalTime from = now;
    const int before = left;
    while (left == before && now - from < most) pass();
    EXPECT_GT(left, before) << "it stays";
    return std::chrono::duration_cast<milliseconds>(now - from);
  }
  void refuse() {
    facts = [this] { withdrawal.write_refused(kBad, now); };
  }
  /// It is refused until it leaves, and joins again after the pause.
  void leave_and_return(int times = 1) {
    for (int i = 0; i < times; ++i) {
      refuse();
      stay();
      now += pauses.back();
      join();
    }
  }

  const milliseconds bound{6000};  // 2 T
  Withdrawal withdrawal{{4, 2, 3000ms, 5000ms}};
  LocalTime now = LocalTime{} + 1h;
  LocalTime left_at = kNever;
  Withdrawal::Step step;
  std::uint32_t random = 0;
  bool good = true;
  std::function<void()> facts;
  std::optional<std::size_t> others = 2;
  std::optional<std::vector<std::optional<std::int32_t>>> leaders;
  int left = 0;
  int told_alone = 0;
  int joins_early = 0;
  int others_asked = 0;
  int leaders_asked = 0;
  std::vector<milliseconds> pauses;
};

TEST_F(WithdrawalTest, ARefusalMakesItLeaveOnceNoOwnRecordCameBackForTheBound) {
  refuse();
  const milliseconds stayed = stay();
  EXPECT_GE(stayed, bound);
  EXPECT_LE(stayed, bound + 500ms);
  ASSERT_TRUE(step.leave);
  EXPECT_EQ(step.leave->obstacle, Obstacle::refused);
  EXPECT_EQ(step.leave->logs, std::vector{kBad});
  EXPECT_TRUE(withdrawal.away());
}

TEST_F(WithdrawalTest, TheBoundIsTheSessionWhereThatIsLonger) {
  const Withdrawal long_session{{4, 2, 3000ms, 45s}};
  EXPECT_EQ(long_session.bound(), 45s);
  EXPECT_EQ(withdrawal.bound(), bound);
}

// Who is back before the others have heard is given the same again (found by the simulator).
TEST_F(WithdrawalTest, TheFirstPauseOutlastsTwoHeartbeats) {
  withdrawal = Withdrawal{{4, 2, 3000ms, 5000ms, 3000ms}};
  join();
  refuse();
  stay();
  EXPECT_EQ(pauses.back(), 6s);
  now += pauses.back();
  join();
  refuse();
  stay();
  EXPECT_EQ(pauses.back(), 12s);
}

// It would be given back what its successor has not led yet, and nobody would serve it meanwhile.
TEST_F(WithdrawalTest, EachPauseLetsItsSuccessorsPrepare) {
  withdrawal = Withdrawal{{4, 2, 3000ms, 5000ms, 0ms, 5000ms}};
  join();
  leave_and_return(2);
  EXPECT_EQ(pauses, (std::vector<milliseconds>{7s, 9s}));
}

TEST_F(WithdrawalTest, WithoutAnObstacleSilenceIsNoReason) {
  pass_for(10min);
  EXPECT_EQ(left, 0);
  EXPECT_EQ(others_asked, 0);
}

TEST_F(WithdrawalTest, ARefusalThatWasMendedIsNone) {
  refuse();
  pass_for(bound - 500ms);
  facts = [this] { withdrawal.own_record(kBad, now); };
  pass();
  facts = nullptr;
  pass_for(10min);
  EXPECT_EQ(left, 0);
}

TEST_F(WithdrawalTest, AnOldRefusalIsNoneOfWhatIsWrittenNow) {
  withdrawal.write_refused(kBad, now);
  others.reset();
  pass_for(2 * bound + 1s);
  others = 2;
  pass_for(10min);
  EXPECT_EQ(left, 0);
}

TEST_F(WithdrawalTest, AReaderIsToldOnceThatItIsRefused) {
  withdrawal.read_refused(kBad);
  EXPECT_GE(stay(), bound);
  EXPECT_EQ(step.leave->obstacle, Obstacle::refused);
}

TEST_F(WithdrawalTest, AReaderThatIsAnsweredIsNotRefusedAnyMore) {
  withdrawal.read_refused(kBad);
  pass_for(bound / 2);
  withdrawal.answered(kBad, now);
  pass_for(10min);
  EXPECT_EQ(left, 0);
}

TEST_F(WithdrawalTest, OnlyLogsOfWhatItIsGivenCount) {
  withdrawal.revoked(*PartitionRanges::parse("1,3"));
  refuse();
  pass_for(10min);
  EXPECT_EQ(left, 0);
  withdrawal.assigned(*PartitionRanges::parse("3"), now);
  EXPECT_GE(stay(), bound);
}

TEST_F(WithdrawalTest, ALeaderThatTheClusterNamesAndThatDoesNotAnswerIsOutOfReach) {
  leaders = {{1, 2}};
  const milliseconds stayed = stay();
  // Asked after T of silence, and named for as long as Kafka may name a dead one.
  EXPECT_GE(stayed, 3000ms + Withdrawal::kElectionMost);
  EXPECT_LE(stayed, 3000ms + Withdrawal::kElectionMost + 2s);
  EXPECT_EQ(step.leave->obstacle, Obstacle::out_of_reach);
  EXPECT_EQ(step.leave->logs, std::vector{kBad});
}

TEST_F(WithdrawalTest, ALogWithoutALeaderMakesNobodyLeave) {
  leaders = {{1, std::nullopt}};
  pass_for(10min);
  EXPECT_EQ(left, 0);
  EXPECT_GT(leaders_asked, 100);
}

TEST_F(WithdrawalTest, NorDoesOneWhoseLeaderAnswersAndStoresNothing) {
  leaders = {{1, 2}};
  facts = [this] { withdrawal.answered(kBad, now); };  // fewer in-sync replicas than it takes
  pass_for(10min);
  EXPECT_EQ(left, 0);
  EXPECT_EQ(leaders_asked, 0);
}

TEST_F(WithdrawalTest, ALeaderThatWasElectedJustNowHasItsTime) {
  leaders = {{1, 2}};
  pass_for(12s);
  leaders = {{1, 3}};
  EXPECT_GE(stay(), Withdrawal::kElectionMost);
}

TEST_F(WithdrawalTest, WhereNobodyNamesLeadersAnyMoreNobodyIsOutOfReach) {
  leaders = {{1, 2}};
  pass_for(7s);
  leaders.reset();
  pass_for(10min);
  EXPECT_EQ(left, 0);
  leaders = {{1, 2}};  // the brokers are back, and this process has not reached them yet
  EXPECT_GE(stay(), Withdrawal::kElectionMost);
}

TEST_F(WithdrawalTest, ItStaysWhileTheCoordinatorDoesNotAnswer) {
  refuse();
  good = false;
  others.reset();
  pass_for(10min);
  EXPECT_EQ(left, 0);
  EXPECT_GE(others_asked, 500) << "it goes on asking";
  EXPECT_LE(others_asked, 600) << "once a second";
}

TEST_F(WithdrawalTest, AnAnswerThatCameLateIsNone) {
  refuse();
  others.reset();
  pass_for(bound + 1s);
  const LocalTime asked = now;
  pass_for(2100ms);
  withdrawal.others_counted(2, asked, now);
  pass();
  EXPECT_EQ(left, 0);
  withdrawal.others_counted(2, now, now);
  pass();
  EXPECT_EQ(left, 1);
}

TEST_F(WithdrawalTest, AloneItStaysAndSaysSoOnce) {
  refuse();
  others = 0;
  pass_for(10min);
  EXPECT_EQ(left, 0);
  EXPECT_EQ(told_alone, 1);
  EXPECT_GT(others_asked, 50) << "somebody may come";
  others = 1;
  EXPECT_LE(stay(), bound + 100ms);
}

// Two may leave at the same moment, each on the count that still has the other one.
TEST_F(WithdrawalTest, AwayItLooksEveryFewSecondsAndJoinsWhenNobodyIsThere) {
  for (const std::uint32_t drawn : {0U, kMost}) {
    random = drawn;
    refuse();
    others = 1;
    stay();
    others_asked = joins_early = 0;
    pass_for(60s);
    EXPECT_EQ(joins_early, 0) << "somebody is there";
    EXPECT_GE(others_asked, 14);
    EXPECT_LE(others_asked, drawn == 0 ? 30 : 15);
    others.reset();
    pass_for(60s);
    EXPECT_EQ(joins_early, 0) << "nobody knows";
    others = 0;
    pass_for(4100ms);
    EXPECT_GE(joins_early, 1);
    now += 10s;
    join();
    EXPECT_FALSE(withdrawal.away());
  }
}

// Otherwise all that cannot lead on one log would leave the others at the same moment.
TEST_F(WithdrawalTest, WhenItLeavesIsDrawn) {
  refuse();
  random = kMost;
  EXPECT_GE(stay(), bound + bound / 2 - 100ms);
}

TEST_F(WithdrawalTest, PausesGrowFromTwoSecondsToTenMinutesAndAreDrawn) {
  for (const std::uint32_t drawn : {0U, kMost}) {
    random = drawn;
    pauses.clear();
    leave_and_return(12);
    const bool low = drawn == 0;
    EXPECT_GE(pauses[0], low ? 2s : 3900ms);
    EXPECT_LE(pauses[0], 4s);
    EXPECT_GE(pauses[3], low ? 16s : 30s);
    EXPECT_LE(pauses[3], 32s);
    EXPECT_EQ(pauses[11], pauses[10]);
    EXPECT_GE(pauses[11], low ? 5min : 590s);
    EXPECT_LE(pauses[11], 10min);
    facts = [this] { withdrawal.own_record(kBad, now); };
    pass_for(11min);  // for the second round
  }
}

TEST_F(WithdrawalTest, PausesBeginAnewOnceItWasWellForAsLongAsItWasAway) {
  leave_and_return(6);
  EXPECT_GE(pauses.back(), 30s);
  facts = [this] { withdrawal.own_record(kBad, now); };
  pass_for(pauses.back() - 2s);
  refuse();
  stay();
  EXPECT_GE(pauses.back(), 60s) << "it was not well for long";
  now += pauses.back();
  join();
  facts = [this] { withdrawal.own_record(kBad, now); };
  pass_for(pauses.back() + 1s);
  refuse();
  stay();
  EXPECT_LE(pauses.back(), 4s);
}

TEST_F(WithdrawalTest, WhatItHandsOverWhileItIsAwayIsNoSignOfBeingWell) {
  for (int i = 0; i < 6; ++i) {
    refuse();
    stay();
    pass_for(2 * pauses.back());  // its renewals on the good log go on all the time
    EXPECT_TRUE(withdrawal.away());
    join();
  }
  EXPECT_GE(pauses.back(), 30s);
}

// Claims are written again within 2 T only.
TEST_F(WithdrawalTest, ARefusalCountsUntilTheNextOneMayHaveCome) {
  random = kMost;
  withdrawal.write_refused(kBad, now);
  EXPECT_LE(stay(), 2 * bound);
  EXPECT_EQ(step.leave->obstacle, Obstacle::refused);
}

TEST_F(WithdrawalTest, WhoWasThereWhenItWasMendedDoesNotCountLater) {
  refuse();
  while (others_asked == 0) pass();
  facts = [this] { withdrawal.own_record(kBad, now); };
  pass_for(1min);
  others = 0;
  refuse();
  pass_for(10min);
  EXPECT_EQ(left, 0) << "it is alone now";
  EXPECT_EQ(told_alone, 1);
  facts = [this] { withdrawal.own_record(kBad, now); };
  pass_for(1min);
  refuse();
  pass_for(1min);
  EXPECT_EQ(told_alone, 2) << "once each time";
}

// A group may give partition after partition.
TEST_F(WithdrawalTest, WhatIsGivenToItLaterMakesItStayNoLonger) {
  withdrawal.revoked(*PartitionRanges::parse("2-3"));
  refuse();
  pass_for(bound - 2s);
  withdrawal.assigned(*PartitionRanges::parse("2-3"), now);
  EXPECT_LE(stay(), 2500ms);
}

TEST_F(WithdrawalTest, ItWaitsHalfTheBoundLongerAtMost) {
  refuse();
  random = kMost;
  EXPECT_LE(stay(), bound + bound / 2 + 300ms);
}

// Ten seconds: Kafka names a dead broker for up to nine.
TEST_F(WithdrawalTest, ALeaderHasTenSecondsHoweverShortTheBoundIs) {
  leaders = {{1, 2}};
  EXPECT_GE(stay(), 13s);
}

TEST_F(WithdrawalTest, ALeaderHasTheBoundWhereThatIsLonger) {
  withdrawal = Withdrawal{{4, 2, 3000ms, 45s}};
  join();
  leaders = {{1, 2}};
  facts = [this] { withdrawal.answered(kBad, now); };
  pass_for(40s);
  facts = nullptr;
  EXPECT_GE(stay(), 45s);
}

TEST_F(WithdrawalTest, WellForLessThanTheBoundIsNotWell) {
  leave_and_return();
  facts = [this] { withdrawal.own_record(kBad, now); };
  pass_for(bound - 1s);
  refuse();
  stay();
  EXPECT_GE(pauses.back(), 4s);
}

TEST_F(WithdrawalTest, WhatItCouldNotLeadBeforeIsNoTimeInWhichItWasWell) {
  leave_and_return(6);
  EXPECT_GE(pauses.back(), 30s);
  others = 0;
  refuse();
  pass_for(10min);  // alone it stays
  facts = [this] { withdrawal.own_record(kBad, now); };
  pass();
  others = 2;
  refuse();
  stay();
  EXPECT_GE(pauses.back(), 60s);
}

TEST_F(WithdrawalTest, WhatWasRefusedBeforeIsNoneOfWhatIsGivenToItAnew) {
  for (const bool reads : {false, true}) {
    reads ? withdrawal.read_refused(kBad) : withdrawal.write_refused(kBad, now);
    withdrawal.revoked(*PartitionRanges::parse("1,3"));
    withdrawal.assigned(*PartitionRanges::parse("1,3"), now);
    pass_for(10min);
    EXPECT_EQ(left, 0);
  }
}

}  // namespace
}  // namespace neliroute
