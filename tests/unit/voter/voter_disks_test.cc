// What a slow or a broken disk does to a voter, and to the others.
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <set>
#include <string>
#include <vector>

#include "tests/unit/voter/server_rig.h"
#include "voter/voter_server.h"

namespace neliroute {
namespace {

TEST(VoterDisksTest, aVoterWhoseDiskFailsEndsAndTheOthersGoOn) {
  ServerRig rig(3);
  rig.start_all();
  EXPECT_TRUE(rig.append("a"));
  const int broken = rig.leader();
  rig.break_disk(broken);
  EXPECT_TRUE(rig.append("b"));
  EXPECT_TRUE(rig.append("c"));
  EXPECT_TRUE(ServerRig::wait([&] { return rig.ended(broken) > 0; }));
  EXPECT_EQ(rig.ended(broken), 1) << "it is told once";
  EXPECT_TRUE(rig.has_notice(broken, "this voter has stopped"));
  EXPECT_FALSE(VoterClient(rig.port(broken)).is_connected());
  // What its leader had stored when it ended, but did not acknowledge, was appended again.
  auto records = rig.records();
  records.erase(std::unique(records.begin(), records.end()), records.end());
  EXPECT_EQ(records, (std::vector<std::string>{"a", "b", "c"}));
}

TEST(VoterDisksTest, nothingIsAcknowledgedThatTheLeaderAloneHasOnItsDisk) {
  ServerRig rig(3);
  rig.start_all();
  EXPECT_TRUE(rig.append("a"));
  const auto client = rig.client();
  const int leader = rig.leader();
  for (int i = 0; i < rig.size(); ++i) {
    if (i != leader) rig.break_disk(i);
  }
  ASSERT_TRUE(client->say(quorum::AppendRecord{1, "b"}));
  EXPECT_FALSE(client->hear_one<quorum::Appended>());
}

TEST(VoterDisksTest, aFollowersSlowDiskDelaysNothing) {
  ServerRig rig(3);
  rig.start_all();
  EXPECT_TRUE(rig.append("a"));
  const auto client = rig.client();
  const int leader = rig.leader();
  const int slow = (leader + 1) % 3;
  rig.slow_down(slow, milliseconds(1'000));
  const auto began = std::chrono::steady_clock::now();
  for (std::uint64_t i = 0; i < 20; ++i) {
    ASSERT_TRUE(client->say(quorum::AppendRecord{i, "r"}));
    const auto appended = client->hear_one<quorum::Appended>();
    ASSERT_TRUE(appended);
    EXPECT_EQ(appended->number, i);
  }
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds(8))
      << "each took as long as the slowest disk";
  EXPECT_TRUE(ServerRig::wait([&] { return rig.has_notice(slow, "longer than the election"); }));
  rig.slow_down(slow, milliseconds(0));
}

TEST(VoterDisksTest, anotherOneLeadsIfTheLeadersDiskIsSlow) {
  ServerRig rig(3);
  rig.start_all();
  EXPECT_TRUE(rig.append("a"));
  const int slow = rig.leader();
  rig.slow_down(slow, milliseconds(2'000));
  EXPECT_TRUE(rig.append("b"));
  EXPECT_TRUE(rig.append("c"));
  rig.slow_down(slow, milliseconds(0));
  const auto records = rig.records();
  EXPECT_EQ(std::set<std::string>(records.begin(), records.end()),
            (std::set<std::string>{"a", "b", "c"}));
}

}  // namespace
}  // namespace neliroute
