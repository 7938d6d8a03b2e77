// A client that lost all its brokers is told their names again; one that did not is left alone.
#include "neli_core/kafka/broker_names.h"

#include <gtest/gtest.h>

#include "neli_core/kafka/rdkafka_ptr.h"
#include "tests/unit/kafka/ledger_rig.h"

namespace neliroute {
namespace {

constexpr LocalTime kLost{milliseconds{1000}};
constexpr int kSoonMs = 300;
constexpr int kLongMs = 30'000;

/// What librdkafka leaves behind when it dropped its last broker: a client that knows none.
class BrokerNamesTest : public testing::Test {
 protected:
  void SetUp() override {
    rig_.open_broker();
    handle_.reset(rd_kafka_new(RD_KAFKA_PRODUCER, rd_kafka_conf_new(), nullptr, 0));
    ASSERT_NE(handle_, nullptr);
  }
  [[nodiscard]] bool finds_the_cluster(int within_ms) const {
    const rd_kafka_metadata_t* metadata = nullptr;
    const auto error = rd_kafka_metadata(handle_.get(), 0, nullptr, &metadata, within_ms);
    if (metadata != nullptr) rd_kafka_metadata_destroy(metadata);
    return error == RD_KAFKA_RESP_ERR_NO_ERROR;
  }

  LedgerRig rig_;
  rdkafka::HandlePtr handle_;
};

TEST_F(BrokerNamesTest, WhoLostAllBrokersFindsThemAgain) {
  BrokerNames names{rig_.address()};
  names.tell_if_due(ClientKind::group, handle_.get(), kLost);
  EXPECT_FALSE(finds_the_cluster(kSoonMs)) << "nothing was lost yet";
  names.note_all_down(ClientKind::group, kLost);
  names.tell_if_due(ClientKind::group, handle_.get(), later(kLost, BrokerNames::kQuiet));
  EXPECT_TRUE(finds_the_cluster(kLongMs));
}

TEST_F(BrokerNamesTest, EachWordOfItPostpones) {
  BrokerNames names{rig_.address()};
  names.note_all_down(ClientKind::group, kLost);
  const LocalTime due = later(kLost, BrokerNames::kQuiet);
  names.note_all_down(ClientKind::group, due);
  names.tell_if_due(ClientKind::group, handle_.get(), due);
  EXPECT_FALSE(finds_the_cluster(kSoonMs)) << "it still looks for them itself";
  names.tell_if_due(ClientKind::group, handle_.get(), later(due, BrokerNames::kQuiet));
  EXPECT_TRUE(finds_the_cluster(kLongMs));
}

TEST_F(BrokerNamesTest, EachClientHasItsOwnTime) {
  BrokerNames names{rig_.address()};
  const LocalTime due = later(kLost, BrokerNames::kQuiet);
  names.note_all_down(ClientKind::tail, kLost);
  names.tell_if_due(ClientKind::group, handle_.get(), due);
  names.tell_if_due(ClientKind::tail, nullptr, due);  // it is being replaced
  EXPECT_FALSE(finds_the_cluster(kSoonMs));
  names.tell_if_due(ClientKind::tail, handle_.get(), later(due, BrokerNames::kQuiet));
  EXPECT_FALSE(finds_the_cluster(kSoonMs)) << "once is enough, its successor knows them";
}

}  // namespace
}  // namespace neliroute
