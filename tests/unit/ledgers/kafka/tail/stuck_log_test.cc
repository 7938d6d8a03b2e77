// A producer that stores in some logs, and in others nothing any more: it is replaced, too.
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <map>
#include <neliroute/clock.h>

#include "ledgers/kafka/record_writer.h"
#include "tests/unit/ledgers/kafka/mock_cluster.h"
#include "tests/unit/ledgers/kafka/serve_until.h"

#if RD_KAFKA_VERSION >= 0x020f0000  // the mock's

namespace neliroute {
namespace {

using std::chrono::seconds;

// A writer that has stored in both logs; then the broker of one of them is away, which answers
// a reader all the same, as far as the writer is told.
class StuckLogTest : public testing::Test {
 protected:
  static constexpr seconds kLease{2};  // a new client's first record waits for a second
  static constexpr Log kGood{0};
  static constexpr Log kStuck{1};
  static constexpr std::int32_t kItsBroker = 2;

  StuckLogTest() {
    cluster_.move_leader(1, kItsBroker);
    options_.brokers = cluster_.address();
    EXPECT_TRUE(wakeup_->open().has_value());
    writer_.before_replacement([this] { ++replaced_; });
    EXPECT_TRUE(writer_.open().has_value());
    writer_.warm_up();
    EXPECT_EQ(write(kGood), RD_KAFKA_RESP_ERR_NO_ERROR);
    EXPECT_EQ(write(kStuck), RD_KAFKA_RESP_ERR_NO_ERROR);
  }
  ~StuckLogTest() override { wakeup_->close(); }

  rd_kafka_resp_err_t write(Log log) {
    const std::uint64_t seq = ++seq_;
    writer_.write({log, seq, "a record"});
    EXPECT_TRUE(serve_until([&] { return answers_.contains(seq); }));
    return answers_[seq];
  }
  bool serve_until(const std::function<bool()>& condition) {
    return neliroute::serve_until(writer_, io_, condition);
  }
  /// It goes on trying.
  void try_again(Log log) { writer_.write({log, ++seq_, "a record"}); }
  // The stuck log last answered that long before.
  std::optional<Notice> look(LocalTime now, milliseconds heard_before = milliseconds{0}) {
    return writer_.rescue_if_due(now, [=](Log log) {
      return log == kStuck ? now - heard_before : now;
    });
  }

  MockCluster cluster_{2, 2};
  KafkaOptions options_;
  Timing timing_ = [] {
    Timing timing;
    timing.lease = kLease;
    return timing;
  }();
  boost::asio::io_context io_;
  std::shared_ptr<QueueWakeup> wakeup_ = std::make_shared<QueueWakeup>(io_.get_executor());
  std::map<std::uint64_t, rd_kafka_resp_err_t> answers_;
  std::map<rd_kafka_resp_err_t, int> counts_;
  std::uint64_t seq_ = 0;
  int replaced_ = 0;
  RecordWriter writer_{{options_, timing_, GroupProtocol::classic, false}, *wakeup_,
                       [this](std::uint64_t seq, rd_kafka_resp_err_t error, std::int64_t) {
                         answers_[seq] = error;
                         ++counts_[error];
                       }};
};

TEST_F(StuckLogTest, GetsANewClientThoughAnotherLogStores) {
  cluster_.stop(kItsBroker);
  EXPECT_EQ(write(kStuck), RD_KAFKA_RESP_ERR__MSG_TIMED_OUT);
  const LocalTime failed = boot_now();
  EXPECT_EQ(write(kGood), RD_KAFKA_RESP_ERR_NO_ERROR);
  try_again(kStuck);
  EXPECT_FALSE(look(later(failed, 3 * kLease - kLease / 2)));
  const auto notice = look(later(failed, 3 * kLease + kLease / 2));
  ASSERT_TRUE(notice);
  EXPECT_NE(notice->text.find("log 1"), std::string::npos) << notice->text;
  EXPECT_EQ(replaced_, 1);
  EXPECT_FALSE(look(later(failed, seconds{100}))) << "the new one has not tried yet";

  EXPECT_EQ(write(kGood), RD_KAFKA_RESP_ERR_NO_ERROR);
  EXPECT_EQ(write(kStuck), RD_KAFKA_RESP_ERR__MSG_TIMED_OUT);
  const LocalTime again = boot_now();
  try_again(kStuck);
  EXPECT_FALSE(look(later(again, 6 * kLease - kLease / 2))) << "twice as long";
  EXPECT_TRUE(look(later(again, 6 * kLease + kLease / 2)));
  cluster_.start(kItsBroker);
  EXPECT_EQ(write(kStuck), RD_KAFKA_RESP_ERR_NO_ERROR);
  EXPECT_FALSE(look(later(boot_now(), seconds{100})));
}

TEST_F(StuckLogTest, IsNotHelpedByANewClientWhileItDoesNotAnswer) {
  cluster_.stop(kItsBroker);
  EXPECT_EQ(write(kStuck), RD_KAFKA_RESP_ERR__MSG_TIMED_OUT);
  const LocalTime failed = boot_now();
  try_again(kStuck);
  for (int second = 1; second <= 60; ++second) {
    EXPECT_FALSE(look(later(failed, seconds{second}), 2 * kLease + milliseconds{1}));
  }
  EXPECT_FALSE(look(later(failed, seconds{60} + 3 * kLease), 2 * kLease));
  EXPECT_TRUE(look(later(failed, seconds{61} + 3 * kLease), 2 * kLease));
}

TEST_F(StuckLogTest, ThatNobodyWritesToAnyMoreNeedsNoNewClient) {
  cluster_.stop(kItsBroker);
  EXPECT_EQ(write(kStuck), RD_KAFKA_RESP_ERR__MSG_TIMED_OUT);
  EXPECT_EQ(write(kGood), RD_KAFKA_RESP_ERR_NO_ERROR);
  const LocalTime failed = boot_now();
  for (int second = 1; second <= 60; ++second) EXPECT_FALSE(look(later(failed, seconds{second})));
  try_again(kStuck);
  EXPECT_FALSE(look(later(failed, seconds{61}))) << "what failed long ago does not count";
}

TEST_F(StuckLogTest, ThatWasNeverHeardIsNotHelpedByANewClient) {
  cluster_.stop(kItsBroker);
  EXPECT_EQ(write(kStuck), RD_KAFKA_RESP_ERR__MSG_TIMED_OUT);
  try_again(kStuck);
  const LocalTime failed = boot_now();
  const auto never = [](Log) { return kLongAgo; };
  for (int second = 1; second <= 60; ++second) {
    EXPECT_FALSE(writer_.rescue_if_due(later(failed, seconds{second}), never));
  }
}

TEST_F(StuckLogTest, OfATopicThatWasMadeAgainTheOldClientGoesOnce) {
  cluster_.stop(kItsBroker);
  writer_.write({kStuck, ++seq_, "on its way to the old topic"});
  const std::uint64_t on_its_way = seq_;
  writer_.on_topic_gone();
  EXPECT_EQ(replaced_, 1);
  EXPECT_EQ(answers_[on_its_way], RD_KAFKA_RESP_ERR__PURGE_INFLIGHT);
  writer_.on_topic_gone();  // each log says so
  EXPECT_EQ(replaced_, 1);
  EXPECT_EQ(write(kGood), RD_KAFKA_RESP_ERR_NO_ERROR);
  writer_.on_topic_gone();
  EXPECT_EQ(replaced_, 2);
  // Made while some brokers did not know yet: what it writes is on its way to the old topic, too.
  writer_.write({kStuck, ++seq_, "never stored"});
  writer_.on_topic_gone();
  EXPECT_EQ(replaced_, 3);
}

TEST_F(StuckLogTest, IsBroadcastToTwiceWhileTheOthersAreBroadcastTo) {
  cluster_.stop(kItsBroker);
  const int before = counts_[RD_KAFKA_RESP_ERR_NO_ERROR];
  for (int beat = 1; beat <= 6; ++beat) {
    writer_.broadcast(2);
    ASSERT_TRUE(serve_until(
        [&] { return counts_[RD_KAFKA_RESP_ERR_NO_ERROR] == before + beat; }));
  }
  EXPECT_EQ(counts_[RD_KAFKA_RESP_ERR__MSG_TIMED_OUT], 0) << "none had to be over before";
  ASSERT_TRUE(serve_until([&] { return counts_[RD_KAFKA_RESP_ERR__MSG_TIMED_OUT] == 2; }));
  writer_.broadcast(2);
  ASSERT_TRUE(serve_until([&] { return counts_[RD_KAFKA_RESP_ERR__MSG_TIMED_OUT] == 3; }));
}

TEST_F(StuckLogTest, IsBroadcastToByANewClientWhateverTheOldOneHadOnItsWay) {
  cluster_.stop(kItsBroker);
  writer_.broadcast(2);
  writer_.broadcast(2);
  writer_.renew();
  cluster_.start(kItsBroker);
  const int before = counts_[RD_KAFKA_RESP_ERR_NO_ERROR];
  writer_.broadcast(2);
  EXPECT_TRUE(serve_until([&] { return counts_[RD_KAFKA_RESP_ERR_NO_ERROR] == before + 2; }));
}

}  // namespace
}  // namespace neliroute

#endif
