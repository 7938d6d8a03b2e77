// The ledger on Kafka: one producer, one tail, one group consumer, driven by one eventfd.
//
// Threads: everything on the strand; besides librdkafka's own threads, a heartbeat pump with the
// classic protocol.   Units: std::chrono.
// Errors: open() returns what settings make impossible; what happens later is an event or a
// notice. An unreachable broker is neither an error nor the end.
#pragma once

#include <boost/asio/any_io_executor.hpp>
#include <memory>
#include <neliroute/error.h>

#include "ledgers/kafka/kafka_options.h"
#include "ledgers/kafka/topic/topic_setup.h"
#include "neli_core/group_port.h"
#include "neli_core/ledger.h"

namespace neliroute {

class KafkaStatistics;

struct KafkaLedgerParameters {
  /// With kafka.watcher: the tail alone, and a producer if kafka.writes; subscribe() must not be
  /// called, nor write() without one.
  KafkaOptions kafka;
  TopicFacts facts;
  Timing timing;
  /// Receives what the clients count; null: they do not report it.
  std::shared_ptr<KafkaStatistics> statistics;
  /// Whose records are this process's own. kNobody: it stays in the group whether or not it can
  /// lead what it is given (Withdrawal).
  ProcessId self = kNobody;
};

/// Which clients carry it out is hidden (ledger/kafka_ledger_impl.h): no public header includes
/// librdkafka.
class KafkaLedger : public Ledger, public GroupPort {
 public:
  /// What it returns is destroyed on the strand, but not from inside its own calls and events.
  /// Without close() that drops everything at once, and leaves the group to its session timeout.
  [[nodiscard]] static Result<std::unique_ptr<KafkaLedger>> open(
      boost::asio::any_io_executor strand, KafkaLedgerParameters parameters);
};

}  // namespace neliroute
