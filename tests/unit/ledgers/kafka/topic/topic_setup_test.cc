#include "ledgers/kafka/topic/topic_setup.h"

#include <gmock/gmock.h>

#include <chrono>

#include "ledgers/kafka/topic/broker_probe.h"

namespace neliroute {
namespace {

using std::chrono::seconds;
using testing::AllOf;
using testing::HasSubstr;

TEST(UnfitTopicTest, ADeletingTopicThatStampsAppendTimeFitsBothModes) {
  const Configs configs{{"cleanup.policy", "delete"},
                        {"message.timestamp.type", "LogAppendTime"}};
  EXPECT_FALSE(unfit_topic(configs, "t", Mode::exclusive));
  EXPECT_FALSE(unfit_topic(configs, "t", Mode::non_exclusive));
}

TEST(UnfitTopicTest, WhatNobodyToldIsNotHeldAgainstTheTopic) {
  EXPECT_FALSE(unfit_topic({}, "t", Mode::exclusive));
  EXPECT_FALSE(unfit_topic({}, "t", Mode::non_exclusive));
}

TEST(UnfitTopicTest, ACompactedTopicFitsNoMode) {
  for (const char* policy : {"compact", "compact,delete", "delete,compact"}) {
    for (const Mode mode : {Mode::exclusive, Mode::non_exclusive}) {
      const auto unfit = unfit_topic({{"cleanup.policy", policy}}, "shop", mode);
      ASSERT_TRUE(unfit) << policy;
      EXPECT_EQ(unfit->code(), Errc::ledger_unfit);
      EXPECT_THAT(unfit->message(),
                  AllOf(HasSubstr("topic shop"), HasSubstr(policy), HasSubstr("`kafka.topic`")));
    }
  }
}

TEST(StampWarningTest, WhoseWritersStampIsWarnedOf) {
  EXPECT_FALSE(stamp_warning({}, "shop"));
  EXPECT_FALSE(stamp_warning({{"message.timestamp.type", "LogAppendTime"}}, "shop"));
  const auto warning = stamp_warning({{"message.timestamp.type", "CreateTime"}}, "shop");
  ASSERT_TRUE(warning);
  EXPECT_THAT(*warning, AllOf(HasSubstr("topic shop"), HasSubstr("CreateTime"),
                              HasSubstr("message.timestamp.type=LogAppendTime")));
}

TEST(UnfitTopicTest, CreateTimeFitsTheNonExclusiveModeOnly) {
  const Configs configs{{"message.timestamp.type", "CreateTime"}};
  EXPECT_FALSE(unfit_topic(configs, "shop", Mode::non_exclusive));
  const auto unfit = unfit_topic(configs, "shop", Mode::exclusive);
  ASSERT_TRUE(unfit);
  EXPECT_EQ(unfit->code(), Errc::ledger_unfit);
  EXPECT_THAT(unfit->message(), AllOf(HasSubstr("topic shop"), HasSubstr("CreateTime"),
                                      HasSubstr("message.timestamp.type=LogAppendTime")));
}

TEST(CheckRetentionTest, TenLeasesAreEnough) {
  TopicFacts facts;
  facts.retention = seconds{90};
  EXPECT_TRUE(check_retention(facts, seconds{9}).has_value());
  const auto refused = check_retention(facts, seconds{9} + milliseconds{1});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code(), Errc::ledger_unfit);
  EXPECT_THAT(refused.error().message(),
              AllOf(HasSubstr("90000"), HasSubstr("9001"), HasSubstr("retention.ms")));
}

TEST(CheckRetentionTest, ForEverIsEnough) {
  EXPECT_TRUE(check_retention({}, kLeaseMax).has_value());
}

TEST(ShortRetentionTest, ASilenceThatIsServedThroughAndTenLeasesAreEnough) {
  TopicFacts facts;
  Timing timing;
  timing.lease = seconds{9};
  timing.serve_stale = seconds{900};
  EXPECT_FALSE(short_retention_warning(facts, timing)) << "for ever";
  facts.retention = seconds{990};
  EXPECT_FALSE(short_retention_warning(facts, timing));
  facts.retention = seconds{990} - milliseconds{1};
  const auto warning = short_retention_warning(facts, timing);
  ASSERT_TRUE(warning);
  EXPECT_THAT(*warning, AllOf(HasSubstr("989999"), HasSubstr("990000"), HasSubstr("retention.ms"),
                              HasSubstr("serve_stale")));
  timing.serve_stale = seconds{0};
  EXPECT_FALSE(short_retention_warning(facts, timing));
}

TEST(BrokerLossTest, WhatItCostsIsTheBrokersTimingsLessTheLease) {
  TopicFacts facts;
  EXPECT_FALSE(broker_loss_text(facts, milliseconds{2250})) << "not known";
  facts.broker_session = seconds{9};
  facts.replica_lag = seconds{30};
  const auto text = broker_loss_text(facts, milliseconds{2250});
  ASSERT_TRUE(text);
  EXPECT_THAT(*text, AllOf(HasSubstr("6750 ms if it dies"), HasSubstr("42750 ms if it lives"),
                           HasSubstr("broker.session.timeout.ms"),
                           HasSubstr("replica.lag.time.max.ms")));
  EXPECT_THAT(*broker_loss_text(facts, seconds{10}), ::testing::Not(HasSubstr("dies")));
  EXPECT_TRUE(broker_loss_text(facts, seconds{30}));
  EXPECT_FALSE(broker_loss_text(facts, seconds{45}));
}

TEST(PrepareTopicTest, APropertyThatIsRefusedIsToldBeforeAnyBrokerIsAsked) {
  KafkaOptions options;
  options.brokers = "127.0.0.1:1";
  options.properties["acks"] = "1";
  const auto facts = prepare_topic(options);
  ASSERT_FALSE(facts.has_value());
  EXPECT_EQ(facts.error().code(), Errc::bad_option);
}

TEST(PrepareTopicTest, ABrokerThatIsNotThereIsToldOnceAndWaitedForWithinTheBound) {
  KafkaOptions options;
  options.brokers = "127.0.0.1:1";
  options.timeout = milliseconds{1500};
  std::vector<Notice> told;
  const auto facts = prepare_topic(options, [&](const Notice& notice) { told.push_back(notice); });
  ASSERT_FALSE(facts.has_value());
  EXPECT_EQ(facts.error().code(), Errc::ledger_unreachable);
  EXPECT_THAT(facts.error().message(), AllOf(HasSubstr("127.0.0.1:1"), HasSubstr("1500 ms")));
  ASSERT_EQ(told.size(), 1U);
  EXPECT_THAT(told[0].text, AllOf(HasSubstr("127.0.0.1:1"), HasSubstr("waiting")));
}

}  // namespace
}  // namespace neliroute
