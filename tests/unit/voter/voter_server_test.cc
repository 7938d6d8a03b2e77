#include "voter/voter_server.h"

#include <gtest/gtest.h>

#include <set>
#include <string>
#include <vector>

#include "tests/unit/voter/server_rig.h"

namespace neliroute {
namespace {

using Records = std::vector<std::string>;

TEST(VoterServerTest, oneVoterKeepsALog) {
  ServerRig rig(1);
  rig.start_all();
  EXPECT_TRUE(rig.append("a"));
  EXPECT_TRUE(rig.append("b"));
  EXPECT_EQ(rig.records(), (Records{"a", "b"}));
}

TEST(VoterServerTest, threeVotersElectALeaderAndStoreWhatItIsTold) {
  ServerRig rig(3);
  rig.start_all();
  const auto a = rig.append("a");
  const auto b = rig.append("b");
  ASSERT_TRUE(a && b);
  EXPECT_LT(*a, *b);
  EXPECT_EQ(rig.records(), (Records{"a", "b"}));
}

TEST(VoterServerTest, anotherOneLeadsWhenTheLeaderStops) {
  ServerRig rig(3);
  rig.start_all();
  EXPECT_TRUE(rig.append("a"));
  const int first = rig.leader();
  rig.stop(first);
  EXPECT_TRUE(rig.append("b"));
  EXPECT_NE(rig.leader(), first);
  EXPECT_EQ(rig.records(), (Records{"a", "b"}));
  rig.start(first);
  EXPECT_TRUE(rig.append("c"));
  EXPECT_EQ(rig.records(), (Records{"a", "b", "c"}));
}

TEST(VoterServerTest, theLogIsThereWhenAllStartAgain) {
  ServerRig rig(3);
  rig.start_all();
  for (int i = 0; i < 20; ++i) EXPECT_TRUE(rig.append(std::to_string(i)));
  for (int i = 0; i < rig.size(); ++i) rig.stop(i);
  rig.start_all();
  const Records records = rig.records();
  ASSERT_EQ(records.size(), 20U);
  EXPECT_EQ(records.back(), "19");
}

}  // namespace
}  // namespace neliroute
