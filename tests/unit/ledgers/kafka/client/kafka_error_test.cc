#include "ledgers/kafka/client/kafka_error.h"

#include <gmock/gmock.h>

#include "ledgers/kafka/troubles.h"

namespace neliroute {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

rd_kafka_resp_err_t code(int number) { return static_cast<rd_kafka_resp_err_t>(number); }

TEST(KafkaErrorTest, SaysWhatAnErrorMeansForATail) {
  EXPECT_EQ(tail_fault_of(RD_KAFKA_RESP_ERR_NO_ERROR), TailFault::none);
  EXPECT_EQ(tail_fault_of(RD_KAFKA_RESP_ERR__TRANSPORT), TailFault::none);
  EXPECT_EQ(tail_fault_of(RD_KAFKA_RESP_ERR_NOT_LEADER_FOR_PARTITION), TailFault::none);
  EXPECT_EQ(tail_fault_of(RD_KAFKA_RESP_ERR__AUTO_OFFSET_RESET), TailFault::out_of_range);
  EXPECT_EQ(tail_fault_of(RD_KAFKA_RESP_ERR_OFFSET_OUT_OF_RANGE), TailFault::out_of_range);
  EXPECT_EQ(tail_fault_of(RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART), TailFault::missing);
  EXPECT_EQ(tail_fault_of(RD_KAFKA_RESP_ERR__UNKNOWN_TOPIC), TailFault::missing);
  EXPECT_EQ(tail_fault_of(RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION), TailFault::missing);
  EXPECT_EQ(tail_fault_of(RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED), TailFault::refused);
  for (const int unreadable : {2, -1, -199, -198}) {
    EXPECT_EQ(tail_fault_of(code(unreadable)), TailFault::unreadable) << unreadable;
  }
  EXPECT_THAT(describe(RD_KAFKA_RESP_ERR_INVALID_MSG), HasSubstr("kafka-delete-records"));
}

TEST(KafkaErrorTest, EachKindOfTroubleIsReportedOnceUntilSomethingWorks) {
  Troubles troubles;
  for (int attempt = 0; attempt < 3; ++attempt) {
    EXPECT_EQ(troubles.is_new(RD_KAFKA_RESP_ERR__SSL), attempt == 0);
    EXPECT_EQ(troubles.is_new(RD_KAFKA_RESP_ERR__TIMED_OUT), attempt == 0);
  }
  troubles.clear();
  EXPECT_TRUE(troubles.is_new(RD_KAFKA_RESP_ERR__SSL));
}

// The numbers that older headers have no names for are the ones meant.
TEST(KafkaErrorTest, KnowsTheErrorsThatAreNotInEveryHeader) {
  EXPECT_EQ(tail_fault_of(code(-139)), TailFault::truncated);
  EXPECT_EQ(tail_fault_of(code(100)), TailFault::replaced);
  EXPECT_EQ(tail_fault_of(code(103)), TailFault::replaced);
#if RD_KAFKA_VERSION >= 0x020c0000
  EXPECT_STREQ(rd_kafka_err2name(code(-139)), "_LOG_TRUNCATION");
  EXPECT_STREQ(rd_kafka_err2name(code(100)), "UNKNOWN_TOPIC_ID");
#endif
}

TEST(KafkaErrorTest, OnlyTwoErrorsSayThatTheGroupIsInconsistent) {
  EXPECT_TRUE(is_inconsistent_group(RD_KAFKA_RESP_ERR_INCONSISTENT_GROUP_PROTOCOL));
  EXPECT_TRUE(is_inconsistent_group(RD_KAFKA_RESP_ERR_GROUP_ID_NOT_FOUND));
  EXPECT_FALSE(is_inconsistent_group(RD_KAFKA_RESP_ERR_NO_ERROR));
  EXPECT_FALSE(is_inconsistent_group(RD_KAFKA_RESP_ERR_UNKNOWN_MEMBER_ID));
  EXPECT_FALSE(is_inconsistent_group(RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED));
}

TEST(KafkaErrorTest, ARefusalIsNotABrokerThatIsAway) {
  for (const auto error : {RD_KAFKA_RESP_ERR__AUTHENTICATION, RD_KAFKA_RESP_ERR__SSL,
                           RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED,
                           RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED,
                           RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED}) {
    EXPECT_TRUE(is_refusal(error)) << rd_kafka_err2name(error);
    EXPECT_FALSE(is_unreachable(error)) << rd_kafka_err2name(error);
    EXPECT_TRUE(is_unknown_answer(error)) << rd_kafka_err2name(error);
  }
  for (const auto error : {RD_KAFKA_RESP_ERR__TRANSPORT, RD_KAFKA_RESP_ERR__TIMED_OUT,
                           RD_KAFKA_RESP_ERR__ALL_BROKERS_DOWN, RD_KAFKA_RESP_ERR__RESOLVE}) {
    EXPECT_TRUE(is_unreachable(error)) << rd_kafka_err2name(error);
    EXPECT_FALSE(is_refusal(error)) << rd_kafka_err2name(error);
  }
  EXPECT_FALSE(is_refusal(RD_KAFKA_RESP_ERR_NO_ERROR));
  EXPECT_FALSE(is_unreachable(RD_KAFKA_RESP_ERR_NO_ERROR));
}

TEST(KafkaErrorTest, ABrokerThatDoesNotKnowTheCallTellsNothing) {
  EXPECT_TRUE(is_unknown_answer(RD_KAFKA_RESP_ERR__UNSUPPORTED_FEATURE));
  EXPECT_TRUE(is_unknown_answer(RD_KAFKA_RESP_ERR_UNSUPPORTED_VERSION));
  EXPECT_FALSE(is_unknown_answer(RD_KAFKA_RESP_ERR_UNKNOWN_TOPIC_OR_PART));
}

TEST(KafkaErrorTest, DescribesWithTheNameAndWhatToDo) {
  EXPECT_THAT(describe(RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED),
              AllOf(HasSubstr("(GROUP_AUTHORIZATION_FAILED)"), HasSubstr("; grant READ")));
  EXPECT_EQ(describe(RD_KAFKA_RESP_ERR__TRANSPORT, "nobody there"), "nobody there (_TRANSPORT)");
  EXPECT_THAT(describe(RD_KAFKA_RESP_ERR__TRANSPORT),
              AllOf(HasSubstr(rd_kafka_err2str(RD_KAFKA_RESP_ERR__TRANSPORT)),
                    Not(HasSubstr(";"))));
}

TEST(KafkaErrorTest, NamesTheSettingThatMendsIt) {
  for (const auto& [error, setting] :
       {std::pair{RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED, "READ, WRITE and DESCRIBE"},
        std::pair{RD_KAFKA_RESP_ERR_GROUP_AUTHORIZATION_FAILED, "READ and DESCRIBE on the group"},
        std::pair{RD_KAFKA_RESP_ERR_CLUSTER_AUTHORIZATION_FAILED, "grant WRITE on the topic"},
        std::pair{RD_KAFKA_RESP_ERR__AUTHENTICATION, "sasl.*"},
        std::pair{RD_KAFKA_RESP_ERR_SASL_AUTHENTICATION_FAILED, "sasl.*"},
        std::pair{RD_KAFKA_RESP_ERR__SSL, "ssl.*"},
        std::pair{RD_KAFKA_RESP_ERR_INCONSISTENT_GROUP_PROTOCOL, "`group_protocol`"},
        std::pair{RD_KAFKA_RESP_ERR_MSG_SIZE_TOO_LARGE, "max.message.bytes"},
        std::pair{RD_KAFKA_RESP_ERR_INVALID_RECORD, "cleanup.policy=delete"},
        std::pair{RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS, "min.insync.replicas"},
        std::pair{RD_KAFKA_RESP_ERR_NOT_ENOUGH_REPLICAS_AFTER_APPEND, "min.insync.replicas"},
        std::pair{RD_KAFKA_RESP_ERR__MSG_TIMED_OUT, "within a lease"},
        std::pair{RD_KAFKA_RESP_ERR_GROUP_MAX_SIZE_REACHED, "group.max.size"},
        std::pair{RD_KAFKA_RESP_ERR_INVALID_SESSION_TIMEOUT, "group.min.session.timeout.ms"}}) {
    EXPECT_THAT(describe(error), HasSubstr(setting));
  }
}

TEST(KafkaErrorTest, WhatWePurgedOurselvesIsNoTrouble) {
  EXPECT_TRUE(is_own_doing(RD_KAFKA_RESP_ERR__PURGE_QUEUE));
  EXPECT_TRUE(is_own_doing(RD_KAFKA_RESP_ERR__PURGE_INFLIGHT));
  EXPECT_TRUE(is_own_doing(RD_KAFKA_RESP_ERR__DESTROY));
  EXPECT_FALSE(is_own_doing(RD_KAFKA_RESP_ERR__MSG_TIMED_OUT));
}

}  // namespace
}  // namespace neliroute
