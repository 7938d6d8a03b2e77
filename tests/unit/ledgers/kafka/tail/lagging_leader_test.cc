// A tail that reads again from a leader which does not know yet how far the log may be read: it
// must neither take the log for truncated nor miss that it is.
#include <gtest/gtest.h>

#include <atomic>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <neliroute/clock.h>
#include <variant>
#include <vector>

#include "ledgers/kafka/client/client_config.h"
#include "ledgers/kafka/tail/tail.h"
#include "tests/unit/ledgers/kafka/librdkafka_calls.h"
#include "tests/unit/ledgers/kafka/mock_cluster.h"
#include "tests/unit/ledgers/kafka/serve_until.h"

#if RD_KAFKA_VERSION >= 0x020f0000  // the mock's

namespace neliroute {
namespace {

// Reads a log of two records, whose new leader then seems to end before the last.
class LaggingLeaderTest : public testing::Test {
 protected:
  LaggingLeaderTest() {
    for (int i = 0; i < 2; ++i) cluster_.produce(0, "not a record of the protocol");
    options_.brokers = cluster_.address();
    EXPECT_TRUE(wakeup_->open().has_value());
    EXPECT_TRUE(tail_.open().has_value());
    tail_.start(kLog);
    EXPECT_TRUE(serve_until([&] { return position_ == 2; }));
    cluster_.lag(0, kNewLeader, 1);
  }
  ~LaggingLeaderTest() override { wakeup_->close(); }

  bool serve_until(const std::function<bool()>& condition) {
    return neliroute::serve_until(tail_, io_, condition);
  }
  /// Asks, and once more while the leader lags.
  void ask_twice(std::int64_t offset) {
    for (int question = 1; question <= 2; ++question) {
      tail_.reread({kLog, static_cast<std::uint64_t>(question), offset});
      EXPECT_TRUE(serve_until([&] { return lags_ == question; }));
      EXPECT_TRUE(answers_.empty()) << "question " << question << " is not answered yet";
      EXPECT_TRUE(gaps_.empty()) << "nothing is lost";
    }
  }
  /// What the tail's client knows to be the log's end; below 0: nothing.
  [[nodiscard]] std::int64_t known_end() const {
    std::int64_t low = -1;
    std::int64_t high = -1;
    rd_kafka_get_watermark_offsets(tail_.handle(), options_.topic.c_str(), 0, &low, &high);
    return high;
  }
  std::int64_t told(std::int64_t end) {
    if (insists_) return 1;
    if (end == 1) ++lags_;
    return end;
  }
  librdkafka_calls::Watching watching() {
    librdkafka_calls::Watching watching;
    watching.end_of_log = [this](std::int32_t, std::int64_t end) { return told(end); };
    return watching;
  }
  void note(const Event& event) {
    if (const auto* reread = std::get_if<Reread>(&event)) answers_.push_back(*reread);
    if (const auto* gap = std::get_if<GapFound>(&event)) gaps_.push_back(gap->reason);
    if (const auto* at = std::get_if<LogPosition>(&event)) position_ = at->next;
    if (const auto* record = std::get_if<Received>(&event)) read_.push_back(record->offset);
  }
  Result<rdkafka::HandlePtr> make() {
    Timing timing;
    timing.lease = milliseconds{400};  // a fetch waits for a quarter of it
    return make_client(ClientKind::tail, {options_, timing, GroupProtocol::classic, false});
  }
  static constexpr Log kLog{0};
  static constexpr std::int64_t kAnything = -1;  ///< any answer of the leader is enough
  static constexpr std::int32_t kNewLeader = 2;
  MockCluster cluster_{1, 2};
  KafkaOptions options_;
  boost::asio::io_context io_;
  std::shared_ptr<QueueWakeup> wakeup_ = std::make_shared<QueueWakeup>(io_.get_executor());
  std::int64_t position_ = -1;
  std::vector<std::int64_t> read_;
  std::vector<Reread> answers_;
  std::vector<GapReason> gaps_;
  std::atomic<bool> insists_{false};  ///< whatever the end is, the tail is told 1
  std::atomic<int> lags_{0};          ///< how often it was told 1 because that is the end
  librdkafka_calls::Watch watch_{watching()};
  Tail tail_{[this] { return make(); },
             *wakeup_,
             {options_.topic, 1, milliseconds{1000}, milliseconds{100}, false, false},
             [this](const Event& event, LocalTime) { note(event); },
             [](const Notice&) {}};
};

// A watcher asks for any answer; the gap that it found instead hid all owners of the log.
TEST_F(LaggingLeaderTest, AnswersWhoWantsAnyAnswerWhenItHasCaughtUp) {
  ask_twice(kAnything);
  cluster_.lag(0, kNewLeader, 2);
  ASSERT_TRUE(serve_until([&] { return !answers_.empty(); }));
  EXPECT_EQ(answers_[0].question, 2u);
  cluster_.produce(0, "another");
  cluster_.lag(0, kNewLeader, 3);
  ASSERT_TRUE(serve_until([&] { return read_.size() == 3; }));
  EXPECT_EQ(read_, (std::vector<std::int64_t>{0, 1, 2}));
  EXPECT_TRUE(gaps_.empty());
}

// Its answers used to count from the second on, however soon that came.
TEST_F(LaggingLeaderTest, ShowsTheLastRecordAgainWhenItHasCaughtUp) {
  ask_twice(1);
  cluster_.lag(0, kNewLeader, 2);
  ASSERT_TRUE(serve_until([&] { return !answers_.empty(); }));
  EXPECT_EQ(answers_[0].question, 2u);
  EXPECT_EQ(answers_[0].offset, 1);
  EXPECT_TRUE(answers_[0].found);
  EXPECT_TRUE(gaps_.empty());
}

// The record behind the last shows that the leader has caught up, and must not be lost itself.
TEST_F(LaggingLeaderTest, ShowsTheLastRecordBeforeTheNextOne) {
  ask_twice(1);
  cluster_.produce(0, "another");
  cluster_.lag(0, kNewLeader, 3);
  ASSERT_TRUE(serve_until([&] { return read_.size() == 3; }));
  ASSERT_EQ(answers_.size(), 1u);
  EXPECT_TRUE(answers_[0].found);
  EXPECT_EQ(read_, (std::vector<std::int64_t>{0, 1, 2}));
  EXPECT_TRUE(gaps_.empty());
}

// A new client asks for what the old one asked for.
TEST_F(LaggingLeaderTest, IsGivenTimeByANewClientToo) {
  ask_twice(1);
  tail_.renew();
  tail_.rescue_if_due(boot_now());
  ASSERT_TRUE(serve_until([&] { return known_end() == 1; }));
  cluster_.lag(0, kNewLeader, 2);
  ASSERT_TRUE(serve_until([&] { return !answers_.empty(); }));
  EXPECT_TRUE(answers_[0].found);
  EXPECT_TRUE(gaps_.empty());
}

// Kafka's leaders say that the next offset is out of range; one that names its end again is
// believed.
TEST_F(LaggingLeaderTest, ThatInsistsOnItsEndHasLostRecords) {
  ask_twice(kAnything);
  insists_ = true;
  cluster_.lag(0, kNewLeader, 2);
  ASSERT_TRUE(serve_until([&] { return !gaps_.empty(); }));
  EXPECT_EQ(gaps_, std::vector{GapReason::truncated});
}

}  // namespace
}  // namespace neliroute

#endif
