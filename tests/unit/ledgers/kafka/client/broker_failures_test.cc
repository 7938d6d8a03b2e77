// Why brokers do not answer, from what librdkafka says of each. tests/tool/unreachable_test.py has
// the servers that make it say so.

#include "ledgers/kafka/client/broker_failures.h"

#include <gmock/gmock.h>

namespace neliroute {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

constexpr const char* kVerify =
    "ssl://a:9093/bootstrap: SSL handshake failed: error:0A000086:SSL routines::certificate verify "
    "failed: broker certificate could not be verified (after 8ms in state SSL_HANDSHAKE)";

TEST(BrokerFailures, NothingIsKnownAtFirst) {
  BrokerFailures failures;
  failures.note("2/2 brokers are down", RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN);
  failures.note("no colon", RD_KAFKA_RESP_ERR__TRANSPORT);
  EXPECT_THAT(failures.text(), IsEmpty());
  EXPECT_EQ(failures.refusals(), 0U);
}

TEST(BrokerFailures, TheLastOfEachBrokerIsToldWithoutTimesAndSchemes) {
  BrokerFailures failures;
  failures.note("a:1/bootstrap: Connect to ipv4#127.0.0.1:1 failed: Connection refused (after 0ms "
                "in state CONNECT)", RD_KAFKA_RESP_ERR__TRANSPORT);
  failures.note("sasl_ssl://b:2/1: first", RD_KAFKA_RESP_ERR__TRANSPORT);
  failures.note("sasl_ssl://b:2/1: second (after 3ms in state UP, 4 identical error(s) suppressed)",
                RD_KAFKA_RESP_ERR_NO_ERROR);
  EXPECT_EQ(failures.text(),
            "a:1: Connect to ipv4#127.0.0.1:1 failed: Connection refused, b:2: second");
}

TEST(BrokerFailures, WhatIsNotKafkaIsToldAsSuch) {
  BrokerFailures failures;
  failures.note("a:1/bootstrap: Receive failed: Invalid response size 1213486160 (0..100000000): "
                "increase receive.message.max.bytes (after 0ms in state APIVERSION_QUERY)",
                RD_KAFKA_RESP_ERR__BAD_MSG);
  EXPECT_THAT(failures.text(), AllOf(HasSubstr("a:1: what it answers is not of Kafka's protocol; "),
                                     HasSubstr("or not be Kafka's"), Not(HasSubstr("increase"))));
}

TEST(BrokerFailures, ATlsConnectionThatIsClosedOnceItIsUpMayWantSasl) {
  BrokerFailures failures;
  failures.note("ssl://a:1/bootstrap: Disconnected: SSL connection closed by peer (after 9ms in "
                "state UP)", RD_KAFKA_RESP_ERR__TRANSPORT);
  EXPECT_THAT(failures.text(), HasSubstr("may want SASL"));
  BrokerFailures sending;  // it was closed before all was sent
  sending.note("ssl://a:1/bootstrap: Send failed: SSL transport error: Broken pipe (after 2ms in "
               "state APIVERSION_QUERY)", RD_KAFKA_RESP_ERR__TRANSPORT);
  EXPECT_THAT(sending.text(), HasSubstr("security.protocol"));
  BrokerFailures up;
  up.note("ssl://a:1/bootstrap: Send failed: SSL transport error: Broken pipe (after 0ms in state "
          "UP)", RD_KAFKA_RESP_ERR__TRANSPORT);
  EXPECT_THAT(up.text(), HasSubstr("may want SASL"));
}

TEST(BrokerFailures, ARefusalStaysAndIsCounted) {
  BrokerFailures failures;
  failures.note(kVerify, RD_KAFKA_RESP_ERR__SSL);
  failures.note("ssl://a:9093/bootstrap: error:0A000086:SSL routines:: (after 2ms in state "
                "SSL_HANDSHAKE)", RD_KAFKA_RESP_ERR__TRANSPORT);
  EXPECT_EQ(failures.refusals(), 1U);
  EXPECT_THAT(failures.text(), AllOf(HasSubstr("could not be verified; "),
                                     HasSubstr("ssl.ca.location"), HasSubstr("this host name")));
  failures.note("sasl_plaintext://b:9094/bootstrap: SASL SCRAM-SHA-512 mechanism handshake failed",
                RD_KAFKA_RESP_ERR__AUTHENTICATION);
  EXPECT_EQ(failures.refusals(), 2U);
  EXPECT_THAT(failures.text(), HasSubstr("`kafka.properties` security.protocol and sasl.*"));
}

TEST(BrokerFailures, OfManyBrokersAFewAreNamedAndWhatToDoOnce) {
  BrokerFailures failures;
  for (const char* line : {"a:1/bootstrap: Failed to resolve 'a:1'", "b:1/bootstrap: Failed to "
                           "resolve 'b:1'", "c:1/bootstrap: x", "d:1/bootstrap: y",
                           "e:1/bootstrap: z"}) {
    failures.note(line, RD_KAFKA_RESP_ERR__RESOLVE);
  }
  EXPECT_EQ(failures.text(),
            "a:1: Failed to resolve 'a:1', b:1: Failed to resolve 'b:1', c:1: x, and 2 more; check "
            "the name in `kafka.brokers`, and this machine's DNS");
}

}  // namespace
}  // namespace neliroute
