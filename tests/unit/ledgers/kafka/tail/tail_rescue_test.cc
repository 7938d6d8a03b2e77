// A tail whose log does not answer: its client is replaced, more and more rarely.
#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <neliroute/clock.h>
#include <variant>
#include <vector>

#include "ledgers/kafka/client/client_config.h"
#include "ledgers/kafka/tail/tail.h"
#include "tests/unit/ledgers/kafka/mock_cluster.h"
#include "tests/unit/ledgers/kafka/serve_until.h"

#if RD_KAFKA_VERSION >= 0x020f0000  // the mock's

namespace neliroute {
namespace {

using std::chrono::seconds;

constexpr Log kLog{0};

// Reads a log of one record, and its end.
class TailRescueTest : public testing::Test {
 protected:
  TailRescueTest() {
    cluster_.produce(0, "not a record of the protocol");
    options_.brokers = cluster_.address();
    EXPECT_TRUE(wakeup_->open().has_value());
    EXPECT_TRUE(tail_.open().has_value());
    tail_.start(kLog);
    EXPECT_TRUE(serve_until([&] { return records_ == 1; }));
  }
  ~TailRescueTest() override { wakeup_->close(); }

  bool serve_until(const std::function<bool()>& condition) {
    return neliroute::serve_until(tail_, io_, condition);
  }
  /// Whether it makes a client then.
  bool rescues(LocalTime now) {
    const int before = made_;
    tail_.rescue_if_due(now);
    return made_ > before;
  }
  void note(const Event& event) {
    if (const auto* reread = std::get_if<Reread>(&event)) answers_.push_back(*reread);
    records_ += std::holds_alternative<Received>(event) ? 1 : 0;
  }
  Result<rdkafka::HandlePtr> make() {
    if (fails_) return Error{Errc::bad_option, "no thread is left"};
    ++made_;
    return make_client(ClientKind::tail, {options_, Timing{}, GroupProtocol::classic, false});
  }
  static constexpr std::int32_t kBroker = 1;
  MockCluster cluster_{1};
  KafkaOptions options_;
  boost::asio::io_context io_;
  std::shared_ptr<QueueWakeup> wakeup_ = std::make_shared<QueueWakeup>(io_.get_executor());
  int made_ = 0;
  bool fails_ = false;
  int records_ = 0;
  std::vector<Reread> answers_;
  std::vector<Notice> notices_;
  Tail tail_{[this] { return make(); },
             *wakeup_,
             {options_.topic, 1, seconds{1}, milliseconds{100}, false, false},
             [this](const Event& event, LocalTime) { note(event); },
             [this](const Notice& notice) { notices_.push_back(notice); }};
};

TEST_F(TailRescueTest, WhoIsNotAnsweredGetsANewClientAndTheNextOneLater) {
  cluster_.stop(kBroker);
  tail_.reread({kLog, 7, 0});
  const LocalTime asked = boot_now();
  EXPECT_FALSE(rescues(later(asked, seconds{4})));
  EXPECT_TRUE(rescues(later(asked, seconds{6})));
  EXPECT_FALSE(rescues(later(asked, seconds{15})));
  EXPECT_TRUE(rescues(later(asked, seconds{17}))) << "twice as long after the first";
  EXPECT_TRUE(answers_.empty());
  cluster_.start(kBroker);
  ASSERT_TRUE(serve_until([&] { return !answers_.empty(); }));
  EXPECT_EQ(answers_[0].question, 7u);
  EXPECT_TRUE(answers_[0].found);
  EXPECT_EQ(records_, 1) << "it was received before";

  cluster_.stop(kBroker);
  tail_.reread({kLog, 8, 0});
  EXPECT_TRUE(rescues(later(boot_now(), seconds{6}))) << "an answer came since";
}

TEST_F(TailRescueTest, WhoIsAnsweredKeepsTheClientForEver) {
  tail_.reread({kLog, 7, 0});
  ASSERT_TRUE(serve_until([&] { return !answers_.empty(); }));
  for (int hour = 1; hour <= 24; ++hour) {
    EXPECT_FALSE(rescues(later(boot_now(), std::chrono::hours{hour})));
  }
}

TEST_F(TailRescueTest, WhoAsksAgainMeanwhileWaitsNoLonger) {
  cluster_.stop(kBroker);
  tail_.reread({kLog, 7, 0});
  const LocalTime asked = boot_now();
  const LocalTime again = later(asked, milliseconds{1100});
  ASSERT_TRUE(serve_until([&] { return boot_now() >= again; }));
  tail_.reread({kLog, 8, 0});
  EXPECT_TRUE(rescues(later(asked, milliseconds{5500})));
}

TEST_F(TailRescueTest, AStartIsAwaitedUntilItIsAnswered) {
  EXPECT_FALSE(rescues(later(boot_now(), std::chrono::hours{1}))) << "it was answered";
  cluster_.stop(kBroker);
  tail_.start(kLog);
  EXPECT_TRUE(rescues(later(boot_now(), seconds{6})));
  cluster_.start(kBroker);
  EXPECT_TRUE(serve_until([&] { return records_ == 2; }));
}

TEST_F(TailRescueTest, WhatIsReadAgainMeanwhileIsReadAgainByTheNewClient) {
  tail_.reread({kLog, 8, 0});
  tail_.renew();
  EXPECT_TRUE(rescues(boot_now()));
  ASSERT_TRUE(serve_until([&] { return !answers_.empty(); }));
  EXPECT_EQ(answers_[0].offset, 0);
  EXPECT_TRUE(answers_[0].found) << "from where it was to be read, not from where others go on";
  EXPECT_EQ(records_, 1) << "it was received before";
}

TEST_F(TailRescueTest, WithoutAClientItSaysSoOnceAndTriesAgain) {
  fails_ = true;
  tail_.renew();
  for (int second = 1; second <= 3; ++second) EXPECT_FALSE(rescues(boot_now()));
  ASSERT_EQ(notices_.size(), 1u);
  EXPECT_NE(notices_[0].text.find("nothing can be read"), std::string::npos);
  EXPECT_NE(notices_[0].text.find("no thread is left"), std::string::npos);
  EXPECT_EQ(tail_.handle(), nullptr);
  EXPECT_TRUE(tail_.reread({kLog, 9, 0})) << "asked when there is a client";
  EXPECT_EQ(tail_.unread(), 0u);
  fails_ = false;
  EXPECT_TRUE(rescues(boot_now()));
  ASSERT_TRUE(serve_until([&] { return !answers_.empty(); }));
  EXPECT_EQ(answers_[0].question, 9u);
  EXPECT_EQ(records_, 1);
}

}  // namespace
}  // namespace neliroute

#endif
