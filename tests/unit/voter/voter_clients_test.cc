// What a leader does for its clients, and how much of it.
#include <gtest/gtest.h>

#include <chrono>
#include <string>
#include <vector>

#include "tests/unit/voter/server_rig.h"
#include "voter/voter_server.h"

namespace neliroute {
namespace {

const std::string* record_in(const quorum::Entry& entry) {
  return std::get_if<std::string>(&entry.what);
}

TEST(VoterClientsTest, whatIsCommittedIsSentToWhoFollows) {
  ServerRig rig(3);
  rig.start_all();
  EXPECT_TRUE(rig.append("a"));
  const auto reader = rig.client();
  ASSERT_TRUE(reader->say(quorum::Follow{0}));
  std::vector<std::string> read;
  const auto read_to = [&](std::size_t count) {
    while (read.size() < count) {
      const auto entries = reader->hear_one<quorum::Entries>();
      ASSERT_TRUE(entries);
      for (const quorum::Entry& entry : entries->entries) {
        if (const auto* record = record_in(entry)) read.push_back(*record);
      }
    }
  };
  read_to(1);
  EXPECT_TRUE(rig.append("b"));
  EXPECT_TRUE(rig.append("c"));
  read_to(3);
  EXPECT_EQ(read, (std::vector<std::string>{"a", "b", "c"}));
}

TEST(VoterClientsTest, aLeaderSaysOftenThatItLeads) {
  ServerRig rig(1, [](VoterServerOptions& options) { options.election = milliseconds(400); });
  rig.start_all();
  const auto client = rig.client();
  const auto began = std::chrono::steady_clock::now();
  for (int i = 0; i < 8; ++i) EXPECT_TRUE(client->hear_one<quorum::Entries>());
  const auto took = std::chrono::steady_clock::now() - began;
  EXPECT_GT(took, milliseconds(300)) << "more often than needed";
  EXPECT_LT(took, milliseconds(2'000));
}

TEST(VoterClientsTest, manyRecordsAreAppendedInTheirOrder) {
  ServerRig rig(3);
  rig.start_all();
  const auto client = rig.client();
  constexpr std::uint64_t kCount = 3'000;  // more than may wait
  for (std::uint64_t i = 0; i < kCount; ++i) {
    ASSERT_TRUE(client->say(quorum::AppendRecord{i, std::to_string(i)}));
  }
  quorum::Index last = quorum::kNothing;
  for (std::uint64_t i = 0; i < kCount; ++i) {
    const auto appended = client->hear_one<quorum::Appended>();
    ASSERT_TRUE(appended);
    EXPECT_EQ(appended->number, i);
    EXPECT_GT(appended->index, last);
    last = appended->index;
  }
  const auto records = rig.records();
  ASSERT_EQ(records.size(), kCount);
  for (std::uint64_t i = 0; i < kCount; ++i) ASSERT_EQ(records[i], std::to_string(i));
}

TEST(VoterClientsTest, aLogThatIsFullStoresNoMoreUntilOldRecordsAreDropped) {
  constexpr std::size_t kMost = 100'000;
  ServerRig rig(3, [](VoterServerOptions& options) {
    options.log_bytes_max = kMost;
    options.kept = milliseconds(2'000);
  });
  rig.start_all();
  const auto client = rig.client();
  const std::string record(10'000, 'x');
  std::uint64_t said = 0;
  const auto append = [&] {
    EXPECT_TRUE(client->say(quorum::AppendRecord{++said, record}));
    const auto appended = client->hear_one<quorum::Appended>();
    EXPECT_TRUE(appended);
    EXPECT_EQ(appended ? appended->number : 0, said);
    return appended ? appended->index : quorum::kNothing;
  };
  while (append() != quorum::kNothing && said < 20) {
  }
  EXPECT_EQ(said, kMost / record.size() + 1) << "the last that has room may be too large";
  EXPECT_TRUE(rig.has_notice(rig.leader(), "is full"));
  EXPECT_TRUE(rig.ask({1, quorum::kNothing, std::nullopt, 1})) << "it still answers";
  EXPECT_TRUE(ServerRig::wait([&] { return append() != quorum::kNothing; }));
}

TEST(VoterClientsTest, anAskIsAnsweredWithWhatItAsksFor) {
  ServerRig rig(3);
  rig.start_all();
  std::vector<quorum::Index> at;
  for (const char* record : {"a", "b", "c", "d"}) {
    at.push_back(rig.append(record).value_or(0));
  }
  const auto newest = rig.ask({5, quorum::kNothing, std::nullopt, 2});
  ASSERT_TRUE(newest);
  EXPECT_EQ(newest->number, 5U);
  EXPECT_NE(newest->log, quorum::LogId());
  EXPECT_EQ(newest->end, newest->index + 2);
  ASSERT_EQ(newest->entries.size(), 2U);
  const auto one = rig.ask({6, at[1], std::nullopt, 1});
  ASSERT_TRUE(one);
  EXPECT_EQ(one->index, at[1]);
  ASSERT_EQ(one->entries.size(), 1U);
  EXPECT_EQ(*record_in(one->entries[0]), "b");
  EXPECT_GE(one->term_before, 1U);
  const auto since = rig.ask({7, quorum::kNothing, one->entries[0].stamped, 1});
  ASSERT_TRUE(since);
  EXPECT_LE(since->index, at[1]);
  EXPECT_EQ(since->entries.at(0).stamped, one->entries[0].stamped);
  const auto none = rig.ask({8, quorum::kNothing, BrokerTime(milliseconds(1LL << 50)), 1});
  ASSERT_TRUE(none);
  EXPECT_EQ(none->index, none->end);
  EXPECT_TRUE(none->entries.empty());
}

TEST(VoterClientsTest, moreAsksThanMayWaitAreAnswered) {
  ServerRig rig(3);
  rig.start_all();
  EXPECT_TRUE(rig.append("a"));
  const auto client = rig.client();
  for (std::uint64_t i = 0; i < 200; ++i) {
    ASSERT_TRUE(client->say(quorum::Ask{i, quorum::kNothing, std::nullopt, 1}));
  }
  for (std::uint64_t i = 0; i < 200; ++i) {
    const auto answer = client->hear_one<quorum::Answer>();
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->number, i);
  }
}

TEST(VoterClientsTest, whoReadsNothingIsDroppedAndOthersGoOn) {
  ServerRig rig(3);
  rig.start_all();
  const std::string large(std::size_t{512} << 10, 'r');
  for (int i = 0; i < 40; ++i) EXPECT_TRUE(rig.append(large));
  VoterClient deaf(rig.port(rig.leader()), {}, 16 << 10);
  ASSERT_TRUE(deaf.greet("main"));
  ASSERT_TRUE(deaf.say(quorum::Follow{0}));
  const int leader = rig.leader();
  EXPECT_TRUE(ServerRig::wait([&] {
    EXPECT_TRUE(rig.append("small"));
    return rig.has_notice(leader, "did not take a message");
  }));
  EXPECT_TRUE(deaf.is_ended());
}

TEST(VoterClientsTest, soManyClientsAreServed) {
  ServerRig rig(1, [](VoterServerOptions& options) { options.clients_max = 2; });
  rig.start_all();
  ASSERT_EQ(rig.leader(), 0);
  VoterClient one(rig.port(0));
  VoterClient two(rig.port(0));
  ASSERT_TRUE(one.greet("main"));
  ASSERT_TRUE(two.greet("main"));
  VoterClient three(rig.port(0));
  ASSERT_TRUE(three.say(quorum::Hello{"main", false, 0}));
  const auto refused = three.hear_one<quorum::Refused>();
  ASSERT_TRUE(refused);
  EXPECT_NE(refused->why.find("2 clients"), std::string::npos) << refused->why;
  EXPECT_TRUE(three.is_ended());
}

TEST(VoterClientsTest, aClientOfAnotherQuorumOrLogIsRefused) {
  ServerRig rig(1);
  rig.start_all();
  const auto why = [&](const quorum::Hello& hello) {
    VoterClient client(rig.port(0));
    EXPECT_TRUE(client.say(hello));
    const auto refused = client.hear_one<quorum::Refused>();
    return refused ? refused->why : "nothing";
  };
  EXPECT_EQ(why({"other", false, 0}), "this is a voter of the quorum `main`, not of `other`");
  EXPECT_EQ(why({"other", true, 0, milliseconds(200), milliseconds(1'200'000)}),
            "this is a voter of the quorum `main`, not of `other`");
  EXPECT_EQ(why({"main", false, 1}), "there are 1 logs, and none has the number 1");
}

TEST(VoterClientsTest, whatNoClientSaysEndsTheChannel) {
  ServerRig rig(1);
  rig.start_all();
  ASSERT_EQ(rig.leader(), 0);
  const auto ends = [&](const std::string& bytes) {
    VoterClient client(rig.port(0));
    EXPECT_TRUE(client.greet("main"));
    EXPECT_TRUE(client.say_bytes(bytes));
    return client.is_ended();
  };
  EXPECT_TRUE(ends("garbage"));
  EXPECT_TRUE(ends(""));
  EXPECT_TRUE(ends(quorum::encode(quorum::ToVoter(quorum::Hello{"main", false, 0}))));
  EXPECT_TRUE(ends(quorum::encode(quorum::ToClient(quorum::Resigned{}))));
  VoterClient twice(rig.port(0));
  ASSERT_TRUE(twice.greet("main"));
  ASSERT_TRUE(twice.say(quorum::Follow{0}));
  ASSERT_TRUE(twice.say(quorum::Follow{0}));
  EXPECT_TRUE(twice.is_ended());
  EXPECT_TRUE(rig.append("others go on"));
}

}  // namespace
}  // namespace neliroute
