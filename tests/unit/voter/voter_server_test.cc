#include "voter/voter_server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "tests/unit/ledgers/free_port.h"
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

TEST(VoterServerTest, whoLostItsDiskIsAdmittedAgainAndCounts) {
  ServerRig rig(3);
  rig.start_all();
  for (int i = 0; i < 200; ++i) EXPECT_TRUE(rig.append(std::to_string(i)));
  const int leader = rig.leader();
  const int lost = (leader + 1) % 3;
  rig.stop(lost);
  rig.wipe(lost);
  rig.start(lost);
  // It stores again when the third one is not needed for a majority.
  const std::string all = rig.address(0) + ", " + rig.address(1) + ", " + rig.address(2);
  ASSERT_TRUE(ServerRig::wait([&] {
    std::vector<std::string> kept_by;
    for (const std::string& said : rig.notices(lost)) {
      if (said.find(" is kept by ") != std::string::npos) kept_by.push_back(said);
    }
    // Of its first life: all; then those before, which it read in the log.
    return kept_by.size() >= 3 && kept_by.back().ends_with("is kept by " + all);
  })) << "it was not admitted";
  rig.stop(3 - leader - lost);
  EXPECT_TRUE(rig.append("after"));
  const Records records = rig.records();
  ASSERT_EQ(records.size(), 201U);
  EXPECT_EQ(records.back(), "after");
}

TEST(VoterServerTest, anotherVoterTakesThePlaceOfOneWhenAllAreToldAndStartedAgain) {
  std::set<std::string> told;
  ServerRig rig(4, [&told](VoterServerOptions& options) {
    const std::size_t other = told.contains(options.address) ? 2 : 3;
    options.voters.erase(options.voters.begin() + static_cast<std::ptrdiff_t>(other));
  });
  for (int i = 0; i < 3; ++i) rig.start(i);
  EXPECT_TRUE(rig.append("before"));
  const std::string wanted = rig.address(0) + ", " + rig.address(1) + ", " + rig.address(3);
  const std::string said = rig.address(3) + " was told of other voters";
  for (const int i : {3, 1, 0}) {
    told.insert(rig.address(i));
    rig.stop(i);
    rig.start(i);
    EXPECT_TRUE(ServerRig::wait([&] { return i != 3 || rig.has_notice(0, said); }));
    EXPECT_TRUE(rig.append("meanwhile"));
  }
  rig.stop(2);
  EXPECT_TRUE(ServerRig::wait([&] { return rig.has_notice(3, "is kept by " + wanted); }));
  rig.stop(0);
  EXPECT_TRUE(rig.append("after"));
}

TEST(VoterServerTest, theLeadersOfLogsAreSpread) {
  std::set<int> leaders;
  // An election that a busy machine disturbed may end otherwise.
  for (int attempt = 0; attempt < 5 && leaders.size() < 3; ++attempt) {
    ServerRig rig(3, [](VoterServerOptions& options) {
      options.logs = 3;
      options.election = milliseconds(400);
    });
    rig.start_all();
    leaders.clear();
    for (std::uint32_t log = 0; log < 3; ++log) {
      EXPECT_TRUE(rig.append("of " + std::to_string(log), log));
      leaders.insert(rig.leader(log));
    }
    for (std::uint32_t log = 0; log < 3; ++log) {
      EXPECT_EQ(rig.records(log), (Records{"of " + std::to_string(log)}));
    }
  }
  EXPECT_EQ(leaders.size(), 3U);
}

TEST(VoterServerTest, theLeadersOfLogsAreSpreadAgainOnceAVoterIsBack) {
  ServerRig rig(3, [](VoterServerOptions& options) { options.logs = 3; });
  rig.start_all();
  /// Whether each of these leads so many logs.
  const auto led = [&](const std::set<int>& voters, std::ptrdiff_t each) {
    return std::ranges::all_of(voters, [&](int i) {
      return std::ranges::count_if(rig.statistics(i).logs, [](const LogStatistics& log) {
               return log.leads.load();
             }) >= each;
    });
  };
  EXPECT_TRUE(ServerRig::wait([&] { return led({0, 1, 2}, 1); }));
  for (std::uint32_t log = 0; log < 3; ++log) EXPECT_TRUE(rig.append("a", log));
  rig.stop(0);
  EXPECT_TRUE(ServerRig::wait([&] { return led({1}, 2) || led({2}, 2); }));
  rig.start(0);
  // Records are written all the while.
  std::size_t written = 0;
  EXPECT_TRUE(ServerRig::wait([&] {
    for (std::uint32_t log = 0; log < 3; ++log) EXPECT_TRUE(rig.append("b", log));
    ++written;
    return led({0, 1, 2}, 1);
  }));
  EXPECT_GT(written, 1U);
  for (std::uint32_t log = 0; log < 3; ++log) {
    Records records = rig.records(log);
    // What was not acknowledged when the leader changed was appended again.
    EXPECT_GE(records.size(), 1 + written);
    EXPECT_EQ(records.front(), "a");
  }
}

TEST(VoterServerTest, aMajorityIsNeeded) {
  ServerRig rig(3);
  rig.start_all();
  EXPECT_TRUE(rig.append("a"));
  const auto client = rig.client();
  const int leader = rig.leader();
  for (int i = 0; i < 3; ++i) {
    if (i != leader) rig.stop(i);
  }
  // It says so, and whoever comes later is told that nobody leads.
  EXPECT_TRUE(client->hear_one<quorum::Resigned>());
  EXPECT_TRUE(client->is_ended());
  const auto welcome = VoterClient(rig.port(leader)).greet("main");
  ASSERT_TRUE(welcome);
  EXPECT_FALSE(welcome->leads);
  EXPECT_EQ(welcome->leader, "");
  rig.start_all();
  EXPECT_TRUE(rig.append("b"));
  EXPECT_EQ(rig.records(), (Records{"a", "b"}));
}

TEST(VoterServerTest, aLeaderThatNobodyAnswersAnswersNobody) {
  ServerRig rig(3);
  rig.start_all();
  EXPECT_TRUE(rig.append("a"));
  const auto client = rig.client();
  const int leader = rig.leader();
  for (int i = 0; i < rig.size(); ++i) {
    if (i != leader) rig.stop(i);
  }
  ASSERT_TRUE(client->say(quorum::Ask{1, 0, std::nullopt, 1}));
  EXPECT_FALSE(client->hear_one<quorum::Answer>());
}

TEST(VoterServerTest, aFollowerSaysWhoLeads) {
  ServerRig rig(3);
  rig.start_all();
  const int leader = rig.leader();
  std::optional<quorum::Welcome> welcome;
  ASSERT_TRUE(ServerRig::wait([&] {
    VoterClient other(rig.port((leader + 1) % 3));
    welcome = other.greet("main");
    return welcome && !welcome->leader.empty();
  }));
  EXPECT_FALSE(welcome->leads);
  EXPECT_EQ(welcome->leader, rig.options(leader).address);
  EXPECT_EQ(welcome->logs, 1U);
  EXPECT_EQ(welcome->election, rig.options(0).election);
  EXPECT_EQ(welcome->kept, rig.options(0).kept);
}

TEST(VoterServerTest, oldEntriesAreDroppedButTheLast) {
  ServerRig rig(3, [](VoterServerOptions& options) { options.kept = milliseconds(500); });
  rig.start_all();
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(rig.append("old"));
  const auto last = rig.append("last");
  ASSERT_TRUE(last);
  std::optional<quorum::Answer> answer;
  EXPECT_TRUE(ServerRig::wait([&] {
    EXPECT_TRUE(rig.append("new"));
    answer = rig.ask({1, 0, std::nullopt, 64});
    return answer && answer->first > *last;
  }));
  EXPECT_EQ(answer->index, answer->first) << "what is next to what was asked for";
  EXPECT_TRUE(ServerRig::wait([&] {
    answer = rig.ask({2, 0, std::nullopt, 64});
    return answer && answer->first + 1 == answer->end;
  })) << "the last one stays";
  EXPECT_FALSE(answer->entries.empty());
  const auto client = rig.client();
  ASSERT_TRUE(client->say(quorum::Follow{0}));
  EXPECT_TRUE(client->is_ended());
}

TEST(VoterServerTest, whatCannotBeStartedSaysWhy) {
  ServerRig rig(1);
  rig.start_all();
  const auto refusal = [&](const ServerRig::Change& change) {
    VoterServerOptions options = rig.options(0);
    options.voters = {options.address = "127.0.0.1:1"};  // nobody may listen there
    options.folder += "-other";
    change(options);
    const auto started = VoterServer::start(options, {});
    return started ? std::string("it starts") : started.error().message();
  };
  using testing::HasSubstr;
  EXPECT_THAT(refusal([&](auto& o) { o = rig.options(0); }), HasSubstr("cannot listen at"));
  EXPECT_THAT(refusal([&](auto& o) {
                o.voters = {o.address = "127.0.0.1:" + std::to_string(free_port())};
                o.folder = rig.options(0).folder;
              }),
              HasSubstr("is used by another process"));
  EXPECT_THAT(refusal([](auto& o) { o.name = "a/b"; }), HasSubstr("is not a valid quorum name"));
  EXPECT_THAT(refusal([](auto& o) { o.name = "a\nb"; }), HasSubstr("is not a valid quorum name"));
  EXPECT_THAT(refusal([](auto& o) { o.address = "x:1"; }), HasSubstr("none of the quorum's"));
  EXPECT_THAT(refusal([](auto& o) { o.voters.push_back("x"); }), HasSubstr("expected HOST:PORT"));
  EXPECT_THAT(refusal([](auto& o) { o.voters.push_back(o.address); }), HasSubstr("twice"));
  EXPECT_THAT(refusal([](auto& o) { o.logs = 0; }), HasSubstr("`logs` is 0"));
  EXPECT_THAT(refusal([](auto& o) { o.election = milliseconds(1); }), HasSubstr("1 ms"));
  EXPECT_THAT(refusal([](auto& o) { o.kept = milliseconds(0); }), HasSubstr("kept"));
  EXPECT_THAT(refusal([](auto& o) { o.folder = ""; }), HasSubstr("needs a folder"));
  EXPECT_THAT(refusal([](auto& o) { o.tls = true; }), HasSubstr("needs a certificate"));
}

TEST(VoterServerTest, aFolderOfMoreLogsIsRefused) {
  std::uint32_t logs = 2;
  ServerRig rig(1, [&](VoterServerOptions& options) { options.logs = logs; });
  rig.start_all();
  EXPECT_TRUE(rig.append("a", 1));
  rig.stop(0);
  logs = 1;
  const auto started = VoterServer::start(rig.options(0), {});
  ASSERT_FALSE(started);
  EXPECT_EQ(started.error().code(), Errc::bad_option);
  EXPECT_THAT(started.error().message(), testing::HasSubstr("has more than 1 logs"));
}

}  // namespace
}  // namespace neliroute
