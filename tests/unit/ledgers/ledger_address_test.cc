// Where a ledger is, as its address says it.
#include "ledgers/ledger_address.h"

#include <gtest/gtest.h>

#include <string>

namespace neliroute {
namespace {

KafkaConnection on_kafka(std::string_view ledger, const KafkaConnection& rest = {}) {
  const auto address = ledger_address(ledger, rest);
  EXPECT_TRUE(address) << (address ? "" : address.error().message());
  return address ? std::get<KafkaConnection>(*address) : KafkaConnection{};
}

std::string why_not(std::string_view ledger, const KafkaConnection& rest = {}) {
  const auto address = ledger_address(ledger, rest);
  if (address) return "";
  EXPECT_EQ(address.error().code(), Errc::bad_option);
  return address.error().message();
}

TEST(LedgerAddressTest, WithoutOneTheConnectionSaysIt) {
  KafkaConnection rest;
  rest.brokers = "b:1";
  rest.topic = "t";
  EXPECT_EQ(on_kafka("", rest).brokers, "b:1");
  EXPECT_EQ(on_kafka("", rest).topic, "t");
}

TEST(LedgerAddressTest, KafkaIsBrokersAndATopic) {
  KafkaConnection rest;
  rest.properties["security.protocol"] = "ssl";
  rest.timeout = milliseconds{7};
  const KafkaConnection found = on_kafka("kafka://a:9092,[::1]:9093/shop.slots", rest);
  EXPECT_EQ(found.brokers, "a:9092,[::1]:9093");
  EXPECT_EQ(found.topic, "shop.slots");
  EXPECT_EQ(found.properties, rest.properties) << "an address has none of these";
  EXPECT_EQ(found.timeout, rest.timeout);
  EXPECT_EQ(on_kafka("kafka://a:9092").topic, KafkaConnection{}.topic) << "the default";
}

TEST(LedgerAddressTest, TopicOfNamesWhatHasTheLogs) {
  EXPECT_EQ(topic_of(*ledger_address("kafka://a:1/t", {})), "t");
  EXPECT_EQ(topic_of(*ledger_address("memory:m", {})), "m");
}

TEST(LedgerAddressTest, WhatIsWrongIsNamedWithWhatIsExpected) {
  for (const auto& [ledger, expected] :
       {std::pair{"etcd://a:1/t", "expected kafka://HOST:PORT,.../TOPIC"},
        {"a:9092/t", "expected kafka://HOST:PORT,.../TOPIC"},
        {"kafka://", "expected brokers"},
        {"kafka:///t", "expected brokers"},
        {"kafka://a:1/", "1 to 249 of"},
        {"kafka://a:1/t/u", "\"t/u\" is no name"},
        {"kafka://a:1/..", "1 to 249 of"},
        {"memory:", "expected a name"}}) {
    const std::string why = why_not(ledger);
    EXPECT_NE(why.find(expected), std::string::npos) << ledger << ": " << why;
    EXPECT_EQ(why.find("`ledger` \"" + std::string(ledger)), 0U) << why;
  }
}

TEST(LedgerAddressTest, TwoPlacesAreOneTooMany) {
  KafkaConnection rest;
  rest.brokers = "b:1";
  EXPECT_NE(why_not("kafka://a:1/t", rest).find("`kafka.brokers`"), std::string::npos);
  rest = {};
  rest.topic = "u";
  EXPECT_NE(why_not("kafka://a:1/t", rest).find("`kafka.topic`"), std::string::npos);
}

}  // namespace
}  // namespace neliroute
