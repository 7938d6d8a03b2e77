// Reading a topic to its end: all of it, a part of it, none of it.
#include "ledgers/kafka/tail/log_reader.h"

#include <gtest/gtest.h>

#include <map>
#include <vector>

#include "tests/unit/ledgers/kafka/ledger/ledger_rig.h"
#include "tests/unit/ledgers/kafka/librdkafka_calls.h"

#if RD_KAFKA_VERSION >= 0x020c0000  // the embedded broker's

namespace neliroute {
namespace {

class LogReaderTest : public testing::Test {
 protected:
  void SetUp() override { rig_.open_broker(); }

  /// Writes records of these seqs to log 1, and waits until they are stored.
  void write(std::uint64_t first, std::uint64_t last) {
    rig_.open(rig_.parameters());
    rig_.start_and_read();
    for (std::uint64_t seq = first; seq <= last; ++seq) rig_.write(Log{1}, seq);
    ASSERT_TRUE(rig_.wait([&](const Seen& seen) {
      return seen.received[1].size() == last - first + 1;
    }));
  }
  Result<std::vector<LogRead>> read(std::optional<BrokerTime> since = std::nullopt) {
    seqs_.clear();
    stamps_.clear();
    wanted_.kafka.brokers = rig_.address();
    wanted_.since = since;
    return read_logs(wanted_, [this](const Received& event) {
      EXPECT_EQ(event.log, Log{1});
      EXPECT_FALSE(event.store_stamped) << "the embedded broker stamps nothing";
      const auto* record = std::get_if<Record>(event.value);
      ASSERT_NE(record, nullptr);
      seqs_.push_back(record->seq);
      stamps_.push_back(event.stamped);
    });
  }

  LedgerRig rig_;
  LogReading wanted_;
  std::vector<std::uint64_t> seqs_;
  std::vector<BrokerTime> stamps_;
};

TEST_F(LogReaderTest, reads_what_is_there_and_ends) {
  write(1, 5);
  const auto logs = read();
  ASSERT_TRUE(logs.has_value()) << logs.error().message();
  ASSERT_EQ(logs->size(), 1U) << "the others never had a record";
  const LogRead& log = logs->front();
  EXPECT_EQ(log.log, Log{1});
  EXPECT_EQ(log.low, 0);
  EXPECT_EQ(log.start, 0);
  EXPECT_EQ(log.end, 5);
  EXPECT_FALSE(log.cut_short);
  EXPECT_EQ(seqs_, (std::vector<std::uint64_t>{1, 2, 3, 4, 5}));
  EXPECT_EQ(log.first, stamps_.front());
  EXPECT_EQ(log.last, stamps_.back());
}

TEST_F(LogReaderTest, begins_at_the_time_that_is_asked_for) {
  write(1, 3);
  ASSERT_TRUE(read().has_value());
  const BrokerTime last = stamps_.back();
  const auto all = read(stamps_.front());
  ASSERT_TRUE(all.has_value());
  EXPECT_EQ(seqs_.size(), 3U);
  const auto none = read(last + milliseconds{1});
  ASSERT_TRUE(none.has_value());
  EXPECT_TRUE(seqs_.empty());
  EXPECT_EQ(none->front().end, 3);
  EXPECT_FALSE(none->front().first);
  EXPECT_FALSE(none->front().cut_short);
}

TEST_F(LogReaderTest, an_empty_topic_has_no_logs) {
  const auto logs = read();
  ASSERT_TRUE(logs.has_value()) << logs.error().message();
  EXPECT_TRUE(logs->empty());
}

// As a broker says for a moment once it answers again.
TEST_F(LogReaderTest, waits_for_a_log_that_has_no_leader_yet) {
  write(1, 3);
  for (const auto error :
       {RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION, RD_KAFKA_RESP_ERR_LEADER_NOT_AVAILABLE,
        RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION, RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART}) {
    int asked = 0;
    librdkafka_calls::Watching watching;
    watching.query_error = [&](std::int32_t log, rd_kafka_resp_err_t told) {
      return log == 1 && ++asked <= 2 ? error : told;
    };
    const librdkafka_calls::Watch watch(std::move(watching));
    const auto logs = read();
    ASSERT_TRUE(logs.has_value()) << logs.error().message();
    EXPECT_EQ(seqs_.size(), 3U);
    EXPECT_EQ(asked, 3);
  }
}

TEST_F(LogReaderTest, waits_for_it_no_longer_than_it_may_and_not_after_a_refusal) {
  write(1, 3);
  wanted_.kafka.timeout = milliseconds{300};
  auto error = RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION;
  int asked = 0;
  librdkafka_calls::Watching watching;
  watching.query_error = [&](std::int32_t, rd_kafka_resp_err_t) { return ++asked, error; };
  const librdkafka_calls::Watch watch(std::move(watching));
  auto logs = read();
  ASSERT_FALSE(logs.has_value());
  EXPECT_EQ(logs.error().code(), Errc::ledger_unreachable);
  EXPECT_GT(asked, 1);
  asked = 0;
  error = RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED;
  logs = read();
  ASSERT_FALSE(logs.has_value());
  EXPECT_EQ(logs.error().code(), Errc::ledger_refused);
  EXPECT_EQ(asked, 1);
}

TEST_F(LogReaderTest, makes_no_topic_and_says_who_is_away) {
  wanted_.kafka.topic = "other";
  auto missing = read();
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().code(), Errc::ledger_unfit);
  rig_.close_broker();
  wanted_.kafka.timeout = milliseconds{300};
  missing = read();
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().code(), Errc::ledger_unreachable);
}

}  // namespace
}  // namespace neliroute

#endif
