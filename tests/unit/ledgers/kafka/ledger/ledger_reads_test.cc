// What a ledger must get right at the instant at which it takes something off librdkafka's queues:
// when it was read, what a log's truncation means, which topic a record is of, and that nothing is
// fetched where nobody reads.
#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <neliroute/clock.h>
#include <optional>
#include <set>
#include <thread>

#include "tests/eventually.h"
#include "tests/unit/ledgers/kafka/ledger/ledger_rig.h"
#include "tests/unit/ledgers/kafka/librdkafka_calls.h"
#include "tests/unit/ledgers/kafka/mock_cluster.h"

#if RD_KAFKA_VERSION >= 0x020f0000  // what the mock cluster supports

namespace neliroute {
namespace {

using librdkafka_calls::Watch;
using librdkafka_calls::Watching;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr int kPatienceMs = 20'000;

bool has_gap(const Seen& seen) { return !seen.gaps.empty(); }

/// The last of a test's locals: no event comes while the others go.
class EndsFirst {
 public:
  explicit EndsFirst(LedgerRig& rig) : rig_(rig) {}
  ~EndsFirst() { rig_.destroy(); }
  EndsFirst(const EndsFirst&) = delete;
  EndsFirst& operator=(const EndsFirst&) = delete;

 private:
  LedgerRig& rig_;
};

class LedgerReadsTest : public testing::Test {
 protected:
  [[nodiscard]] KafkaLedgerParameters parameters() const {
    KafkaLedgerParameters parameters = rig_.parameters();
    parameters.kafka.brokers = cluster_.address();
    return parameters;
  }
  void open() {
    rig_.open(parameters());
    rig_.start_and_read();
  }
  void write_and_receive(std::uint64_t first, std::uint64_t last) {
    for (std::uint64_t seq = first; seq <= last; ++seq) rig_.write(Log{0}, seq);
    ASSERT_TRUE(rig_.wait([&](const Seen& seen) {
      return !seen.received[0].empty() && seen.received[0].back().seq == last;
    }));
  }

  /// Of four records those before `first` are gone: log 0 is read from there.
  void read_after_retention(std::int64_t first) {
    for (int i = 0; i < 4; ++i) cluster_.produce(0, "x");
    cluster_.delete_records(0, first);
    open();
    const auto started = rig_.seen().started;
    const auto at = std::find_if(started.begin(), started.end(),
                                 [](const TailStarted& one) { return one.log == Log{0}; });
    ASSERT_NE(at, started.end());
    EXPECT_EQ(at->start, first);
    EXPECT_EQ(at->end, 4);
    write_and_receive(1, 2);
  }

  MockCluster cluster_{LedgerRig::kPartitions};
  LedgerRig rig_;
};

// docs/protocol.md, Times: a grace counts from `read`, which would be too short if the clock had
// been read before the record was there.
TEST_F(LedgerReadsTest, TheClockIsReadAfterTheRecordWasTaken) {
  thread_local LocalTime taken = kLongAgo;  // of the ledger's thread
  std::atomic<int> early{0};
  std::atomic<int> events{0};
  Watching watching;
  watching.after_poll = [](rd_kafka_queue_t*, const rd_kafka_event_t* event) {
    if (event == nullptr) return;
    const LocalTime before = boot_now();
    while ((taken = boot_now()) == before) {
    }
  };
  const Watch watch(std::move(watching));
  const EndsFirst ends(rig_);
  rig_.after_timed_event([&](const Event&, LocalTime now) {
    ++events;
    if (now < taken) ++early;
  });
  open();
  write_and_receive(1, 20);
  EXPECT_GE(events, 20);
  EXPECT_EQ(early, 0) << "of " << events << " events";
}

// A broker that has just started names the new leaders of some partitions and says that it does not
// know those of others. librdkafka then read memory that was never set, and crashed (scripts/setup
// mends that).
TEST(LedgerLeadersTest, OfWhichOneIsNotKnownYetAreFoundAllTheSame) {
  MockCluster cluster{LedgerRig::kPartitions, 2};
  LedgerRig rig;
  KafkaLedgerParameters parameters = rig.parameters(/*watcher=*/true);
  parameters.kafka.brokers = cluster.address();
  rig.open(parameters);
  rig.start_and_read();
  for (std::int32_t to = 2; to > 0; --to) {
    cluster.move_leader_untold(0, to);
    cluster.move_leader(1, to);
    const std::size_t before = rig.seen().received[1].size();
    for (std::int32_t log = 0; log < 2; ++log) cluster.produce(log, "x");
    EXPECT_TRUE(rig.wait([&](const Seen& seen) {
      return seen.received[0].size() == before + 1 && seen.received[1].size() == before + 1;
    }));
  }
  for (const Notice& notice : rig.seen().notices) {
    EXPECT_EQ(notice.text.find("METADATAUPDATE"), std::string::npos) << notice.text;
  }
}

// Retention removed what the topic had: all of it, where its group was stopped for long enough, ...
TEST_F(LedgerReadsTest, ALogThatRetentionHasEmptiedIsReadFromItsEnd) {
  read_after_retention(4);
}

// ... or some.
TEST_F(LedgerReadsTest, ALogThatBeginsLaterIsReadFromWhereItBegins) { read_after_retention(2); }

// The new leader knows nothing of the leader's epoch under which was written what this tail read.
// librdkafka 2.15.1 says so as one of the offsets that is out of range, ...
TEST_F(LedgerReadsTest, ATruncationThatTheLeaderTellsIsAGap) {
  open();
  write_and_receive(1, 3);
  cluster_.delete_records(0, 3);
  cluster_.elect_leader(0);
  ASSERT_TRUE(rig_.wait(has_gap));
  EXPECT_THAT(rig_.seen().gaps[0].reason,
              testing::AnyOf(GapReason::truncated, GapReason::out_of_range));
  EXPECT_EQ(rig_.seen().gaps[0].log, Log{0});
}

// ... and has a code for it, too.
TEST_F(LedgerReadsTest, ATruncationByItsOwnNameIsAGap) {
  open();
  write_and_receive(1, 3);
  std::atomic<bool> told{false};
  Watching watching;
  watching.error = [&told](rd_kafka_resp_err_t error) {
    constexpr auto kLogTruncation = static_cast<rd_kafka_resp_err_t>(-139);
    const bool now = error == RD_KAFKA_RESP_ERR__PARTITION_EOF && !told.exchange(true);
    return now ? kLogTruncation : error;
  };
  const Watch watch(std::move(watching));
  rig_.write(Log{0}, 4);
  rig_.write(Log{1}, 5);
  ASSERT_TRUE(rig_.wait(has_gap));
  EXPECT_EQ(rig_.seen().gaps[0].reason, GapReason::truncated);
}

// An end below what was read, by a broker that says nothing of leaders' epochs.
TEST_F(LedgerReadsTest, AnEndBelowWhatWasReadIsAGap) {
  open();
  write_and_receive(1, 3);
  {
    Watching watching;
    watching.end_of_log = [](std::int32_t, std::int64_t end) {
      return std::optional<std::int64_t>{end > 3 ? 1 : end};
    };
    const Watch watch(std::move(watching));
    rig_.write(Log{0}, 4);
    ASSERT_TRUE(rig_.wait(has_gap));
  }
  EXPECT_EQ(rig_.seen().gaps[0].reason, GapReason::truncated);
  EXPECT_EQ(rig_.seen().gaps[0].log, Log{0});
}

// The line that tells of it is written before the first record of the new topic comes. So it must
// be looked for after the record was taken: here both come between the two.
TEST_F(LedgerReadsTest, NoRecordOfARecreatedTopicPassesForOneOfTheOld) {
  std::mutex mutex;
  std::set<rd_kafka_queue_t*> gave_records;  // the tail's, whichever client it has
  std::atomic<bool> hold{false};
  std::atomic<bool> held{false};
  Watching watching;
  watching.before_poll = [&](rd_kafka_queue_t* queue) {
    {
      const std::lock_guard lock(mutex);
      if (!hold || gave_records.count(queue) == 0) return;
    }
    held = true;
    const LocalTime until = later(boot_now(), milliseconds{kPatienceMs});
    while (rd_kafka_queue_length(queue) == 0 && boot_now() < until) std::this_thread::yield();
    hold = false;
  };
  watching.after_poll = [&](rd_kafka_queue_t* queue, const rd_kafka_event_t* event) {
    const std::lock_guard lock(mutex);
    if (rd_kafka_event_type(event) == RD_KAFKA_EVENT_FETCH) gave_records.insert(queue);
  };
  std::atomic<bool> ended{false};
  watching.end_of_log = [&ended](std::int32_t partition, std::int64_t end) {
    if (partition == 0 && end == 2) ended = true;
    return std::optional{end};
  };
  const Watch watch(std::move(watching));
  std::atomic<std::size_t> read_before_gap{0};
  const EndsFirst ends(rig_);
  rig_.after_event([&](const Event& event) {
    if (!std::holds_alternative<GapFound>(event)) return;
    const Seen seen = rig_.seen();
    if (seen.gaps.size() == 1) read_before_gap = seen.received[0].size();
  });
  // So that the client learns of the new topic before a fetch of the old one fails.
  KafkaLedgerParameters often = parameters();
  often.kafka.properties["topic.metadata.refresh.interval.ms"] = "10";
  // The mock deletes the topic and then creates it: a refresh in between would show a missing one.
  often.kafka.properties["topic.metadata.propagation.max.ms"] = "60000";
  often.facts.embedded_broker = false;  // whose fetches wait for 10 ms only
  rig_.open(often);
  rig_.start_and_read();
  write_and_receive(1, 2);
  // Its end is told before: what comes next is of the new topic.
  const LocalTime until = later(boot_now(), milliseconds{kPatienceMs});
  while (!ended && boot_now() < until) std::this_thread::yield();
  ASSERT_TRUE(ended);
  hold = true;
  while (!held && boot_now() < until) std::this_thread::yield();
  ASSERT_TRUE(held);
  cluster_.recreate_topic();
  for (int i = 0; i < 4; ++i) cluster_.produce(0, "{\"v\":2,\"t\":\"renewal\"}");
  ASSERT_TRUE(rig_.wait(has_gap));
  EXPECT_FALSE(hold);
  EXPECT_EQ(rig_.seen().gaps[0].reason, GapReason::replaced);
  EXPECT_EQ(read_before_gap, 2U) << "a record of the new topic came first";
}

// Records on their way to it would block the producer in the next topic of this name, for four
// leases.
TEST_F(LedgerReadsTest, ATopicThatIsGoneIsWrittenToWithAnotherProducerWhenItIsBack) {
  std::atomic<int> producers_ended{0};
  Watching watching;
  watching.destroy = [&](rd_kafka_t* handle) {
    if (rd_kafka_type(handle) == RD_KAFKA_PRODUCER) ++producers_ended;
  };
  const Watch watch(std::move(watching));
  const EndsFirst ends(rig_);
  KafkaLedgerParameters often = parameters();
  often.kafka.properties["topic.metadata.refresh.interval.ms"] = "10";
  rig_.open(often);
  rig_.start_and_read();
  write_and_receive(1, 2);
  cluster_.delete_topic();
  ASSERT_TRUE(rig_.wait(has_gap));
  EXPECT_EQ(rig_.seen().gaps[0].reason, GapReason::missing);
  EXPECT_TRUE(eventually([&] { return producers_ended > 0; })) << producers_ended;
  EXPECT_EQ(producers_ended, 1);
  // The next one may have been made while a broker did not know yet that the topic had gone. No log
  // that waits for the topic finds a gap when it is back.
  cluster_.create_topic();
  EXPECT_TRUE(eventually([&] { return producers_ended > 1; })) << producers_ended;
  EXPECT_TRUE(rig_.wait([](const Seen& seen) { return seen.started.size() >= 4; }));
  rig_.write(Log{0}, 3);
  EXPECT_TRUE(rig_.wait([](const Seen& seen) { return seen.received[0].back().seq == 3; }));
  EXPECT_EQ(producers_ended, 2);
}

// What the group assigns shows who should claim; the records are the tail's to read. A member that
// fetched them would read everything a second time. Partition 3 is no log: a tail never reads it.
TEST_F(LedgerReadsTest, AMemberFetchesNothingOfWhatItIsAssigned) {
  std::atomic<int> heard{0};
  LedgerRig reader;  // hears what it is assigned, as long as a member would need for it
  KafkaLedgerParameters hears = parameters();
  hears.kafka.group = "another";
  hears.kafka.variation = Variation::broadcast;
  reader.after_event([&](const Event& event) { heard += std::holds_alternative<Heard>(event); });
  reader.open(hears);
  reader.start_and_read();
  reader.join_group(/*finish=*/true);

  open();
  std::atomic<int> fetched{0};
  std::atomic<std::thread::id> members_thread{};
  rig_.on_ledger([&](KafkaLedger&) { members_thread = std::this_thread::get_id(); });
  Watching watching;
  watching.after_poll = [&](rd_kafka_queue_t*, const rd_kafka_event_t* event) {
    if (std::this_thread::get_id() != members_thread.load()) return;
    fetched += rd_kafka_event_type(event) == RD_KAFKA_EVENT_FETCH;
  };
  const Watch watch(std::move(watching));
  rig_.join_group(/*finish=*/true);
  constexpr int kRounds = 10;
  const LocalTime until = later(boot_now(), milliseconds{kPatienceMs});
  while (heard < kRounds && boot_now() < until) {
    const int before = heard;
    cluster_.produce(3, "x");
    const LocalTime soon = later(boot_now(), seconds{2});
    while (heard == before && boot_now() < soon) std::this_thread::yield();
  }
  ASSERT_GE(heard, kRounds) << "else this proves nothing";
  EXPECT_EQ(fetched, 0);
}

}  // namespace
}  // namespace neliroute

#endif
