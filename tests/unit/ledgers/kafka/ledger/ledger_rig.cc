#include "tests/unit/ledgers/kafka/ledger/ledger_rig.h"

#include <gtest/gtest.h>

#include <chrono>

namespace neliroute {

LedgerRig::~LedgerRig() {
  destroy();
  join_thread();
  close_broker();
}

void LedgerRig::open_broker() {
  broker_io_.run([this] {
    auto broker = EmbeddedBroker::open(broker_io_.executor(), {0, {{"neliroute", kPartitions}}});
    ASSERT_TRUE(broker.has_value()) << broker.error().message();
    broker_ = std::move(*broker);
  });
}

void LedgerRig::close_broker() {
  hang_.reset();
  if (broker_) broker_io_.run([this] { broker_.reset(); });
}

std::string LedgerRig::address() const { return broker_ ? broker_->address() : "127.0.0.1:1"; }

// By hand, as prepare_topic() needs a broker.
KafkaLedgerParameters LedgerRig::parameters(bool watcher) const {
  using std::chrono::seconds;
  KafkaLedgerParameters parameters;
  parameters.kafka.brokers = address();
  parameters.kafka.watcher = watcher;
  parameters.facts.partitions = parameters.facts.topic_partitions = kPartitions;
  parameters.facts.logs = kLogs;
  parameters.facts.session.protocol = GroupProtocol::classic;
  parameters.facts.embedded_broker = true;
  parameters.timing.interval = milliseconds{100};
  parameters.timing.lease = seconds{2};
  parameters.timing.clock_error = milliseconds{100};
  parameters.timing.session = seconds{6};
  parameters.timing.heartbeat = milliseconds{200};
  return parameters;
}

void LedgerRig::open(const KafkaLedgerParameters& parameters) {
  LedgerDriver::open(parameters.facts.logs,
                     [&](boost::asio::any_io_executor strand) -> std::unique_ptr<Ledger> {
                       auto ledger = KafkaLedger::open(std::move(strand), parameters);
                       EXPECT_TRUE(ledger.has_value()) << ledger.error().message();
                       return ledger ? std::move(*ledger) : nullptr;
                     });
}

void LedgerRig::on_ledger(const std::function<void(KafkaLedger&)>& work) {
  run([&](Ledger&) { work(kafka()); });
}

void LedgerRig::join_group(bool finish) {
  on_ledger([](KafkaLedger& ledger) { ledger.subscribe(); });
  EXPECT_TRUE(wait([](const Seen& seen) { return !seen.assigned.empty(); }));
  if (finish) on_ledger([](KafkaLedger& ledger) { ledger.finish_rebalances(1); });
}

void LedgerRig::answer_rebalances() {
  after_event([this](const Event& event) {
    const bool rebalance = std::holds_alternative<GroupAssigned>(event) ||
                           std::holds_alternative<GroupRevoked>(event);
    if (rebalance) kafka().finish_rebalances(1);
  });
}

}  // namespace neliroute
