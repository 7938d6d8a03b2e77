// What a ledger on Kafka answers, on the embedded broker.
#include <gmock/gmock.h>

#include <algorithm>
#include <boost/asio/io_context.hpp>
#include <chrono>
#include <future>
#include <neliroute/clock.h>

#include "tests/unit/ledgers/kafka/ledger/ledger_rig.h"

#if RD_KAFKA_VERSION >= 0x020c0000  // the embedded broker's

namespace neliroute {
namespace {

using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

std::vector<std::uint64_t> seqs(const std::vector<SeenRecord>& records) {
  std::vector<std::uint64_t> result;
  for (const SeenRecord& record : records) result.push_back(record.seq);
  return result;
}

class LedgerTest : public testing::Test {
 protected:
  void open() {
    rig_.open_broker();
    rig_.open(rig_.parameters());
    rig_.start_and_read();
  }
  void write_and_receive(std::uint64_t first, std::uint64_t last) {
    const std::size_t before = rig_.seen().received[0].size();
    for (std::uint64_t seq = first; seq <= last; ++seq) rig_.write(Log{0}, seq);
    ASSERT_TRUE(rig_.wait([&](const Seen& seen) {
      return seen.received[0].size() == before + last - first + 1 &&
             seen.acknowledged.size() == seen.received[0].size();
    }));
  }
  /// Writes until its first records are of many leases ago. Returns all.
  std::vector<SeenRecord> write_for_many_leases() {
    const auto long_enough = [&] {
      const auto records = rig_.seen().received[0];
      return records.size() > 200 &&
             records.back().stamped - records[150].stamped > 4 * kShortLease;
    };
    for (std::uint64_t seq = 1; !long_enough(); ++seq) {
      rig_.write(Log{0}, seq, kShortLease);
      const auto has_come = [&](const Seen& seen) { return seen.received[0].size() == seq; };
      if (!rig_.wait(has_come)) break;
    }
    return rig_.seen().received[0];
  }
  [[nodiscard]] KafkaLedgerParameters with_short_lease() const {
    auto parameters = rig_.parameters();
    parameters.facts.believe_broker_time = true;
    parameters.timing.lease = kShortLease;
    parameters.timing.clock_error = milliseconds{1};
    return parameters;
  }
  /// Of log 0.
  static TailStarted started(const Seen& seen) {
    const auto of_log_0 = [](const TailStarted& one) { return one.log == Log{0}; };
    EXPECT_EQ(std::count_if(seen.started.begin(), seen.started.end(), of_log_0), 1);
    return *std::find_if(seen.started.begin(), seen.started.end(), of_log_0);
  }
  void ask_again(std::uint64_t question, std::int64_t offset) {
    rig_.on_ledger([&](KafkaLedger& ledger) { ledger.reread({Log{0}, question, offset}); });
  }
  void reread(std::uint64_t question, std::int64_t offset) {
    ask_again(question, offset);
    ASSERT_TRUE(rig_.wait([&](const Seen& seen) { return !seen.rereads.empty(); }));
  }

  static constexpr milliseconds kShortLease{20};
  LedgerRig rig_;
};

TEST_F(LedgerTest, TheBrokerIsKnownForWhatItIs) {
  rig_.open_broker();
  KafkaOptions options = rig_.parameters().kafka;
  const auto facts = prepare_topic(options);
  ASSERT_TRUE(facts.has_value()) << facts.error().message();
  EXPECT_TRUE(facts->embedded_broker);
  EXPECT_EQ(facts->partitions, LedgerRig::kPartitions);
  EXPECT_EQ(facts->session.protocol, GroupProtocol::classic);
  EXPECT_FALSE(facts->believe_broker_time);
  options.partitions = 5;
  const auto refused = prepare_topic(options);
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().code(), Errc::bad_option);
}

TEST_F(LedgerTest, AnEmptyLogStartsWhereItEnds) {
  open();
  for (const TailStarted& started : rig_.seen().started) {
    EXPECT_EQ(started.start, 0);
    EXPECT_EQ(started.end, 0);
  }
}

TEST_F(LedgerTest, WhatIsWrittenIsAcknowledgedAndComesBackInOrder) {
  open();
  write_and_receive(1, 5);
  const Seen seen = rig_.seen();
  EXPECT_THAT(seen.acknowledged, ElementsAre(1, 2, 3, 4, 5));
  EXPECT_THAT(seqs(seen.received[0]), ElementsAre(1, 2, 3, 4, 5));
  for (std::size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(seen.received[0][i].offset, static_cast<std::int64_t>(i));
  }
  EXPECT_THAT(seen.received[1], IsEmpty());
  EXPECT_THAT(seen.failed, IsEmpty());
}

TEST_F(LedgerTest, WhatIsWrittenWhileTheBrokerIsAwayFailsInTheEnd) {
  open();
  write_and_receive(1, 1);
  rig_.close_broker();
  const LocalTime from = boot_now();
  rig_.write(Log{0}, 2);
  rig_.write(Log{1}, 3);
  ASSERT_TRUE(rig_.wait([](const Seen& seen) { return seen.failed.size() == 2; }));
  EXPECT_LT(boot_now() - from, 3 * rig_.parameters().timing.lease);
  EXPECT_THAT(rig_.seen().failed, testing::UnorderedElementsAre(2, 3));
  EXPECT_THAT(rig_.seen().acknowledged, ElementsAre(1));
}

TEST_F(LedgerTest, ALogThatIsReadAnewShowsItsRecordsAgain) {
  open();
  write_and_receive(1, 3);
  rig_.on_ledger([](KafkaLedger& ledger) { ledger.restart_tail(Log{0}); });
  ASSERT_TRUE(rig_.wait([](const Seen& seen) {
    return seen.started.size() > LedgerRig::kLogs && seen.received[0].size() == 6;
  }));
  const Seen seen = rig_.seen();
  std::vector<TailStarted> starts;
  for (const TailStarted& started : seen.started) {
    if (started.log == Log{0}) starts.push_back(started);
  }
  ASSERT_THAT(starts, SizeIs(2));
  EXPECT_EQ(starts[1].start, 0);
  EXPECT_EQ(starts[1].end, 3);
  EXPECT_THAT(seqs(seen.received[0]), ElementsAre(1, 2, 3, 1, 2, 3));
  EXPECT_EQ(seen.received[0][3], seen.received[0][0]);
}

TEST_F(LedgerTest, ARecordReadAgainIsTheSameAndReadingGoesOn) {
  open();
  write_and_receive(1, 3);
  reread(11, 1);
  const Seen seen = rig_.seen();
  ASSERT_THAT(seen.rereads, SizeIs(1));
  EXPECT_EQ(seen.rereads[0].question, 11U);
  EXPECT_EQ(seen.rereads[0].offset, 1);
  ASSERT_TRUE(seen.rereads[0].found);
  EXPECT_EQ(*seen.rereads[0].found,
            (RecordIdentity{LedgerRig::id(), 2, seen.received[0][1].stamped}));
  write_and_receive(4, 5);
  EXPECT_THAT(seqs(rig_.seen().received[0]), ElementsAre(1, 2, 3, 4, 5)) << "none twice";
}

TEST_F(LedgerTest, WithoutARecordToReadAgainTheLeaderAnswers) {
  open();
  reread(12, -1);
  ASSERT_THAT(rig_.seen().rereads, SizeIs(1));
  EXPECT_EQ(rig_.seen().rereads[0].question, 12U);
  EXPECT_EQ(rig_.seen().rereads[0].offset, -1);
  EXPECT_FALSE(rig_.seen().rereads[0].found);
  write_and_receive(1, 2);
}

TEST_F(LedgerTest, AWatcherStartsAtTheEndAndReadsOn) {
  open();
  write_and_receive(1, 3);
  LedgerRig watcher;
  auto parameters = rig_.parameters(/*watcher=*/true);
  watcher.open(parameters);
  watcher.start_and_read();
  for (const TailStarted& started : watcher.seen().started) {
    EXPECT_EQ(started.start, started.log == Log{0} ? 3 : 0);
    EXPECT_EQ(started.end, started.start);
  }
  rig_.write(Log{0}, 4);
  ASSERT_TRUE(watcher.wait([](const Seen& seen) { return !seen.received[0].empty(); }));
  EXPECT_THAT(seqs(watcher.seen().received[0]), ElementsAre(4));
  watcher.close(seconds{5});
  EXPECT_TRUE(watcher.wait([](const Seen& seen) { return seen.closed; }));
}

// Rule 6's horizon is far below the log's length here, also where the log's end was told before its
// last record, and the way back is longer.
TEST_F(LedgerTest, ATailStartsNoFurtherBackThanAnybodyMayStillLead) {
  open();
  const std::vector<SeenRecord> all = write_for_many_leases();
  const auto parameters = with_short_lease();
  LedgerRig newcomer;
  newcomer.open(parameters);
  newcomer.start_and_read();
  ASSERT_TRUE(newcomer.wait([&](const Seen& seen) {
    return !seen.received[0].empty() && seen.received[0].back() == all.back();
  }));
  const Seen seen = newcomer.seen();
  const TailStarted start = started(seen);
  EXPECT_GT(start.start, 0);
  EXPECT_EQ(start.below, Below::older);
  // From there on every record once, in order, and none from below.
  EXPECT_EQ(seen.received[0], std::vector<SeenRecord>(all.begin() + start.start, all.end()));
  newcomer.close(seconds{5});
  EXPECT_TRUE(newcomer.wait([](const Seen& closed) { return closed.closed; }));
  // The last one now stands at the log's end, but had read no more than the first record.
  rig_.write(Log{0}, all.size() + 1, kShortLease, all.front().stamped);
  ASSERT_TRUE(
      rig_.wait([&](const Seen& read) { return read.received[0].size() == all.size() + 1; }));
  LedgerRig next;
  next.open(parameters);
  next.start_and_read();
  EXPECT_TRUE(next.wait([&](const Seen& read) {
    return read.received[0].size() == all.size() + 1;
  })) << "it reads all of the log";
  next.close(seconds{5});
  EXPECT_TRUE(next.wait([](const Seen& closed) { return closed.closed; }));
}

// Who wrote long ago by the broker's clock may still lead, where that clock may be wrong by an hour
// or is not believed at all.
TEST_F(LedgerTest, ATailStartsAtTheBeginningWhereTheBrokersClockSaysTooLittle) {
  open();
  const std::vector<SeenRecord> all = write_for_many_leases();
  for (const bool believed : {false, true}) {
    LedgerRig newcomer;
    auto parameters = with_short_lease();
    parameters.facts.believe_broker_time = believed;
    if (believed) parameters.timing.clock_error = std::chrono::hours{1};
    newcomer.open(parameters);
    newcomer.start_and_read();
    EXPECT_TRUE(newcomer.wait([&](const Seen& seen) { return seen.received[0] == all; }))
        << believed;
    const TailStarted start = started(newcomer.seen());
    EXPECT_EQ(start.start, 0) << believed;
    EXPECT_EQ(start.below, Below::nothing) << believed;
    newcomer.close(seconds{5});
    EXPECT_TRUE(newcomer.wait([](const Seen& seen) { return seen.closed; }));
  }
}

TEST_F(LedgerTest, TheGroupAssignsAllToALoneMemberAndIsLeftWithoutAWord) {
  open();
  rig_.join_group(/*finish=*/true);
  EXPECT_EQ(rig_.seen().assigned[0].size(), LedgerRig::kPartitions);
  rig_.on_ledger([](KafkaLedger& ledger) { ledger.leave_group(); });
  // It left: the next one gets all, well before the session of the first would have ended.
  LedgerRig next;
  auto parameters = rig_.parameters();
  parameters.timing.session = seconds{30};
  next.open(parameters);
  next.start_and_read();
  next.join_group(/*finish=*/true);
  EXPECT_EQ(next.seen().assigned[0].size(), LedgerRig::kPartitions);
  EXPECT_THAT(rig_.seen().revoked, IsEmpty()) << "what is left is not revoked";
  write_and_receive(1, 2);  // who left the group still reads and writes
}

TEST_F(LedgerTest, ASecondMemberGetsItsShareOnceTheFirstLetsGo) {
  LedgerRig other;
  // Each rebalance waits for the answer to the one before, an empty assignment among them.
  rig_.answer_rebalances();
  other.answer_rebalances();
  open();
  rig_.join_group(/*finish=*/false);
  other.open(rig_.parameters());
  other.start_and_read();
  other.on_ledger([](KafkaLedger& ledger) { ledger.subscribe(); });
  ASSERT_TRUE(rig_.wait([](const Seen& seen) { return !seen.revoked.empty(); }));
  EXPECT_FALSE(rig_.seen().revoked[0].lost);
  EXPECT_EQ(rig_.seen().revoked[0].partitions.size(), LedgerRig::kPartitions / 2);
  EXPECT_TRUE(other.wait([](const Seen& seen) {
    std::size_t count = 0;
    for (const PartitionRanges& ranges : seen.assigned) count += ranges.size();
    return count == LedgerRig::kPartitions / 2;
  }));
}

TEST_F(LedgerTest, WhatOnlyTheGroupsClientRefusesIsRefusedAtOnce) {
  rig_.open_broker();
  KafkaLedgerParameters parameters = rig_.parameters();
  parameters.kafka.properties["partition.assignment.strategy"] = "nonsense";
  boost::asio::io_context io;
  const auto opened = KafkaLedger::open(io.get_executor(), parameters);
  ASSERT_FALSE(opened.has_value());
  EXPECT_NE(opened.error().message().find("partition.assignment.strategy"), std::string::npos)
      << opened.error().message();
}

// The mock describes no groups; tests/kafka/life_test.py sees a real broker's count at work.
TEST_F(LedgerTest, WhereABrokerDescribesNoGroupsTheAnswerIsThatNobodyCanTell) {
  open();
  rig_.join_group(/*finish=*/true);
  std::promise<std::optional<std::size_t>> counted;
  rig_.on_ledger([&](KafkaLedger& ledger) {
    ledger.count_others([&](std::optional<std::size_t> count) { counted.set_value(count); });
  });
  auto answer = counted.get_future();
  ASSERT_EQ(answer.wait_for(seconds{20}), std::future_status::ready);
  EXPECT_EQ(answer.get(), std::nullopt);
}

}  // namespace
}  // namespace neliroute

#endif
