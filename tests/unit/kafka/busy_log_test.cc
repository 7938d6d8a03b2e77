// A log that never pauses: its end is never told, as every fetch finds something new.
#include <gtest/gtest.h>
#include <librdkafka/rdkafka.h>

#include <array>
#include <atomic>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "neli_core/kafka/log_reader.h"
#include "neli_core/kafka/rdkafka_ptr.h"
#include "neli_core/record.h"
#include "tests/unit/kafka/ledger_rig.h"

#if RD_KAFKA_VERSION >= 0x020c0000  // the embedded broker's

namespace neliroute {
namespace {

/// Writes to one partition without a pause, each record in a request of its own.
class SteadyWriter {
 public:
  SteadyWriter(const std::string& brokers, std::int32_t partition) : partition_(partition) {
    rd_kafka_conf_t* conf = rd_kafka_conf_new();
    std::array<char, 256> text{};
    const auto set = [&](const char* name, const char* value) {
      EXPECT_EQ(rd_kafka_conf_set(conf, name, value, text.data(), text.size()), RD_KAFKA_CONF_OK)
          << text.data();
    };
    set("bootstrap.servers", brokers.c_str());
    set("linger.ms", "0");
    set("batch.num.messages", "1");
    set("queue.buffering.max.messages", "100");
    handle_.reset(rd_kafka_new(RD_KAFKA_PRODUCER, conf, text.data(), text.size()));
    EXPECT_TRUE(handle_) << text.data();
    thread_ = std::thread([this] { work(); });
  }
  ~SteadyWriter() {
    stop_ = true;
    thread_.join();
    rd_kafka_purge(handle_.get(), RD_KAFKA_PURGE_F_QUEUE | RD_KAFKA_PURGE_F_INFLIGHT);
  }

 private:
  void work() {
    const std::string value = "{\"v\":1,\"t\":\"renewal\"}";
    while (!stop_) {
      // A full queue is waited for here: poll() returns when a record was stored.
      const rd_kafka_resp_err_t error = rd_kafka_producev(
          handle_.get(), RD_KAFKA_V_TOPIC("neliroute"), RD_KAFKA_V_PARTITION(partition_),
          RD_KAFKA_V_MSGFLAGS(RD_KAFKA_MSG_F_COPY),
          RD_KAFKA_V_VALUE(const_cast<char*>(value.data()), value.size()), RD_KAFKA_V_END);
      rd_kafka_poll(handle_.get(), error == RD_KAFKA_RESP_ERR_NO_ERROR ? 0 : 10);
    }
  }

  std::int32_t partition_;
  rdkafka::HandlePtr handle_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

/// A broker of its own, and six who write to log 1.
class BusyLog {
 public:
  BusyLog() {
    rig.open_broker();
    for (int i = 0; i < kWriters; ++i) {
      writers_.push_back(std::make_unique<SteadyWriter>(rig.address(), 1));
    }
  }

  /// Whether a ledger starts at every log and reads log 1 within ten seconds.
  bool is_read(bool watcher) {
    rig.open(rig.parameters(watcher));
    rig.start();
    const auto reads = [](const Seen& seen) {
      return seen.started.size() >= LedgerRig::kLogs && !seen.received[1].empty();
    };
    return rig.wait(reads, std::chrono::seconds{10});
  }

  LedgerRig rig;

 private:
  // A reader of the embedded broker gets one batch a fetch: together they are faster.
  static constexpr int kWriters = 6;

  std::vector<std::unique_ptr<SteadyWriter>> writers_;
};

// The embedded broker keeps the last 5 MB of a log, which these writers fill in seconds. Who is
// kept from starting for that long finds the log's beginning gone, again and again: then the story
// is told anew.
bool is_read(bool watcher) {
  constexpr int kStories = 3;
  for (int i = 0; i < kStories; ++i) {
    if (BusyLog().is_read(watcher)) return true;
  }
  return false;
}

TEST(BusyLogTest, an_owner_reads_it) { EXPECT_TRUE(is_read(/*watcher=*/false)); }
TEST(BusyLogTest, a_watcher_reads_it) { EXPECT_TRUE(is_read(/*watcher=*/true)); }

TEST(BusyLogTest, a_bounded_reader_ends) {
  BusyLog busy;
  LogReading wanted;
  wanted.kafka.brokers = busy.rig.address();
  const auto logs = read_logs(wanted, [](const Received&) {});
  ASSERT_TRUE(logs.has_value()) << logs.error().message();
}

}  // namespace
}  // namespace neliroute

#endif
