// librdkafka's mock cluster by itself, with what the embedded broker keeps to itself: leaders'
// epochs, records that go, topics that are deleted and created again.
//
// Threads: any.   Units: offsets.   Errors: they fail the test.
#pragma once

#include <librdkafka/rdkafka.h>
// After rdkafka.h, which it needs.
#include <librdkafka/rdkafka_mock.h>

#include <cstdint>
#include <memory>
#include <string>

#include "ledgers/kafka/client/rdkafka_ptr.h"

namespace neliroute {

/// Brokers with the topic "neliroute", which the first one leads.
class MockCluster {
 public:
  explicit MockCluster(int partitions, int brokers = 1);

  [[nodiscard]] std::string address() const;
  /// The same broker leads on, as if it had been elected again.
  void elect_leader(std::int32_t partition);
  /// Another broker leads from now on.
  void move_leader(std::int32_t partition, std::int32_t broker);
  /// The same, but who fetches from the old leader hears once that the new one is not known.
  void move_leader_untold(std::int32_t partition, std::int32_t broker);
  void stop(std::int32_t broker);
  void start(std::int32_t broker);
  /// Clients read from another broker from now on. It has the whole log, but lets them read it only
  /// up to `end`, as a new leader does for a moment.
  void lag(std::int32_t partition, std::int32_t broker, std::int64_t end);
  /// The log begins at `before` from now on.
  void delete_records(std::int32_t partition, std::int64_t before);
  void create_topic();  ///< there is one at first
  void delete_topic();
  void recreate_topic();
  /// From a client of its own; returns when it is stored.
  void produce(std::int32_t partition, const std::string& value);

 private:
  struct DestroyCluster {
    void operator()(rd_kafka_mock_cluster_t* cluster) const noexcept {
      rd_kafka_mock_cluster_destroy(cluster);
    }
  };

  int partitions_;
  rdkafka::HandlePtr handle_;
  std::unique_ptr<rd_kafka_mock_cluster_t, DestroyCluster> cluster_;
};

}  // namespace neliroute
