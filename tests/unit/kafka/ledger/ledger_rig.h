// A ledger on Kafka on a thread of its own, the embedded broker on another, and what was seen.
//
// The broker's thread must run while the ledger opens, which waits for an answer.
//
// Threads: the test's; events are noted on the ledger's.   Units: std::chrono.
// Errors: they fail the test.
#pragma once

#include <librdkafka/rdkafka.h>

#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "embedded_broker/embedded_broker.h"
#include "kafka/kafka_ledger.h"
#include "tests/unit/embedded_broker/io_thread.h"
#include "tests/unit/embedded_broker/silence.h"

namespace neliroute {

struct SeenRecord {
  std::int64_t offset = -1;
  std::uint64_t seq = 0;
  BrokerTime stamped;
  friend bool operator==(const SeenRecord&, const SeenRecord&) = default;
};

/// What a ledger handed back, in order.
struct Seen {
  std::vector<TailStarted> started;
  std::vector<std::vector<SeenRecord>> received;  ///< one for each log
  std::vector<Reread> rereads;
  std::vector<std::uint64_t> acknowledged;
  std::vector<std::uint64_t> failed;
  std::vector<PartitionRanges> assigned;
  std::vector<GroupRevoked> revoked;
  std::vector<GapFound> gaps;
  std::vector<Notice> notices;
  bool closed = false;
};

/// For the message of a test that failed.
std::ostream& operator<<(std::ostream& out, const Seen& seen);

class LedgerRig {
 public:
  static constexpr std::uint32_t kPartitions = 4;
  static constexpr std::uint32_t kLogs = 2;

  ~LedgerRig();

  void open_broker();
  void close_broker();
  /// It keeps its connections, and answers nobody until it is closed.
  void silence_broker() { silence_.emplace(broker_io_); }
  /// The broker's, or a port where nobody listens.
  [[nodiscard]] std::string address() const;
  [[nodiscard]] KafkaLedgerParameters parameters(bool watcher = false) const;

  void open(const KafkaLedgerParameters& parameters);
  void start();
  void close(milliseconds within);
  /// The same from the strand, within an event.
  void close(KafkaLedger& ledger, milliseconds within);
  /// Without close().
  void destroy();
  /// Carries it out on the ledger's strand.
  void on_ledger(const std::function<void(KafkaLedger&)>& work);
  /// Called on the strand after an event was noted. Before start().
  void after_event(std::function<void(const Event&)> work) { after_event_ = std::move(work); }
  /// The same with the time that the ledger passed with it. Before start().
  void after_timed_event(std::function<void(const Event&, LocalTime)> work) {
    after_timed_event_ = std::move(work);
  }

  /// Acknowledges every rebalance as soon as it is reported. Before start().
  void answer_rebalances();

  /// A claim that says this lease, and that it knows none longer.
  /// `read_until`: of its log, as the record says; no value: all.
  void write(Log log, std::uint64_t seq, milliseconds lease = milliseconds{2000},
             std::optional<BrokerTime> read_until = std::nullopt);
  /// Starts, and waits until every log is read.
  void start_and_read();
  /// And joins, and waits until all is assigned; `finish`: lets it proceed.
  void join_group(bool finish);

  /// False after `at_most`; what was seen until then is printed.
  [[nodiscard]] bool wait(const std::function<bool(const Seen&)>& condition,
                          milliseconds at_most = std::chrono::seconds{20});
  /// Whether it does not come to hold meanwhile.
  [[nodiscard]] bool never(const std::function<bool(const Seen&)>& condition, milliseconds during);
  [[nodiscard]] Seen seen() const;
  [[nodiscard]] static ProcessId id() { return ProcessId{7}; }
  /// Returns when nothing is left on the ledger's thread: hangs if it left anything behind.
  void join_thread() { io_.join(); }

 private:
  void note(const Event& event, LocalTime now);

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Seen seen_;
  bool closing_ = false;  ///< the strand's
  std::function<void(const Event&)> after_event_;
  std::function<void(const Event&, LocalTime)> after_timed_event_;
  IoThread broker_io_;
  IoThread io_;
  std::unique_ptr<EmbeddedBroker> broker_;
  std::optional<Silence> silence_;
  std::unique_ptr<KafkaLedger> ledger_;
};

}  // namespace neliroute
