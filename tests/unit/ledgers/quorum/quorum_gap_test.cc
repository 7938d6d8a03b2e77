// What a reader finds that is not the log it had read, and what it must not take for that.
#include <gtest/gtest.h>

#include <neliroute/clock.h>
#include <string>

#include "tests/eventually.h"
#include "tests/unit/ledgers/quorum/acknowledged.h"
#include "tests/unit/ledgers/quorum/pretended_quorum.h"

namespace neliroute {
namespace {

using namespace std::chrono_literals;

class QuorumGapTest : public testing::Test {
 protected:
  void read_three(bool watcher = false) {
    voters_.open_and_read(driver_, watcher);
    for (const std::uint64_t seq : {1U, 2U, 3U}) voters_.write_and_read(driver_, seq);
  }
  [[nodiscard]] GapReason gap() {
    EXPECT_TRUE(driver_.wait([](const Seen& seen) { return !seen.gaps.empty(); }));
    const auto gaps = driver_.seen().gaps;
    return gaps.empty() ? GapReason::restarted : gaps[0].reason;
  }
  [[nodiscard]] std::int64_t last_position() {
    return driver_.seen().received[0].back().offset;
  }
  void restart() {
    driver_.run([](Ledger& ledger) { ledger.restart_tail(Log{0}); });
  }

  PretendedQuorum voters_;
  LedgerDriver driver_;
};

TEST_F(QuorumGapTest, ALossOfWhatWasReadLast) {
  read_three();
  voters_.truncate(Log{0}, last_position());
  EXPECT_EQ(gap(), GapReason::truncated);
}

TEST_F(QuorumGapTest, OtherRecordsWhereSomeWereRead) {
  read_three();
  const std::int64_t last = last_position();
  voters_.change([&](PretendVoters::Script& script) { script.silent = true; });
  voters_.truncate(Log{0}, last - 1);
  for (int i = 0; i < 5; ++i) voters_.append(Log{0}, "other");
  voters_.change([&](PretendVoters::Script& script) { script.silent = false; });
  EXPECT_EQ(gap(), GapReason::truncated);
}

// Nobody but a copied disk makes such a log.
TEST_F(QuorumGapTest, AnotherRecordOfTheSameTermWhereOneWasRead) {
  read_three();
  voters_.change([](PretendVoters::Script& script) {
    script.logs[0].entries.back().what = "another";
  });
  voters_.lead(1);
  EXPECT_EQ(gap(), GapReason::truncated);
}

TEST_F(QuorumGapTest, AnotherLogAndItIsReadFromItsBeginning) {
  read_three();
  const int appends = voters_.look([](const auto& script) { return script.appends; });
  voters_.replace();
  driver_.write(Log{0}, 4);
  EXPECT_EQ(gap(), GapReason::replaced);
  driver_.write(Log{0}, 5);  // now it is connected to that other log
  EXPECT_TRUE(driver_.wait([](const Seen& seen) { return seen.failed.size() == 2; }))
      << "nothing is written to other logs than those that are read";
  EXPECT_EQ(voters_.look([](const auto& script) { return script.appends; }), appends);
  restart();
  ASSERT_TRUE(driver_.wait([](const Seen& seen) { return seen.started.size() == 2; }));
  EXPECT_EQ(driver_.seen().started[1].below, Below::nothing);
  voters_.write_and_read(driver_, 6);
}

TEST_F(QuorumGapTest, NothingIsWrittenBeforeItIsKnownWhichLogItIs) {
  read_three();
  const auto asks = [this] { return voters_.look([](const auto& script) { return script.asks; }); };
  const auto appends = [this] {
    return voters_.look([](const auto& script) { return script.appends; });
  };
  const int asked = asks();
  const int appended = appends();
  voters_.change([](PretendVoters::Script& script) { script.answers = false; });
  voters_.hang_up();
  ASSERT_TRUE(eventually([&] { return asks() > asked; })) << "which log it is";
  driver_.write(Log{0}, 4);
  ASSERT_TRUE(eventually([&] { return asks() > asked + 1; })) << "of the next leader";
  EXPECT_EQ(appends(), appended);
  voters_.change([](PretendVoters::Script& script) { script.answers = true; });
  ASSERT_TRUE(driver_.wait([](const Seen& seen) {
    return seen.acknowledged.size() + seen.failed.size() == 4;
  }));
  write_until_read(driver_, 10);
  EXPECT_TRUE(driver_.seen().gaps.empty());
}

TEST_F(QuorumGapTest, EntriesThatDoNotFollowThoseThatWereRead) {
  read_three();
  voters_.change([](PretendVoters::Script& script) { script.ahead = 1; });
  voters_.lead(1);
  EXPECT_EQ(gap(), GapReason::out_of_range);
  EXPECT_EQ(driver_.seen().received[0].size(), 3U);
}

TEST_F(QuorumGapTest, NoneWhereEntriesComeAgain) {
  read_three();
  for (const quorum::Index ahead : {-1, -2, -100}) {
    voters_.change([&](PretendVoters::Script& script) { script.ahead = ahead; });
    voters_.lead(1);
    write_until_read(driver_, static_cast<std::uint64_t>(100 - 20 * ahead));
  }
  const Seen seen = driver_.seen();
  EXPECT_TRUE(seen.gaps.empty());
  EXPECT_TRUE(seen.failed.empty());
  EXPECT_EQ(seen.received[0].size(), 6U);
  expect_acknowledged_once_and_read(seen);
}

TEST_F(QuorumGapTest, NoneWhereAnAnswerToAnotherQuestionComes) {
  voters_.change([](PretendVoters::Script& script) { script.strange = true; });
  read_three();
  voters_.lead(1);
  voters_.write_and_read(driver_, 4);
  EXPECT_TRUE(driver_.seen().gaps.empty());
  EXPECT_EQ(driver_.seen().started.size(), 1U);
}

TEST_F(QuorumGapTest, WhatWasNotReadAndIsNotKept) {
  read_three();
  voters_.change([](PretendVoters::Script& script) { script.silent = true; });
  voters_.hang_up();
  for (int i = 0; i < 5; ++i) voters_.append(Log{0}, "unread");
  voters_.expire(Log{0}, last_position() + 3);
  voters_.change([](PretendVoters::Script& script) { script.silent = false; });
  EXPECT_EQ(gap(), GapReason::out_of_range);
  restart();
  ASSERT_TRUE(driver_.wait([](const Seen& seen) { return seen.started.size() == 2; }));
  EXPECT_EQ(driver_.seen().started[1].below, Below::expired);
}

TEST_F(QuorumGapTest, NoneWhereTheLastRecordIsNotKept) {
  read_three();
  voters_.expire(Log{0}, last_position() + 1);
  voters_.lead(2);
  voters_.append(Log{0}, "other");
  EXPECT_TRUE(driver_.wait([](const Seen& seen) { return seen.received[0].size() == 4; }));
  EXPECT_TRUE(driver_.seen().gaps.empty());
}

TEST_F(QuorumGapTest, NoneWhereLeadersChange) {
  read_three();
  for (std::size_t turn = 1; turn <= 6; ++turn) {
    voters_.lead(turn % 3);
    voters_.write_and_read(driver_, 10 + turn);
  }
  EXPECT_TRUE(driver_.seen().gaps.empty());
  EXPECT_TRUE(driver_.seen().failed.empty());
  EXPECT_EQ(driver_.seen().started.size(), 1U);
  EXPECT_EQ(voters_.look([](const auto& script) { return script.nonsense; }), 0);
}

TEST_F(QuorumGapTest, NoneWhereALeaderHadNothingButItsBeginningToSay) {
  read_three();
  voters_.lead(1);
  voters_.lead(2);
  voters_.lead(0);
  voters_.write_and_read(driver_, 4);
  EXPECT_TRUE(driver_.seen().gaps.empty());
}

TEST_F(QuorumGapTest, ANewcomerReadsNoFurtherBackThanAnyLeaseReaches) {
  read_three();
  voters_.change([](PretendVoters::Script& script) {
    for (quorum::Entry& entry : script.logs[0].entries) entry.stamped -= 590s;
  });
  const BrokerTime now{std::chrono::duration_cast<milliseconds>(wall_now().time_since_epoch())};
  driver_.write(Log{0}, 4, 1s, now);
  ASSERT_TRUE(driver_.wait([](const Seen& seen) { return seen.received[0].size() == 4; }));
  LedgerDriver newcomer;
  voters_.open_and_read(newcomer);
  const TailStarted start = newcomer.seen().started.at(0);
  EXPECT_EQ(start.start, driver_.seen().received[0][2].offset)
      << "the newest that is old enough, and all after it";
  EXPECT_EQ(start.below, Below::older);
}

TEST_F(QuorumGapTest, OneThatHasOnlyEntriesOfLeadersIsEmpty) {
  voters_.lead(1);
  voters_.lead(2);
  voters_.open_and_read(driver_);
  const TailStarted start = driver_.seen().started.at(0);
  EXPECT_EQ(start.below, Below::nothing);
  EXPECT_EQ(start.start, start.end);
}

TEST_F(QuorumGapTest, ARecordOfAnyBytesIsReadAsItIs) {
  voters_.open_and_read(driver_);
  std::string odd = claim_text(1, 1s);
  odd.insert(odd.rfind('}'), ",\"note\":\"\xff\xfe\\u0000\xc3\xa4'\\\\\"");
  driver_.run([&](Ledger& ledger) { ledger.write({Log{0}, 1, odd}); });
  ASSERT_TRUE(driver_.wait([](const Seen& seen) { return seen.received[0].size() == 1; }));
  EXPECT_EQ(driver_.seen().received[0][0].seq, 1U);
  EXPECT_EQ(voters_.look([](const auto& script) {
    return std::get<std::string>(script.logs[0].entries.back().what);
  }), odd);
}

}  // namespace
}  // namespace neliroute
