// What voters say of themselves to their operators.
#include "voter/statistics/voter_statistics.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <neliroute/clock.h>
#include <numeric>

#include "tests/unit/voter/server_rig.h"

namespace neliroute {
namespace {

using testing::HasSubstr;

std::uint64_t count_of(const Histogram& histogram) {
  const auto counts = histogram.read().counts;
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

TEST(VoterStatisticsTest, aLeaderAndItsFollowersSayWhatTheyDo) {
  ServerRig rig(3, [](VoterServerOptions& options) { options.logs = 2; });
  rig.start_all();
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(rig.append("a", 1));
  const auto at = [&](int i) -> const LogStatistics& { return rig.statistics(i).logs[1]; };
  const auto leaders = [&] {
    return std::ranges::count_if(std::vector{0, 1, 2}, [&](int i) { return at(i).leads.load(); });
  };
  // The voters of the log, and five records at least.
  EXPECT_TRUE(ServerRig::wait([&] {
    bool same = leaders() == 1;
    for (int i = 0; i < 3; ++i) {
      same = same && at(i).is_led && at(i).counts && at(i).committed >= 6 &&
             at(i).term == at(0).term && rig.statistics(i).peers == 2U;
    }
    return same;
  }));
  for (int i = 0; i < 3; ++i) {
    EXPECT_GE(at(i).end, at(i).committed);
    EXPECT_GT(at(i).disk_bytes, 0U);
    EXPECT_GE(at(i).leaders, 1U);
    EXPECT_GE(count_of(rig.statistics(i).stores), 2U);
    EXPECT_EQ(lacks(rig.statistics(i)), "");
    EXPECT_EQ(trouble_of(rig.statistics(i), boot_now()), "");
    EXPECT_EQ(rig.statistics(i).address, rig.address(i));
  }
  const auto client = rig.client(1);
  EXPECT_TRUE(ServerRig::wait([&] { return rig.statistics(rig.leader(1)).clients >= 1U; }));
}

TEST(VoterStatisticsTest, aLeaderCountsWhoDoesNotAnswer) {
  ServerRig rig(3);
  rig.start_all();
  EXPECT_TRUE(rig.append("a"));
  const int leader = rig.leader();
  const auto has = [&](std::size_t overdue, std::size_t peers) {
    const VoterStatistics& now = rig.statistics(leader);
    return now.logs[0].overdue == overdue && now.peers == peers;
  };
  EXPECT_TRUE(ServerRig::wait([&] { return has(0, 2); }));
  const int lost = (leader + 1) % 3;
  rig.stop(lost);
  EXPECT_TRUE(ServerRig::wait([&] { return has(1, 1); }));
  rig.start(lost);
  EXPECT_TRUE(ServerRig::wait([&] { return has(0, 2); }));
}

TEST(VoterStatisticsTest, aVoterAloneIsNotReady) {
  ServerRig rig(3, [](VoterServerOptions& options) { options.logs = 2; });
  rig.start(0);
  EXPECT_THAT(lacks(rig.statistics(0)), HasSubstr("knows no leader of log 0 and 1 more"));
  rig.start(1);
  rig.start(2);
  EXPECT_TRUE(ServerRig::wait([&] { return lacks(rig.statistics(0)).empty(); }));
  rig.stop(1);
  rig.stop(2);
  EXPECT_TRUE(ServerRig::wait([&] { return !lacks(rig.statistics(0)).empty(); }));
  EXPECT_TRUE(ServerRig::wait([&] { return !rig.statistics(0).logs[0].leads; }));
}

TEST(VoterStatisticsTest, aVoterWhoseVoteDoesNotCountIsNotReady) {
  VoterStatistics voter("h:1", "main", milliseconds(300), 3);
  for (LogStatistics& log : voter.logs) log.is_led = log.counts = true;
  EXPECT_EQ(lacks(voter), "");
  voter.logs[1].counts = voter.logs[2].counts = false;
  EXPECT_THAT(lacks(voter), HasSubstr("vote does not count in the election of the leader of log 1 "
                                      "and 1 more"));
  voter.logs[2].is_led = false;
  EXPECT_THAT(lacks(voter), HasSubstr("knows no leader of log 2"));
}

TEST(VoterStatisticsTest, aVoterWhoseDiskFailedSaysThatItStopped) {
  ServerRig rig(1);
  rig.start_all();
  EXPECT_TRUE(rig.append("a"));
  EXPECT_TRUE(rig.statistics(0).logs[0].leads);
  rig.break_disk(0);
  const auto client = rig.client();
  ASSERT_TRUE(client->say(quorum::AppendRecord{1, "b"}));
  EXPECT_TRUE(ServerRig::wait([&] { return rig.ended(0) > 0; }));
  EXPECT_THAT(lacks(rig.statistics(0)), HasSubstr("has stopped"));
  EXPECT_THAT(trouble_of(rig.statistics(0), boot_now()), HasSubstr("has stopped"));
  EXPECT_FALSE(rig.statistics(0).logs[0].leads);
  EXPECT_FALSE(rig.statistics(0).logs[0].is_led);
}

TEST(VoterStatisticsTest, aVoterThatDoesNothingHangs) {
  VoterStatistics voter("a:1", "shop", milliseconds(300), 1);
  const LocalTime now = boot_now();
  voter.worked_at = now;
  EXPECT_EQ(trouble_of(voter, now + std::chrono::seconds(30)), "");
  EXPECT_THAT(trouble_of(voter, now + std::chrono::seconds(31)), HasSubstr("nothing for 31 s"));
}

// What is on disk is dropped by whole files.
TEST(VoterStatisticsTest, aStartCountsWhatIsOnDisk) {
  ServerRig rig(1);
  rig.start_all();
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(rig.append(std::string(100'000, 'x')));
  const auto bytes = [&] { return rig.statistics(0).logs[0].disk_bytes.load(); };
  EXPECT_TRUE(ServerRig::wait([&] { return bytes() >= 500'000U; }));
  rig.stop(0);
  rig.start(0);
  EXPECT_GE(bytes(), 500'000U);
  EXPECT_LT(bytes(), 10'000'000U);
}

}  // namespace
}  // namespace neliroute
