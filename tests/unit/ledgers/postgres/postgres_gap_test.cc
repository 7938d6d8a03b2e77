// What a reader finds that is not the log it had read, and what it must not take for that.
#include <gtest/gtest.h>

#include <neliroute/clock.h>
#include <string>

#include "tests/unit/ledgers/postgres/postgres_topic.h"

namespace neliroute {
namespace {

using namespace std::chrono_literals;

class PostgresGapTest : public testing::Test {
 protected:
  void read_three(bool watcher = false) {
    PostgresLedgerOptions options = PostgresTopic::options();
    options.watcher = watcher;
    topic_.open_and_read(driver_, options);
    for (const std::uint64_t seq : {1U, 2U, 3U}) PostgresTopic::write_and_read(driver_, seq);
  }
  [[nodiscard]] GapReason gap() {
    EXPECT_TRUE(driver_.wait([](const Seen& seen) { return !seen.gaps.empty(); }));
    const auto gaps = driver_.seen().gaps;
    return gaps.empty() ? GapReason::restarted : gaps[0].reason;
  }
  /// As a failover does that loses the last record: whoever connects again sees what came after it.
  void fail_over(const std::string& values) {
    topic_.server().query(
        "BEGIN; LOCK TABLE neliroute.log; SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE application_name = 'neliroute'; DELETE FROM neliroute.record" +
        topic_.where(Log{0}) + " AND position = 2; UPDATE neliroute.log SET next = 2" +
        topic_.where(Log{0}) + "; SELECT neliroute.append(topic, log, id, 1, 1000, " + values +
        ", false) FROM neliroute.log" + topic_.where(Log{0}) + "; COMMIT");
  }

  PostgresTopic topic_;
  LedgerDriver driver_;
};

TEST_F(PostgresGapTest, ALossOfWhatWasReadLast) {
  read_three();
  topic_.server().query("DELETE FROM neliroute.record" + topic_.where(Log{0}) +
                        " AND position = 2; UPDATE neliroute.log SET next = 2" +
                        topic_.where(Log{0}));
  EXPECT_EQ(gap(), GapReason::truncated);
}

TEST_F(PostgresGapTest, AnotherRecordWhereOneWasReadAfterAFailover) {
  read_three();
  fail_over("ARRAY['a'::bytea, 'b'::bytea, 'c'::bytea]");
  EXPECT_EQ(gap(), GapReason::truncated);
}

TEST_F(PostgresGapTest, ACrashWithoutALossIsNone) {
  read_three();
  for (std::uint64_t turn = 0; turn < 2; ++turn) {
    topic_.server().kill_and_start();
    PostgresTopic::write_until_read(driver_, 10 * (turn + 1));
  }
  EXPECT_TRUE(driver_.seen().gaps.empty());
  EXPECT_EQ(driver_.seen().started.size(), 1U);
}

TEST_F(PostgresGapTest, MadeAnew) {
  read_three();
  topic_.remove_logs();
  topic_.make_logs();
  driver_.write(Log{0}, 4);
  EXPECT_EQ(gap(), GapReason::replaced);
  EXPECT_TRUE(driver_.wait([](const Seen& seen) { return seen.failed.size() == 1; }))
      << "nothing is written to other logs than those that are read";
  EXPECT_EQ(topic_.server().query("SELECT next FROM neliroute.log" + topic_.where())[0][0], "0");
}

TEST_F(PostgresGapTest, Gone) {
  read_three();
  topic_.remove_logs();
  EXPECT_EQ(gap(), GapReason::missing);
  driver_.run([](Ledger& ledger) { ledger.restart_tail(Log{0}); });
  EXPECT_TRUE(driver_.wait([](const Seen& seen) {
    return !seen.notices.empty() &&
           seen.notices.back().text.find("the logs of the topic are gone") != std::string::npos;
  }));
  topic_.make_logs();
  EXPECT_TRUE(driver_.wait([](const Seen& seen) {
    return seen.started.size() == 2 && seen.started.back().below == Below::nothing;
  }));
}

TEST_F(PostgresGapTest, WhatWasNotReadAndIsNotKept) {
  read_three();
  topic_.server().query(
      "BEGIN; UPDATE neliroute.log SET next = 9, low = 9" + topic_.where(Log{0}) +
      "; DELETE FROM neliroute.record" + topic_.where() + "; COMMIT");
  EXPECT_EQ(gap(), GapReason::out_of_range);
}

TEST_F(PostgresGapTest, NoneWhereTheLastRecordIsNotKept) {
  read_three(/*watcher=*/true);
  topic_.server().query("BEGIN; UPDATE neliroute.log SET low = 3" + topic_.where(Log{0}) +
                        "; DELETE FROM neliroute.record" + topic_.where() + "; COMMIT");
  topic_.server().kill_and_start();
  topic_.append("ARRAY['other'::bytea]");
  EXPECT_TRUE(driver_.wait([](const Seen& seen) { return seen.received[0].size() == 4; }));
  EXPECT_TRUE(driver_.seen().gaps.empty());
}

TEST_F(PostgresGapTest, NoneWhereSomebodyNotifiesNonsense) {
  read_three();
  const auto channel =
      topic_.server().query("SELECT 'neliroute_' || replace(id::text, '-', '') FROM neliroute.log" +
                            topic_.where());
  for (const char* text : {"", "x", "0", "0 1", "0 1 x y", "7 3 1 x", "-1 3 1 x", "0 -3 1 x",
                           "0 99 1 x", "0 1 1 x", "99999999999999999999 1 1 x",
                           "0 99999999999999999999 1 x"}) {
    topic_.server().query("SELECT pg_notify('" + channel[0][0] + "', '" + text + "')");
  }
  PostgresTopic::write_and_read(driver_, 4);
  EXPECT_EQ(driver_.seen().received[0].size(), 4U);
  EXPECT_TRUE(driver_.seen().gaps.empty());
}

TEST_F(PostgresGapTest, NoneWhereAnotherLogNotifies) {
  read_three();
  PostgresTopic other;
  for (int i = 0; i < 6; ++i) other.append("ARRAY['x'::bytea]");
  PostgresTopic::write_and_read(driver_, 4);
  EXPECT_EQ(driver_.seen().received[0].size(), 4U);
}

TEST_F(PostgresGapTest, AllRecordsDeletedAreReadFromTheEnd) {
  read_three();
  topic_.server().query("DELETE FROM neliroute.record" + topic_.where());
  LedgerDriver newcomer;
  topic_.open_and_read(newcomer, PostgresTopic::options());
  EXPECT_EQ(newcomer.seen().started.at(0).start, 3);
  EXPECT_EQ(newcomer.seen().started.at(0).below, Below::expired);
  EXPECT_EQ(newcomer.seen().started.size(), 1U);
}

TEST_F(PostgresGapTest, ARecordOfAnyBytesIsReadAsItIs) {
  PostgresLedgerOptions options = PostgresTopic::options();
  topic_.open_and_read(driver_, options);
  const std::string claim = claim_text(1, 1s);
  std::string odd = claim;
  odd.insert(odd.rfind('}'), ",\"note\":\"\xff\xfe\\u0000\xc3\xa4'\\\\\"");
  driver_.run([&](Ledger& ledger) { ledger.write({Log{0}, 1, odd}); });
  ASSERT_TRUE(driver_.wait([](const Seen& seen) { return seen.received[0].size() == 1; }));
  EXPECT_EQ(driver_.seen().received[0][0].seq, 1U);
  const auto rows = topic_.server().query(
      "SELECT encode(value, 'hex') FROM neliroute.record" + topic_.where());
  std::string hex;
  for (const char one : odd) {
    constexpr std::string_view kDigits = "0123456789abcdef";
    hex += kDigits[static_cast<unsigned char>(one) >> 4U];
    hex += kDigits[static_cast<unsigned char>(one) & 15U];
  }
  EXPECT_EQ(rows[0][0], hex);
}

// The newest records say how far back a process must read, as on Kafka.
TEST_F(PostgresGapTest, ANewcomerReadsNoFurtherBackThanAnyLeaseReaches) {
  read_three();
  topic_.server().query("UPDATE neliroute.record SET stamped = stamped - 590000" +
                        topic_.where() + " AND position < 2");
  const auto stamp = std::stoll(
      topic_.server().query("SELECT stamped FROM neliroute.log" + topic_.where())[0][0]);
  driver_.write(Log{0}, 4, 1s, BrokerTime{milliseconds{stamp}});
  ASSERT_TRUE(driver_.wait([](const Seen& seen) { return seen.received[0].size() == 4; }));
  LedgerDriver newcomer;
  topic_.open_and_read(newcomer, PostgresTopic::options());
  const TailStarted start = newcomer.seen().started.at(0);
  EXPECT_EQ(start.start, 1) << "the newest that is old enough, and all after it";
  EXPECT_EQ(start.below, Below::older);
}

}  // namespace
}  // namespace neliroute
