// What a process asks of a quorum at start, and for an audit.
#include "ledgers/quorum/prepared_quorum.h"

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <neliroute/clock.h>
#include <string>
#include <vector>

#include "ledgers/quorum/quorum_talk.h"
#include "tests/unit/ledgers/quorum/pretended_quorum.h"
#include "tests/unit/ledgers/sick_server.h"

namespace neliroute {
namespace {

using namespace std::chrono_literals;
using Script = PretendVoters::Script;

std::string claim_of(std::uint64_t seq, std::uint32_t partitions) {
  Record record = std::get<Record>(decode_record(claim_text(seq, 1s)));
  record.settings = Settings{"g", 1024, partitions, 1, "murmur2", "exclusive"};
  return encode_record(record);
}

class PreparedQuorumTest : public testing::Test {
 protected:
  [[nodiscard]] Result<std::unique_ptr<PreparedStore>> prepare(const LedgerNeeds& needs = {}) {
    return prepare_quorum(
        connection_, needs, [this](const Notice& notice) { notices_.push_back(notice.text); },
        [this](const LedgerFacts&) -> Result<void> {
          ++created_;
          return {};
        });
  }
  [[nodiscard]] Error why_not(const LedgerNeeds& needs = {}) {
    auto prepared = prepare(needs);
    EXPECT_FALSE(prepared);
    return prepared ? Error{Errc::bad_option, ""} : prepared.error();
  }
  [[nodiscard]] static Timing timing() {
    Timing timing;
    timing.interval = 1s;
    timing.lease = 10s;
    return timing;
  }

  PretendVoters voters_{3};
  QuorumConnection connection_ = voters_.connection();
  std::vector<std::string> notices_;
  int created_ = 0;
};

TEST_F(PreparedQuorumTest, KnowsTheLogsFromTheVoters) {
  const auto prepared = prepare();
  ASSERT_TRUE(prepared) << prepared.error().message();
  EXPECT_EQ((*prepared)->facts().logs, 3U);
  EXPECT_EQ((*prepared)->facts().partitions, kPartitionsDefault);
  EXPECT_TRUE((*prepared)->facts().believe_broker_time);
  EXPECT_EQ(created_, 1) << "nobody has written yet";
  EXPECT_TRUE(notices_.empty());
  LedgerNeeds needs;
  needs.logs = 2;
  EXPECT_EQ(why_not(needs).code(), Errc::bad_option);
  EXPECT_NE(why_not(needs).message().find("`logs` 2, but quorum://pretended has 3"),
            std::string::npos);
}

TEST_F(PreparedQuorumTest, KnowsThePartitionsFromTheNewestRecords) {
  voters_.append(Log{0}, claim_of(1, 32));
  voters_.append(Log{0}, "no record");
  voters_.append(Log{0}, claim_of(2, 48));
  const auto prepared = prepare();
  ASSERT_TRUE(prepared) << prepared.error().message();
  EXPECT_EQ((*prepared)->facts().partitions, 48U);
  EXPECT_EQ(created_, 0);
  LedgerNeeds needs;
  needs.partitions = 7;
  EXPECT_EQ((*prepare(needs))->facts().partitions, 7U);
}

TEST_F(PreparedQuorumTest, WaitsForALeaderAndSaysSo) {
  voters_.lead(std::nullopt);
  connection_.timeout = 20s;
  auto prepared = std::async(std::launch::async, [this] { return prepare(); });
  EXPECT_EQ(prepared.wait_for(300ms), std::future_status::timeout);
  voters_.lead(1);
  EXPECT_TRUE(prepared.get());
  ASSERT_EQ(notices_.size(), 1U);
  EXPECT_NE(notices_[0].find("no voter leads yet (" + connection_.voters[0] +
                             ": it knows no leader; "),
            std::string::npos)
      << notices_[0];
}

TEST_F(PreparedQuorumTest, WhereNobodyAnswersEachVoterIsNamed) {
  SickServer silent({"silent", ""});
  connection_.voters = {"127.0.0.1:" + silent.port(), "127.0.0.1:1", "nosuch.invalid:7100"};
  const Error why = why_not();
  EXPECT_EQ(why.code(), Errc::ledger_unreachable);
  for (const std::string& voter : connection_.voters) {
    EXPECT_NE(why.message().find(voter + ": "), std::string::npos) << why.message();
  }
  EXPECT_NE(why.message().find("Connection refused"), std::string::npos) << why.message();
}

TEST_F(PreparedQuorumTest, SaysWhyItIsRefused) {
  connection_.name = "other";
  EXPECT_NE(why_not().message().find("it is of pretended, not of other"), std::string::npos);
}

TEST_F(PreparedQuorumTest, SaysThatKeysDiffer) {
  voters_.change([](Script& script) { script.key = "0123456789abcdef"; });
  const std::string none = why_not().message();
  EXPECT_NE(none.find("key"), std::string::npos) << none;
  connection_.key = "fedcba9876543210";
  const std::string other = why_not().message();
  EXPECT_NE(other.find("key"), std::string::npos) << other;
  connection_.key = "0123456789abcdef";
  EXPECT_TRUE(prepare());
}

TEST_F(PreparedQuorumTest, RefusesVotersThatForgetTooSoon) {
  const auto fits = (*prepare())->check(timing());
  ASSERT_TRUE(fits) << fits.error().message();
  EXPECT_TRUE(fits->empty());
  voters_.change([](Script& script) { script.kept = 599s; });
  const auto prepared = prepare();
  const auto unfit = (*prepared)->check(timing());
  ASSERT_FALSE(unfit);
  EXPECT_EQ(unfit.error().code(), Errc::ledger_unfit);
  EXPECT_NE(unfit.error().message().find("keep records for 599000 ms, and 600000 ms are needed"),
            std::string::npos)
      << unfit.error().message();
}

TEST_F(PreparedQuorumTest, WarnsOfVotersThatElectSlowly) {
  voters_.change([](Script& script) { script.election = 3s; });
  const auto notices = (*prepare())->check(timing());
  ASSERT_TRUE(notices);
  ASSERT_EQ(notices->size(), 1U);
  EXPECT_NE(notices->at(0).text.find("election timeout of its voters, 3000 ms"),
            std::string::npos);
}

class ReadQuorumTest : public PreparedQuorumTest {
 protected:
  [[nodiscard]] std::vector<LogRead> read(std::optional<BrokerTime> since = std::nullopt) {
    read_.clear();
    const auto logs = read_quorum(connection_, since, [this](const Received& record) {
      const auto* value = std::get_if<Record>(record.value);
      read_.push_back(value == nullptr ? 0 : value->seq);
    });
    EXPECT_TRUE(logs) << (logs ? "" : logs.error().message());
    return logs ? *logs : std::vector<LogRead>{};
  }
  std::vector<std::uint64_t> read_;
};

TEST_F(ReadQuorumTest, ReadsAllThatIsKept) {
  EXPECT_TRUE(read().empty()) << "logs that never had a record";
  std::vector<std::uint64_t> all;
  for (std::uint64_t seq = 1; seq <= 200; ++seq) {
    voters_.append(Log{1}, claim_of(seq, 8));
    all.push_back(seq);
  }
  const auto logs = read();
  ASSERT_EQ(logs.size(), 1U);
  EXPECT_EQ(logs[0].log, Log{1});
  EXPECT_EQ(logs[0].start, 1) << "below is what its leader began with";
  EXPECT_EQ(logs[0].end, 201);
  EXPECT_FALSE(logs[0].cut_short);
  EXPECT_EQ(read_, all);
}

TEST_F(ReadQuorumTest, SaysWhereItIsCutShort) {
  for (std::uint64_t seq = 1; seq <= 9; ++seq) voters_.append(Log{0}, claim_of(seq, 8));
  voters_.change([](Script& script) {
    for (std::size_t one = 0; one < 5; ++one) script.logs[0].entries[one].stamped -= 60s;
  });
  const BrokerTime since = BrokerTime{std::chrono::duration_cast<milliseconds>(
      (wall_now() - 30s).time_since_epoch())};
  auto logs = read(since);
  ASSERT_EQ(logs.size(), 1U);
  EXPECT_EQ(logs[0].start, 5);
  EXPECT_FALSE(logs[0].cut_short);
  EXPECT_EQ(read_, (std::vector<std::uint64_t>{5, 6, 7, 8, 9}));
  voters_.expire(Log{0}, 7);
  logs = read(since);
  EXPECT_EQ(logs[0].low, 7);
  EXPECT_TRUE(logs[0].cut_short);
  EXPECT_EQ(read_, (std::vector<std::uint64_t>{7, 8, 9}));
}

TEST_F(ReadQuorumTest, AnswersToOtherQuestionsAreNotTaken) {
  voters_.change([](Script& script) { script.strange = true; });
  const auto prepared = prepare();
  ASSERT_TRUE(prepared) << prepared.error().message();
  for (std::uint64_t seq = 1; seq <= 3; ++seq) voters_.append(Log{0}, claim_of(seq, 8));
  const auto logs = read();
  ASSERT_EQ(logs.size(), 1U);
  EXPECT_FALSE(logs[0].cut_short);
  EXPECT_EQ(read_, (std::vector<std::uint64_t>{1, 2, 3}));
}

TEST_F(ReadQuorumTest, EntriesThatComeAgainAreReadOnce) {
  for (std::uint64_t seq = 1; seq <= 9; ++seq) voters_.append(Log{0}, claim_of(seq, 8));
  voters_.expire(Log{0}, 4);
  QuorumTalk talk(connection_, nullptr, Log{0});
  const auto seen = talk.ask(quorum::Ask{});
  ASSERT_TRUE(seen);
  voters_.change([](Script& script) { script.ahead = -2; });
  std::vector<quorum::Index> taken;
  const auto whole = talk.read(seen->log, 6, seen->end,
                               [&](quorum::Index index, quorum::Entry& entry) {
                                 taken.push_back(index);
                                 EXPECT_EQ(std::get<std::string>(entry.what),
                                           claim_of(static_cast<std::uint64_t>(index), 8));
                               });
  ASSERT_TRUE(whole);
  EXPECT_TRUE(*whole);
  EXPECT_EQ(taken, (std::vector<quorum::Index>{6, 7, 8, 9}));
}

TEST_F(ReadQuorumTest, IsNotWholeWhereEntriesAreMissingOrOfAnotherLog) {
  for (std::uint64_t seq = 1; seq <= 9; ++seq) voters_.append(Log{0}, claim_of(seq, 8));
  QuorumTalk talk(connection_, nullptr, Log{0});
  const auto seen = talk.ask(quorum::Ask{});
  ASSERT_TRUE(seen);
  int taken = 0;
  const auto is_whole = [&](quorum::LogId log, quorum::Index from, quorum::Index end) {
    taken = 0;
    const auto whole = talk.read(log, from, end, [&](quorum::Index, quorum::Entry&) { ++taken; });
    EXPECT_TRUE(whole);
    return whole && *whole;
  };
  EXPECT_TRUE(is_whole(seen->log, 0, seen->end));
  EXPECT_EQ(taken, 10);
  EXPECT_TRUE(is_whole(seen->log, 3, seen->end - 2)) << "what is above was not asked for";
  EXPECT_EQ(taken, 5);
  EXPECT_FALSE(is_whole(quorum::LogId(seen->log.value() + 1), 0, seen->end));
  EXPECT_FALSE(is_whole(seen->log, 0, seen->end + 1));
  EXPECT_EQ(taken, 0);
  voters_.change([](Script& script) { script.ahead = 1; });
  EXPECT_FALSE(is_whole(seen->log, 3, seen->end)) << "the first of them never comes";
  EXPECT_EQ(taken, 0);
  voters_.change([](Script& script) { script.ahead = 0; });
  voters_.expire(Log{0}, 4);
  EXPECT_FALSE(is_whole(seen->log, 3, seen->end));
  EXPECT_EQ(taken, 0);
}

}  // namespace
}  // namespace neliroute
