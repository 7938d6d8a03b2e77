#include "tests/unit/ledgers/kafka/mock_cluster.h"

#include <gtest/gtest.h>

#include "tests/unit/embedded_broker/clients.h"

#if RD_KAFKA_VERSION >= 0x020f0000  // what the mock cluster supports

namespace neliroute {
namespace {

constexpr const char* kTopic = "neliroute";
constexpr std::int32_t kBroker = 1;
constexpr std::int16_t kConsumerGroupHeartbeat = 68;

}  // namespace

MockCluster::MockCluster(int partitions, int brokers) : partitions_(partitions) {
  rd_kafka_conf_t* conf = rd_kafka_conf_new();
  rd_kafka_conf_set(conf, "log_level", "0", nullptr, 0);
  handle_.reset(rd_kafka_new(RD_KAFKA_PRODUCER, conf, nullptr, 0));
  cluster_.reset(rd_kafka_mock_cluster_new(handle_.get(), brokers));
  rd_kafka_mock_group_initial_rebalance_delay_ms(cluster_.get(), 0);
  rd_kafka_mock_set_apiversion(cluster_.get(), kConsumerGroupHeartbeat, -1, -1);
  create_topic();
}

std::string MockCluster::address() const {
  return rd_kafka_mock_cluster_bootstraps(cluster_.get());
}

void MockCluster::create_topic() {
  EXPECT_EQ(rd_kafka_mock_topic_create(cluster_.get(), kTopic, partitions_, 1),
            RD_KAFKA_RESP_ERR_NO_ERROR);
  for (int p = 0; p < partitions_; ++p) elect_leader(p);
}

void MockCluster::elect_leader(std::int32_t partition) {
  move_leader(partition, kBroker);
}

void MockCluster::move_leader(std::int32_t partition, std::int32_t broker) {
  EXPECT_EQ(rd_kafka_mock_partition_set_leader(cluster_.get(), kTopic, partition, broker),
            RD_KAFKA_RESP_ERR_NO_ERROR);
}

void MockCluster::move_leader_untold(std::int32_t partition, std::int32_t broker) {
  EXPECT_EQ(rd_kafka_mock_partition_push_leader_response(cluster_.get(), kTopic, partition,
                                                         /*leader_id=*/-1, /*leader_epoch=*/-1),
            RD_KAFKA_RESP_ERR_NO_ERROR);
  move_leader(partition, broker);
}

void MockCluster::stop(std::int32_t broker) {
  EXPECT_EQ(rd_kafka_mock_broker_set_down(cluster_.get(), broker), RD_KAFKA_RESP_ERR_NO_ERROR);
}

void MockCluster::start(std::int32_t broker) {
  EXPECT_EQ(rd_kafka_mock_broker_set_up(cluster_.get(), broker), RD_KAFKA_RESP_ERR_NO_ERROR);
}

void MockCluster::lag(std::int32_t partition, std::int32_t broker, std::int64_t end) {
  EXPECT_EQ(rd_kafka_mock_partition_set_follower_wmarks(cluster_.get(), kTopic, partition,
                                                        /*lo=*/-1, end),
            RD_KAFKA_RESP_ERR_NO_ERROR);
  EXPECT_EQ(rd_kafka_mock_partition_set_follower(cluster_.get(), kTopic, partition, broker),
            RD_KAFKA_RESP_ERR_NO_ERROR);
}

void MockCluster::delete_records(std::int32_t partition, std::int64_t before) {
  EXPECT_EQ(rd_kafka_mock_partition_delete_records(cluster_.get(), kTopic, partition, before),
            RD_KAFKA_RESP_ERR_NO_ERROR);
}

void MockCluster::delete_topic() {
  EXPECT_EQ(rd_kafka_mock_topic_delete(cluster_.get(), kTopic), RD_KAFKA_RESP_ERR_NO_ERROR);
}

void MockCluster::recreate_topic() {
  delete_topic();
  create_topic();
}

void MockCluster::produce(std::int32_t partition, const std::string& value) {
  neliroute::produce(address(), kTopic, partition, {value});
}

}  // namespace neliroute

#endif
