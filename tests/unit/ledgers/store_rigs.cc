#include "tests/unit/ledgers/store_rigs.h"

#include <gtest/gtest.h>

#include <chrono>
#include <neliroute/clock.h>
#include <utility>

#include "ledgers/kafka/kafka_ledger.h"
#include "ledgers/memory/memory_ledger.h"
#include "tests/unit/ledgers/kafka/mock_cluster.h"

namespace neliroute {
namespace {

using namespace std::chrono_literals;

BrokerTime wall_ms() {
  return BrokerTime{std::chrono::duration_cast<milliseconds>(wall_now().time_since_epoch())};
}

class MemoryRig : public StoreRig {
 public:
  explicit MemoryRig(std::int64_t step) { store_->set_step(step); }

  OpenedLedger open(boost::asio::any_io_executor strand, bool watcher) override {
    OpenedLedger opened;
    opened.ledger = std::make_unique<MemoryLedger>(std::move(strand), store_,
                                                   MemoryLedgerOptions{kContractLease, watcher});
    return opened;
  }
  void append_by_stranger(Log log, const std::string& value) override {
    EXPECT_TRUE(store_->append(log, value));
  }
  void fall_silent() override { store_->set_health(MemoryStore::Health::silent); }
  void come_back() override { store_->set_health(MemoryStore::Health::well); }
  void expire(Log log, std::int64_t low) override { store_->expire(log, low); }
  void truncate(Log log, std::int64_t from, std::int64_t) override {
    store_->truncate(log, from);
  }
  void replace() override {
    for (std::uint32_t log = 0; log < kContractLogs; ++log) store_->replace(Log{log});
  }

 private:
  std::shared_ptr<MemoryStore> store_ =
      std::make_shared<MemoryStore>(kContractLogs, wall_ms, milliseconds{10min});
};

// librdkafka's mock cluster: its one broker is stopped and started, and keeps its records.
class KafkaRig : public StoreRig {
 public:
  OpenedLedger open(boost::asio::any_io_executor strand, bool watcher) override {
    KafkaLedgerParameters parameters;
    parameters.kafka.brokers = cluster_.address();
    parameters.kafka.assignment = Assignment::assigner;
    parameters.kafka.watcher = watcher;
    parameters.facts.partitions = parameters.facts.topic_partitions = kContractLogs;
    parameters.facts.logs = kContractLogs;
    parameters.facts.embedded_broker = true;
    parameters.timing.interval = 100ms;
    parameters.timing.lease = kContractLease;
    parameters.timing.clock_error = 100ms;
    parameters.timing.session = 1s;
    auto ledger = KafkaLedger::open(std::move(strand), parameters);
    EXPECT_TRUE(ledger.has_value()) << ledger.error().message();
    OpenedLedger opened;
    if (ledger) opened.ledger = std::move(*ledger);
    return opened;
  }
  void append_by_stranger(Log log, const std::string& value) override {
    cluster_.produce(static_cast<std::int32_t>(log.value()), value);
  }
  void fall_silent() override { cluster_.stop(1); }
  void come_back() override { cluster_.start(1); }
  void expire(Log log, std::int64_t low) override {
    cluster_.delete_records(static_cast<std::int32_t>(log.value()), low);
  }
  // The mock cannot lose its last records alone, so it loses all of them: a new leader knows less
  // than its readers, which is how Kafka tells.
  void truncate(Log log, std::int64_t, std::int64_t end) override {
    const auto partition = static_cast<std::int32_t>(log.value());
    cluster_.delete_records(partition, end);
    cluster_.elect_leader(partition);
  }
  void replace() override { cluster_.recreate_topic(); }

 private:
  MockCluster cluster_{static_cast<int>(kContractLogs)};
};

}  // namespace

std::unique_ptr<StoreRig> make_memory_rig() { return std::make_unique<MemoryRig>(1); }
std::unique_ptr<StoreRig> make_sparse_memory_rig() { return std::make_unique<MemoryRig>(7); }
std::unique_ptr<StoreRig> make_kafka_rig() { return std::make_unique<KafkaRig>(); }

}  // namespace neliroute
