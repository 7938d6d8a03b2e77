// A ledger on Kafka on a thread of its own, the embedded broker on another, and what was seen.
//
// The broker's thread must run while the ledger opens, which waits for an answer.
//
// Threads: the test's; events are noted on the ledger's.   Units: std::chrono.
// Errors: they fail the test.
#pragma once

#include <librdkafka/rdkafka.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "embedded_broker/embedded_broker.h"
#include "ledgers/kafka/kafka_ledger.h"
#include "tests/unit/ledgers/ledger_driver.h"

namespace neliroute {

class LedgerRig : public LedgerDriver {
 public:
  static constexpr std::uint32_t kPartitions = 4;
  static constexpr std::uint32_t kLogs = 2;

  ~LedgerRig();

  void open_broker();
  void close_broker();
  /// It keeps its connections, and answers nobody until it is closed.
  void silence_broker() { hang_.emplace(broker_io_); }
  /// The broker's, or a port where nobody listens.
  [[nodiscard]] std::string address() const;
  [[nodiscard]] KafkaLedgerParameters parameters(bool watcher = false) const;

  void open(const KafkaLedgerParameters& parameters);
  /// Carries it out on the ledger's strand.
  void on_ledger(const std::function<void(KafkaLedger&)>& work);
  /// Acknowledges every rebalance as soon as it is reported. Before start().
  void answer_rebalances();
  /// And joins, and waits until all is assigned; `finish`: lets it proceed.
  void join_group(bool finish);

 private:
  [[nodiscard]] KafkaLedger& kafka() { return static_cast<KafkaLedger&>(*ledger_); }

  IoThread broker_io_;
  std::unique_ptr<EmbeddedBroker> broker_;
  std::optional<Hang> hang_;
};

}  // namespace neliroute
