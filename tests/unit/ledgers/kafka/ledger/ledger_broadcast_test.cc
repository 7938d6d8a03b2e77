// Variation `broadcast` on the ledger: records to all partitions, and those assigned are read.
#include <gmock/gmock.h>

#include <boost/asio/io_context.hpp>
#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <neliroute/clock.h>

#include "ledgers/kafka/record_writer.h"
#include "tests/unit/ledgers/kafka/ledger/ledger_rig.h"

#if RD_KAFKA_VERSION >= 0x020c0000  // the embedded broker's

namespace neliroute {
namespace {

class LedgerBroadcastTest : public testing::Test {
 protected:
  void open(Variation variation) {
    rig_.open_broker();
    KafkaLedgerParameters parameters = rig_.parameters();
    parameters.kafka.variation = variation;
    rig_.after_event([this](const Event& event) {
      const std::lock_guard lock(mutex_);
      if (const auto* heard = std::get_if<Heard>(&event)) {
        heard_[heard->partition.value()].push_back(*heard);
      }
    });
    rig_.open(parameters);
    rig_.start_and_read();
  }
  std::map<std::uint32_t, std::vector<Heard>> heard() {
    const std::lock_guard lock(mutex_);
    return heard_;
  }
  static bool of_all_logs(const Seen& seen, std::size_t records) {
    return seen.received[0].size() >= records && seen.received[1].size() >= records;
  }

  std::mutex mutex_;
  std::map<std::uint32_t, std::vector<Heard>> heard_;
  LedgerRig rig_;
};

TEST_F(LedgerBroadcastTest, ARecordGoesToEveryPartitionAndComesBackFromThoseAssigned) {
  open(Variation::broadcast);
  rig_.join_group(/*finish=*/true);
  // Where the assigned partitions start is only known after an answer of the broker, so the first
  // broadcasts may reach no process.
  const LocalTime until = later(boot_now(), std::chrono::seconds{20});
  while (heard().size() < LedgerRig::kPartitions && boot_now() < until) {
    const std::size_t before = rig_.seen().received[0].size();
    rig_.on_ledger([](KafkaLedger& ledger) { ledger.broadcast(); });
    ASSERT_TRUE(rig_.wait([&](const Seen& seen) { return seen.received[0].size() > before; }));
  }
  ASSERT_EQ(heard().size(), LedgerRig::kPartitions);
  const WallTime now = wall_now();
  for (const auto& [partition, records] : heard()) {
    EXPECT_LT(partition, LedgerRig::kPartitions);
    const Heard& last = records.back();
    EXPECT_LE(last.stamped.time_since_epoch(), now.time_since_epoch());
    EXPECT_LE(last.read, boot_now());
    EXPECT_LE(last.wall, now);
    EXPECT_GT(last.wall, now - std::chrono::minutes{1});
    EXPECT_FALSE(last.store_stamped) << "the embedded broker stamps nothing";
  }
  const Seen seen = rig_.seen();
  EXPECT_TRUE(seen.acknowledged.empty()) << "nobody asks what became of them";
  EXPECT_EQ(seen.received[0].front().seq, 0u) << "and they say nothing";
}

TEST_F(LedgerBroadcastTest, InVariationClaimedAssignedPartitionsAreNotRead) {
  open(Variation::claimed);
  rig_.join_group(/*finish=*/true);
  for (std::uint64_t seq = 1; seq <= 20; ++seq) rig_.write(Log{seq % 2 == 0 ? 0U : 1U}, seq);
  ASSERT_TRUE(rig_.wait([](const Seen& seen) { return of_all_logs(seen, 10); }));
  EXPECT_TRUE(heard().empty());
}

TEST(RecordWriterBroadcast, ABrokerThatIsAwayIsNotMetByAFloodWhenItIsBack) {
  boost::asio::io_context io;
  const auto wakeup = std::make_shared<QueueWakeup>(io.get_executor());
  ASSERT_TRUE(wakeup->open());
  KafkaOptions kafka;
  kafka.brokers = "127.0.0.1:1";
  Timing timing;
  timing.lease = std::chrono::seconds{60};
  RecordWriter writer({kafka, timing, GroupProtocol::classic, true}, *wakeup,
                      [](std::uint64_t, rd_kafka_resp_err_t, std::int64_t) {});
  ASSERT_TRUE(writer.open());
  for (int i = 0; i < 100; ++i) writer.broadcast(4);
  // The length counts what the client has to tell, too.
  EXPECT_GE(rd_kafka_outq_len(writer.handle()), 8);
  EXPECT_LT(rd_kafka_outq_len(writer.handle()), 40) << "two broadcasts, not a hundred";
  EXPECT_EQ(writer.outstanding_count(), 0u) << "none of them is answered";
}

}  // namespace
}  // namespace neliroute

#endif
