#include "tests/unit/embedded_broker/clients.h"

#include <gtest/gtest.h>

#include <array>
#include <boost/asio/read.hpp>
#include <boost/asio/write.hpp>

namespace neliroute {
namespace {

constexpr int kTimeoutMs = 20'000;

struct DestroyTopic {
  void operator()(rd_kafka_topic_t* topic) const noexcept { rd_kafka_topic_destroy(topic); }
};
using Topic = std::unique_ptr<rd_kafka_topic_t, DestroyTopic>;

std::string big_endian(std::uint32_t value, int bytes) {
  std::string text;
  for (int i = bytes - 1; i >= 0; --i) text += static_cast<char>(value >> (8 * i) & 0xffU);
  return text;
}

std::uint32_t take(std::string& bytes, std::size_t count) {
  std::uint32_t value = 0;
  for (std::size_t i = 0; i < count; ++i) {
    value = value << 8U | static_cast<unsigned char>(bytes.at(i));
  }
  bytes.erase(0, count);
  return value;
}

}  // namespace

// --- librdkafka as it is -------------------------------------------------------------------------

Client make_client(rd_kafka_type_t type, const std::string& address, const Properties& settings) {
  rd_kafka_conf_t* conf = rd_kafka_conf_new();
  Properties all{{"bootstrap.servers", address}, {"log_level", "4"}};
  for (const auto& [key, value] : settings) all[key] = value;
  std::array<char, 512> why{};
  for (const auto& [key, value] : all) {
    EXPECT_EQ(rd_kafka_conf_set(conf, key.c_str(), value.c_str(), why.data(), why.size()),
              RD_KAFKA_CONF_OK)
        << why.data();
  }
  Client client(rd_kafka_new(type, conf, why.data(), why.size()));
  EXPECT_TRUE(client) << why.data();
  return client;
}

Metadata metadata_of(rd_kafka_t* client) {
  Metadata found;
  const struct rd_kafka_metadata* metadata = nullptr;
  const auto error = rd_kafka_metadata(client, 1, nullptr, &metadata, kTimeoutMs);
  EXPECT_EQ(error, RD_KAFKA_RESP_ERR_NO_ERROR) << rd_kafka_err2str(error);
  if (error) return found;
  for (int i = 0; i < metadata->broker_cnt; ++i) {
    const auto& broker = metadata->brokers[i];
    found.brokers.push_back(std::string(broker.host) + ":" + std::to_string(broker.port));
  }
  for (int i = 0; i < metadata->topic_cnt; ++i) {
    found.topics[metadata->topics[i].topic] = metadata->topics[i].partition_cnt;
  }
  rd_kafka_metadata_destroy(metadata);
  return found;
}

void produce(const std::string& address, const std::string& topic, std::int32_t partition,
             const std::vector<std::string>& values) {
  const Client client = make_client(RD_KAFKA_PRODUCER, address,
                                    {{"enable.idempotence", "true"}, {"linger.ms", "0"}});
  const Topic handle(rd_kafka_topic_new(client.get(), topic.c_str(), nullptr));
  for (std::string value : values) {
    EXPECT_EQ(rd_kafka_produce(handle.get(), partition, RD_KAFKA_MSG_F_COPY, value.data(),
                               value.size(), nullptr, 0, nullptr),
              0);
  }
  EXPECT_EQ(rd_kafka_flush(client.get(), kTimeoutMs), RD_KAFKA_RESP_ERR_NO_ERROR);
}

std::vector<std::string> consume(const std::string& address, const std::string& topic,
                                 std::int32_t partition, std::size_t count) {
  const Client client =
      make_client(RD_KAFKA_CONSUMER, address, {{"fetch.wait.max.ms", "10"}, {"group.id", "none"}});
  auto* list = rd_kafka_topic_partition_list_new(1);
  rd_kafka_topic_partition_list_add(list, topic.c_str(), partition)->offset =
      RD_KAFKA_OFFSET_BEGINNING;
  EXPECT_EQ(rd_kafka_assign(client.get(), list), RD_KAFKA_RESP_ERR_NO_ERROR);
  rd_kafka_topic_partition_list_destroy(list);
  std::vector<std::string> values;
  while (values.size() < count) {
    rd_kafka_message_t* message = rd_kafka_consumer_poll(client.get(), kTimeoutMs);
    if (message == nullptr) {
      ADD_FAILURE() << "only " << values.size() << " of " << count << " records came";
      break;
    }
    EXPECT_EQ(message->err, RD_KAFKA_RESP_ERR_NO_ERROR) << rd_kafka_err2str(message->err);
    values.emplace_back(static_cast<const char*>(message->payload), message->len);
    rd_kafka_message_destroy(message);
  }
  return values;
}

// --- GroupClient ---------------------------------------------------------------------------------

GroupClient::GroupClient(const std::string& address, const std::string& group,
                         const std::string& topic, const Properties& settings) {
  rd_kafka_conf_t* conf = rd_kafka_conf_new();
  Properties all{{"bootstrap.servers", address},
               {"log_level", "4"},
               {"group.id", group},
               {"session.timeout.ms", "2000"},
               {"heartbeat.interval.ms", "200"},
               {"enable.auto.commit", "false"},
               {"fetch.wait.max.ms", "50"},
               {"partition.assignment.strategy", "cooperative-sticky"}};
  for (const auto& [key, value] : settings) all[key] = value;
  std::array<char, 512> why{};
  for (const auto& [key, value] : all) {
    EXPECT_EQ(rd_kafka_conf_set(conf, key.c_str(), value.c_str(), why.data(), why.size()),
              RD_KAFKA_CONF_OK)
        << why.data();
  }
  rd_kafka_conf_set_opaque(conf, this);
  rd_kafka_conf_set_rebalance_cb(
      conf, [](rd_kafka_t*, rd_kafka_resp_err_t what, rd_kafka_topic_partition_list_t* partitions,
               void* self) { static_cast<GroupClient*>(self)->on_rebalance(what, partitions); });
  client_.reset(rd_kafka_new(RD_KAFKA_CONSUMER, conf, why.data(), why.size()));
  EXPECT_TRUE(client_) << why.data();
  rd_kafka_poll_set_consumer(client_.get());
  auto* list = rd_kafka_topic_partition_list_new(1);
  rd_kafka_topic_partition_list_add(list, topic.c_str(), RD_KAFKA_PARTITION_UA);
  EXPECT_EQ(rd_kafka_subscribe(client_.get(), list), RD_KAFKA_RESP_ERR_NO_ERROR);
  rd_kafka_topic_partition_list_destroy(list);
}

void GroupClient::poll(int timeout_ms) {
  rd_kafka_message_t* message = rd_kafka_consumer_poll(client_.get(), timeout_ms);
  if (message != nullptr) rd_kafka_message_destroy(message);
}

void GroupClient::pump() {
  char* id = rd_kafka_memberid(client_.get());
  if (id != nullptr) rd_kafka_mem_free(client_.get(), id);
}

void GroupClient::close() {
  EXPECT_EQ(rd_kafka_consumer_close(client_.get()), RD_KAFKA_RESP_ERR_NO_ERROR);
}

void GroupClient::on_rebalance(rd_kafka_resp_err_t what,
                               rd_kafka_topic_partition_list_t* partitions) {
  const bool assigned = what == RD_KAFKA_RESP_ERR__ASSIGN_PARTITIONS;
  for (int i = 0; i < partitions->cnt; ++i) {
    if (assigned) {
      partitions->elems[i].offset = RD_KAFKA_OFFSET_END;
      partitions_.insert(partitions->elems[i].partition);
    } else {
      partitions_.erase(partitions->elems[i].partition);
    }
  }
  rd_kafka_error_t* error = assigned ? rd_kafka_incremental_assign(client_.get(), partitions)
                                     : rd_kafka_incremental_unassign(client_.get(), partitions);
  EXPECT_EQ(error, nullptr) << rd_kafka_error_string(error);
  if (error != nullptr) rd_kafka_error_destroy(error);
}

// --- Kafka's protocol by hand --------------------------------------------------------------------

RawClient::RawClient(std::uint16_t port) {
  socket_.connect({boost::asio::ip::address_v4::loopback(), port});
}

void RawClient::send(std::int16_t api, std::int16_t version, const std::string& body) {
  const std::string request = i16(api) + i16(version) + i32(1) + text("by hand") + body;
  boost::asio::write(socket_,
                     boost::asio::buffer(i32(static_cast<std::int32_t>(request.size())) + request));
}

std::string RawClient::receive() {
  std::string size(4, '\0');
  boost::asio::read(socket_, boost::asio::buffer(size));
  std::string answer(take(size, 4), '\0');
  boost::asio::read(socket_, boost::asio::buffer(answer));
  answer.erase(0, 4);  // the request's number
  return answer;
}

void RawClient::close() { socket_.close(); }

std::string RawClient::i16(std::int16_t value) {
  return big_endian(static_cast<std::uint16_t>(value), 2);
}
std::string RawClient::i32(std::int32_t value) {
  return big_endian(static_cast<std::uint32_t>(value), 4);
}
std::string RawClient::text(std::string_view value) {
  return i16(static_cast<std::int16_t>(value.size())) + std::string(value);
}
std::int16_t RawClient::take_i16(std::string& bytes) {
  return static_cast<std::int16_t>(take(bytes, 2));
}
std::int32_t RawClient::take_i32(std::string& bytes) {
  return static_cast<std::int32_t>(take(bytes, 4));
}
std::string RawClient::take_text(std::string& bytes) {
  const std::size_t size = take(bytes, 2);
  std::string value = bytes.substr(0, size);
  bytes.erase(0, size);
  return value;
}

}  // namespace neliroute
