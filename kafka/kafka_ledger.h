// The ledger on Kafka: one producer, one tail, one group consumer, driven by one eventfd.
//
// Threads: everything on the strand; besides librdkafka's own threads, a heartbeat pump with the
// classic protocol.   Units: std::chrono.
// Errors: open() returns what settings make impossible; what happens later is an event or a
// notice. A broker that is away is neither an error nor the end.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <memory>
#include <neliroute/error.h>

#include "kafka/kafka_options.h"
#include "kafka/topic/topic_setup.h"
#include "neli_core/ledger.h"

namespace neliroute {

class KafkaStatistics;

struct KafkaLedgerParameters {
  /// With kafka.watcher: the tail alone; write() and subscribe() must not be called.
  KafkaOptions kafka;
  LedgerFacts facts;
  Timing timing;
  /// Told what the clients count; null: nobody asks.
  std::shared_ptr<KafkaStatistics> statistics;
  /// Whose records are this process's own. kNobody: it stays in the group whether or not it can
  /// lead what it is given (Withdrawal).
  ProcessId self = kNobody;
};

class KafkaLedger : public Ledger {
 public:
  [[nodiscard]] static Result<std::unique_ptr<KafkaLedger>> open(
      boost::asio::any_io_executor strand, KafkaLedgerParameters parameters);
  /// Without close(): drops everything at once and leaves the group to its session timeout.
  ~KafkaLedger() override;

  void start(EventSink events, NoticeSink notices) override;
  void on_refused(std::function<void(const Error&)> handler) override;
  void write(Write write) override;
  void broadcast() override;
  void restart_tail(Log log) override;
  void reread(const RereadRequest& request) override;
  void subscribe() override;
  void expedite(milliseconds within) override;
  void finish_rebalances(std::uint32_t count) override;
  void leave_group() override;
  void count_others(std::function<void(std::optional<std::size_t>)> answer) override;
  void close(LocalTime deadline, std::function<void()> done) override;

 private:
  class Clients;
  explicit KafkaLedger(std::shared_ptr<Clients> clients);

  std::shared_ptr<Clients> clients_;
};

}  // namespace neliroute
