// Clients of the embedded broker for its tests: librdkafka as it is, and Kafka's protocol by hand.
//
// Threads: one each.   Units: milliseconds.   Errors: they fail the test.
#pragma once

#include <librdkafka/rdkafka.h>

#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

namespace neliroute {

using Properties = std::map<std::string, std::string>;

struct DestroyClient {
  void operator()(rd_kafka_t* client) const noexcept { rd_kafka_destroy(client); }
};
using Client = std::unique_ptr<rd_kafka_t, DestroyClient>;

/// Properties beside bootstrap.servers.
[[nodiscard]] Client make_client(rd_kafka_type_t type, const std::string& address,
                                 const Properties& settings = {});

struct Metadata {
  std::vector<std::string> brokers;  ///< host:port
  std::map<std::string, int> topics;  ///< partition counts
};
[[nodiscard]] Metadata metadata_of(rd_kafka_t* client);

/// Writes them in order, and waits until each is acknowledged.
void produce(const std::string& address, const std::string& topic, std::int32_t partition,
             const std::vector<std::string>& values);
/// Reads the first `count` of them.
[[nodiscard]] std::vector<std::string> consume(const std::string& address,
                                               const std::string& topic, std::int32_t partition,
                                               std::size_t count);

/// A member of a group with classic cooperative-sticky; it serves its callbacks in poll(). (Not
/// called Member: neli_core, which is linked in, has another.)
class GroupClient {
 public:
  GroupClient(const std::string& address, const std::string& group, const std::string& topic,
              const Properties& settings = {});

  void poll(int timeout_ms);
  /// Sends the heartbeat that is due: librdkafka does it by itself only every 500 ms.
  void pump();
  [[nodiscard]] const std::set<std::int32_t>& partitions() const noexcept { return partitions_; }
  void close();

 private:
  void on_rebalance(rd_kafka_resp_err_t what, rd_kafka_topic_partition_list_t* partitions);

  std::set<std::int32_t> partitions_;
  Client client_;
};

/// Kafka's protocol, one request at a time, versions without flexible fields.
class RawClient {
 public:
  explicit RawClient(std::uint16_t port);

  void send(std::int16_t api, std::int16_t version, const std::string& body);
  /// The answer's body.
  [[nodiscard]] std::string receive();
  void close();
  boost::asio::ip::tcp::socket& socket() noexcept { return socket_; }

  [[nodiscard]] static std::string i16(std::int16_t value);
  [[nodiscard]] static std::string i32(std::int32_t value);
  [[nodiscard]] static std::string text(std::string_view value);
  /// Reads big-endian numbers from the front, and removes them.
  [[nodiscard]] static std::int16_t take_i16(std::string& bytes);
  [[nodiscard]] static std::int32_t take_i32(std::string& bytes);
  [[nodiscard]] static std::string take_text(std::string& bytes);

 private:
  boost::asio::io_context io_;
  boost::asio::ip::tcp::socket socket_{io_};
};

}  // namespace neliroute
