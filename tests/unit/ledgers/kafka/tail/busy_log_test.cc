// A log that never pauses: its end is never reported, as every fetch finds something new.
#include <gtest/gtest.h>
#include <librdkafka/rdkafka.h>

#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "ledgers/kafka/client/rdkafka_ptr.h"
#include "ledgers/kafka/tail/log_reader.h"
#include "neli_core/record/record.h"
#include "tests/unit/ledgers/kafka/ledger/ledger_rig.h"
#include "tests/unit/ledgers/kafka/librdkafka_calls.h"

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
    const std::string value = "{\"v\":2,\"t\":\"renewal\"}";
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

// If a fetch always finds something new, librdkafka never reports the log's end: so it never
// does here. How much a broker keeps, and how quickly anybody writes, plays no part.
class BusyLogTest : public testing::Test {
 protected:
  BusyLogTest() : watch_(hiding_the_end_of(kBusy)) { rig_.open_broker(); }

  static constexpr Log kBusy{1};

  /// A ledger that starts where three records stand, and reads the fourth.
  void expect_read(bool watcher) {
    write_records();
    rig_.open(rig_.parameters(watcher));
    rig_.start_and_read();
    writer_.write(kBusy, 4);
    EXPECT_TRUE(rig_.wait([](const Seen& seen) {
      const auto& records = seen.received[kBusy.value()];
      return !records.empty() && records.back().seq == 4;
    }));
    EXPECT_EQ(rig_.seen().received[kBusy.value()].size(), watcher ? 1U : 4U);
  }

  LedgerRig rig_;

 private:
  static librdkafka_calls::Watching hiding_the_end_of(Log log) {
    librdkafka_calls::Watching watching;
    watching.end_of_log = [log](std::int32_t partition,
                                std::int64_t end) -> std::optional<std::int64_t> {
      // An empty log reports nothing else.
      if (static_cast<std::uint32_t>(partition) == log.value() && end > 0) return std::nullopt;
      return end;
    };
    return watching;
  }
  void write_records() {
    auto parameters = rig_.parameters();
    writer_.open(parameters);
    writer_.start_and_read();
    for (std::uint64_t seq = 1; seq <= 3; ++seq) writer_.write(kBusy, seq);
    ASSERT_TRUE(writer_.wait([](const Seen& seen) { return seen.acknowledged.size() == 3; }));
  }

  LedgerRig writer_;
  librdkafka_calls::Watch watch_;
};

TEST_F(BusyLogTest, an_owner_reads_it) { expect_read(/*watcher=*/false); }
TEST_F(BusyLogTest, a_watcher_reads_it) { expect_read(/*watcher=*/true); }

// It reads to the end that the log had when it was asked, however quickly others go on writing.
TEST_F(BusyLogTest, a_bounded_reader_ends) {
  std::vector<std::unique_ptr<SteadyWriter>> writers;
  for (int i = 0; i < 2; ++i) {
    writers.push_back(std::make_unique<SteadyWriter>(
        rig_.address(), static_cast<std::int32_t>(kBusy.value())));
  }
  LogReading wanted;
  wanted.kafka.brokers = rig_.address();
  const auto logs = read_logs(wanted, [](const Received&) {});
  ASSERT_TRUE(logs.has_value()) << logs.error().message();
}

}  // namespace
}  // namespace neliroute

#endif
