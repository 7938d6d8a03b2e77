// What a client must never be told, and how much of it is taken at once.
#include <gtest/gtest.h>

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "tests/eventually.h"
#include "tests/unit/voter/served_rig.h"

namespace neliroute {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;

/// What ends the channel, or what must not be said before.
struct Heard {
  bool appended = false;
  bool resigned = false;
};

Heard hear_to_the_end(VoterClient& client) {
  Heard heard;
  while (!heard.appended) {
    const auto said = client.hear();
    if (!said) break;
    heard.appended = std::holds_alternative<quorum::Appended>(*said);
    heard.resigned = heard.resigned || std::holds_alternative<quorum::Resigned>(*said);
  }
  return heard;
}

class Proposer final : public LogClient {
 public:
  void on_proposed(quorum::Index index) override { places.push_back(index); }
  void on_change() override {}
  std::vector<quorum::Index> places;
};

TEST(ClientSessionTest, aRecordThatIsNotCommittedIsNotSaidToBe) {
  ServedRig rig;
  const auto client = rig.client();
  rig.let_store(false);
  const quorum::Index place = rig.end();
  ASSERT_TRUE(client->say(quorum::AppendRecord{7, "x"}));
  ASSERT_TRUE(eventually([&] { return rig.end() == place + 1; }));
  EXPECT_EQ(rig.committed(), place);
  // Whatever it was told of its record comes before this answer.
  ASSERT_TRUE(client->say(quorum::Ask{1, 0, std::nullopt, 0}));
  for (;;) {
    const auto said = client->hear();
    ASSERT_TRUE(said);
    ASSERT_FALSE(std::holds_alternative<quorum::Appended>(*said));
    if (std::holds_alternative<quorum::Answer>(*said)) break;
  }
  rig.let_store(true);
  const auto appended = client->hear_one<quorum::Appended>();
  ASSERT_TRUE(appended);
  EXPECT_EQ(appended->number, 7U);
  EXPECT_EQ(appended->index, place);
}

// Where its record was another one is committed, by another leader.
TEST(ClientSessionTest, whoDoesNotLeadAnyMoreSaysThatAndNothingElse) {
  ServedRig rig;
  const auto client = rig.client();
  rig.let_store(false);
  const quorum::Index place = rig.end();
  ASSERT_TRUE(client->say(quorum::AppendRecord{7, "x"}));
  ASSERT_TRUE(eventually([&] { return rig.end() == place + 1; }));
  rig.depose(place);
  const Heard heard = hear_to_the_end(*client);
  EXPECT_TRUE(heard.resigned);
  EXPECT_FALSE(heard.appended);
  EXPECT_GT(rig.committed(), place);
}

// A client that reads nothing meanwhile is told nothing meanwhile.
TEST(ClientSessionTest, whoLeadsAgainDoesNotGoOnWithWhatItLedBefore) {
  ServedRig rig;
  const auto proposer = std::make_shared<Proposer>();
  constexpr std::size_t kCount = 40;
  const std::string large(kMiB / 2, 'r');  // more than sockets hold
  const quorum::Term term = rig.look([&](ServedLog& log) {
    for (std::size_t one = 0; one < kCount; ++one) {
      log.propose(proposer, log.voter().term(), large);
    }
    return log.voter().term();
  });
  ASSERT_TRUE(eventually([&] { return rig.committed() > static_cast<quorum::Index>(kCount); }));
  rig.let_store(false);
  const quorum::Index place = rig.end();
  const auto client = rig.client(16 << 10);
  ASSERT_TRUE(client->say(quorum::Follow{0}));
  ASSERT_TRUE(client->say(quorum::AppendRecord{7, "x"}));
  ASSERT_TRUE(eventually([&] { return rig.end() == place + 1; }));
  rig.depose(place);
  rig.let_store(true);
  ASSERT_TRUE(eventually([&] {
    return rig.look([&](ServedLog& log) { return log.leads() && log.voter().term() > term; });
  }));
  EXPECT_TRUE(eventually([&] { return rig.committed() > place + 1; }));
  // That it resigned it hears only if it was not dropped meanwhile.
  EXPECT_FALSE(hear_to_the_end(*client).appended);
}

TEST(ClientSessionTest, aRecordForAnEarlierTermIsNotProposed) {
  ServedRig rig;
  const auto proposer = std::make_shared<Proposer>();
  const quorum::Index place = rig.end();
  rig.depose(place);
  ASSERT_TRUE(eventually([&] { return rig.leads() && rig.committed() == place + 2; }));
  rig.look([&](ServedLog& log) {
    log.propose(proposer, log.voter().term() - 1, "one that was led before");
    log.propose(proposer, log.voter().term() - 2, "this one's, before");
    log.propose(proposer, log.voter().term(), "now");
  });
  ASSERT_TRUE(eventually([&] { return rig.committed() == rig.end() && rig.end() > place + 2; }));
  rig.look([&](ServedLog& log) {
    EXPECT_EQ(proposer->places, (std::vector<quorum::Index>{place + 2}));
    EXPECT_EQ(log.voter().entries().end(), place + 3);
    EXPECT_EQ(std::get<std::string>(log.voter().entries().at(place + 2).what), "now");
  });
}

TEST(ClientSessionTest, soManyRecordsOfAClientMayWait) {
  ServedRig rig;
  const auto client = rig.client();
  rig.let_store(false);
  constexpr std::uint64_t kCount = 1'500;
  for (std::uint64_t i = 0; i < kCount; ++i) {
    ASSERT_TRUE(client->say(quorum::AppendRecord{i, "x"}));
  }
  EXPECT_TRUE(eventually([&] { return rig.waiting_bytes() >= 1'024; }));
  EXPECT_EQ(rig.settled_waiting_bytes(), 1'024U);
  rig.let_store(true);
  for (std::uint64_t i = 0; i < kCount; ++i) {
    const auto appended = client->hear_one<quorum::Appended>();
    ASSERT_TRUE(appended);
    ASSERT_EQ(appended->number, i);
  }
  EXPECT_EQ(rig.waiting_bytes(), 0U);
}

TEST(ClientSessionTest, soManyBytesOfAClientMayWait) {
  ServedRig rig;
  const auto client = rig.client();
  rig.let_store(false);
  for (std::uint64_t i = 0; i < 8; ++i) {
    ASSERT_TRUE(client->say(quorum::AppendRecord{i, std::string(kMiB / 2, 'x')}));
  }
  ASSERT_TRUE(client->say(quorum::AppendRecord{8, "x"}));
  EXPECT_TRUE(eventually([&] { return rig.waiting_bytes() >= 4 * kMiB; }));
  EXPECT_EQ(rig.settled_waiting_bytes(), 4 * kMiB);
  // Others may go on.
  const auto other = rig.client();
  ASSERT_TRUE(other->say(quorum::AppendRecord{1, "y"}));
  EXPECT_TRUE(eventually([&] { return rig.waiting_bytes() == 4 * kMiB + 1; }));
}

TEST(ClientSessionTest, soManyBytesOfAllClientsMayWait) {
  ServedRig rig;
  rig.let_store(false);
  constexpr std::size_t kAll = 64 * kMiB;
  rig.look([](ServedLog& log) { log.waiting_bytes() += kAll; });
  const auto client = rig.client();
  ASSERT_TRUE(client->say(quorum::AppendRecord{1, "x"}));
  EXPECT_EQ(rig.settled_waiting_bytes(), kAll);
  rig.look([](ServedLog& log) { log.waiting_bytes() -= kAll; });
  EXPECT_TRUE(eventually([&] { return rig.waiting_bytes() == 1; }));
}

TEST(ClientSessionTest, soManyQuestionsOfAClientMayWait) {
  for (const std::uint64_t count : {63U, 64U}) {
    ServedRig rig(false);  // it cannot answer yet
    const auto client = rig.client();
    for (std::uint64_t i = 0; i < count; ++i) {
      ASSERT_TRUE(client->say(quorum::Ask{i, quorum::kNothing, std::nullopt, 1}));
    }
    ASSERT_TRUE(client->say(quorum::AppendRecord{7, "x"}));
    if (count < 64) {
      EXPECT_TRUE(eventually([&] { return rig.waiting_bytes() == 1; }));
    } else {
      EXPECT_EQ(rig.settled_waiting_bytes(), 0U) << "it comes after the questions";
    }
    rig.let_store(true);
    std::uint64_t answers = 0;
    for (bool appended = false; answers < count || !appended;) {
      const auto said = client->hear();
      ASSERT_TRUE(said);
      appended = appended || std::holds_alternative<quorum::Appended>(*said);
      const auto* answer = std::get_if<quorum::Answer>(&*said);
      if (answer == nullptr) continue;
      EXPECT_EQ(answer->number, answers++);
    }
  }
}

TEST(ClientSessionTest, whatWaitsGoesWithItsClient) {
  ServedRig rig;
  auto client = rig.client();
  rig.let_store(false);
  ASSERT_TRUE(client->say(quorum::AppendRecord{7, "record"}));
  ASSERT_TRUE(eventually([&] { return rig.waiting_bytes() == 6; }));
  client.reset();
  EXPECT_TRUE(eventually([&] { return rig.waiting_bytes() == 0; }));
}

}  // namespace
}  // namespace neliroute
