// A topic that is not there when a process starts, and a broker that says nothing of it later.
#include <gmock/gmock.h>

#include <chrono>

#include "ledgers/kafka/topic/broker_probe.h"
#include "ledgers/kafka/topic/topic_setup.h"
#include "tests/unit/ledgers/kafka/ledger/ledger_rig.h"

namespace neliroute {
namespace {

using std::chrono::seconds;
using testing::AllOf;
using testing::HasSubstr;

TEST(ConfigsTest, ANumberIsAllOfTheText) {
  const Configs configs{{"good", "86400000"}, {"negative", "-1"}, {"empty", ""},
                        {"word", "1s"},       {"great", "9223372036854775808"}};
  EXPECT_EQ(number_in(configs, "good"), 86'400'000);
  EXPECT_EQ(number_in(configs, "negative"), -1);
  EXPECT_EQ(duration_in(configs, "good"), milliseconds{86'400'000});
  EXPECT_FALSE(duration_in(configs, "negative")) << "for ever";
  for (const char* name : {"empty", "word", "great", "missing"}) {
    EXPECT_FALSE(number_in(configs, name)) << name;
    EXPECT_FALSE(duration_in(configs, name)) << name;
  }
}

#if RD_KAFKA_VERSION >= 0x020c0000  // the embedded broker's

class TopicAwayTest : public testing::Test {
 protected:
  void SetUp() override {
    rig_.open_broker();
    options_.brokers = rig_.address();
    options_.topic = "another";
    options_.timeout = seconds{20};
  }
  LedgerRig rig_;
  KafkaOptions options_;
};

TEST_F(TopicAwayTest, WhatDoesNotFitIsToldBeforeATopicIsMade) {
  options_.partitions = 7;
  std::uint32_t asked = 0;
  const auto facts = prepare_topic(options_, {}, [&](const TopicFacts& wanted) -> Result<void> {
    asked = wanted.partitions;
    return Error{Errc::bad_option, "no"};
  });
  ASSERT_FALSE(facts.has_value());
  EXPECT_EQ(facts.error().message(), "no");
  EXPECT_EQ(asked, 7U);
}

TEST_F(TopicAwayTest, OfAnEmbeddedBrokerItIsToldAtOnceHowItGetsTheTopic) {
  options_.timeout = seconds{60};
  const auto began = std::chrono::steady_clock::now();
  const auto facts = prepare_topic(options_);
  EXPECT_LT(std::chrono::steady_clock::now() - began, seconds{30}) << "it waits for nothing";
  ASSERT_FALSE(facts.has_value());
  EXPECT_EQ(facts.error().code(), Errc::ledger_unfit);
  EXPECT_THAT(facts.error().message(), HasSubstr("neliroute broker `kafka.topic` another"));
}

TEST_F(TopicAwayTest, AWatcherMakesNone) {
  options_.watcher = true;
  const auto facts = prepare_topic(options_);
  ASSERT_FALSE(facts.has_value());
  EXPECT_EQ(facts.error().code(), Errc::ledger_unfit);
  EXPECT_THAT(facts.error().message(),
              AllOf(HasSubstr("topic another does not exist"), HasSubstr("neliroute run")));
}

TEST_F(TopicAwayTest, OfABrokerThatFellSilentItIsNotSaidThatTheTopicIsGone) {
  rig_.open(rig_.parameters());
  rig_.start_and_read();
  rig_.close_broker();
  const auto told = [](const Seen& seen, const std::string& part) {
    return std::any_of(seen.notices.begin(), seen.notices.end(), [&](const Notice& notice) {
      return notice.text.find(part) != std::string::npos;
    });
  };
  const auto unknown = [&](const Seen& seen) {
    return told(seen, "no broker says whether topic neliroute exists");
  };
  // A query lasts 5 s. A client that has not noticed yet that its broker is gone answers the first
  // one as if it were there; then the log starts on a new client, which is queried the next time.
  int queries = 0;
  do {
    rig_.on_ledger([](KafkaLedger& ledger) { ledger.restart_tail(Log{0}); });
  } while (rig_.never(unknown, seconds{10}) && ++queries < 6);
  EXPECT_TRUE(unknown(rig_.seen()));
  EXPECT_FALSE(told(rig_.seen(), "is not there"));
}

#endif

}  // namespace
}  // namespace neliroute
