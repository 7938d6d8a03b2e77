// What neli_core/ledger.h promises of every ledger, P1 to P10, on each store that there is.
#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <neliroute/clock.h>
#include <numeric>

#include "ledgers/store_statistics.h"
#include "tests/eventually.h"
#include "tests/unit/ledgers/ledger_driver.h"
#include "tests/unit/ledgers/store_rigs.h"

namespace neliroute {
namespace {

using testing::AnyOf;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;
using namespace std::chrono_literals;

constexpr Log kLog{0};

std::vector<std::uint64_t> seqs(const std::vector<SeenRecord>& records) {
  std::vector<std::uint64_t> result;
  for (const SeenRecord& record : records) result.push_back(record.seq);
  return result;
}

class LedgerContract : public testing::TestWithParam<StoreKind> {
 protected:
  void open(LedgerDriver& driver, bool watcher = false) {
    driver.open(kContractLogs, [&](boost::asio::any_io_executor strand) {
      OpenedLedger opened = store_->open(std::move(strand), watcher);
      if (opened.statistics) told_ = opened.statistics->store();
      statistics_ = std::move(opened.statistics);
      return std::move(opened.ledger);
    });
  }
  void open_and_read(LedgerDriver& driver, bool watcher = false) {
    open(driver, watcher);
    driver.start_and_read();
  }
  static void write_and_read(LedgerDriver& driver, std::uint64_t first, std::uint64_t last) {
    const std::size_t before = driver.seen().received[0].size();
    for (std::uint64_t seq = first; seq <= last; ++seq) driver.write(kLog, seq);
    ASSERT_TRUE(driver.wait([&](const Seen& seen) {
      return seen.received[0].size() == before + last - first + 1 && seen.offsets.contains(last);
    }));
  }
  /// Of these, which one writer wrote one after the other, what a tail reads that starts now.
  [[nodiscard]] std::vector<std::uint64_t> history(std::vector<std::uint64_t> written) const {
    if (!store_->tells_all()) written = {written.back()};
    return written;
  }
  static TailStarted start_of_log_0(const Seen& seen) {
    const auto found = std::find_if(seen.started.rbegin(), seen.started.rend(),
                                    [](const TailStarted& one) { return one.log == kLog; });
    EXPECT_NE(found, seen.started.rend());
    return found == seen.started.rend() ? TailStarted{} : *found;
  }
  static void expect_closes(LedgerDriver& driver, milliseconds within) {
    const LocalTime from = boot_now();
    driver.close(within);
    EXPECT_TRUE(driver.wait([](const Seen& seen) { return seen.closed; }));
    EXPECT_LT(boot_now() - from, within + 5s) << "so long a machine may stand still";
  }

  std::unique_ptr<StoreRig> store_ = GetParam().make();
  LedgerDriver driver_;
  std::shared_ptr<const LedgerStatistics> statistics_;  ///< of what was opened last
  const StoreStatistics* told_ = nullptr;
};

TEST_P(LedgerContract, p1_every_reader_sees_one_order_and_positions_rise) {
  constexpr std::uint64_t kEach = 40;
  LedgerDriver other;
  open_and_read(driver_);
  open_and_read(other);
  for (std::uint64_t seq = 1; seq <= kEach; ++seq) {
    driver_.write(kLog, seq);
    other.write(kLog, 1000 + seq);
  }
  const auto all = [](const Seen& seen) { return seen.received[0].size() == 2 * kEach; };
  ASSERT_TRUE(driver_.wait(all));
  ASSERT_TRUE(other.wait(all));
  const auto records = driver_.seen().received[0];
  EXPECT_EQ(records, other.seen().received[0]);
  for (std::size_t i = 1; i < records.size(); ++i) {
    EXPECT_GT(records[i].offset, records[i - 1].offset);
  }
  EXPECT_THAT(driver_.seen().received[1], IsEmpty());
}

TEST_P(LedgerContract, p3_an_acknowledgement_names_the_position_at_which_it_is_read) {
  open_and_read(driver_);
  write_and_read(driver_, 1, 20);
  const Seen seen = driver_.seen();
  for (const SeenRecord& record : seen.received[0]) {
    EXPECT_EQ(seen.offsets.at(record.seq), record.offset) << record.seq;
  }
  EXPECT_THAT(seen.failed, IsEmpty());
}

TEST_P(LedgerContract, p2_a_tail_that_is_read_anew_leaves_nothing_out) {
  open_and_read(driver_);
  for (const std::uint64_t seq : {1U, 2U, 3U}) write_and_read(driver_, seq, seq);
  driver_.run([](Ledger& ledger) { ledger.restart_tail(kLog); });
  std::vector<std::uint64_t> all{1, 2, 3};
  for (const std::uint64_t seq : history({1, 2, 3})) all.push_back(seq);
  const std::size_t count = all.size();
  ASSERT_TRUE(driver_.wait([=](const Seen& seen) { return seen.received[0].size() == count; }));
  EXPECT_EQ(seqs(driver_.seen().received[0]), all);
  write_and_read(driver_, 4, 5);
  all.insert(all.end(), {4, 5});
  EXPECT_EQ(seqs(driver_.seen().received[0]), all);
}

TEST_P(LedgerContract, p2_what_a_stranger_wrote_is_read_as_well) {
  open_and_read(driver_);
  store_->append_by_stranger(kLog, "no record of ours");
  ASSERT_TRUE(driver_.wait([](const Seen& seen) { return seen.received[0].size() == 1; }));
  write_and_read(driver_, 1, 1);
  EXPECT_THAT(seqs(driver_.seen().received[0]), ElementsAre(0, 1));
}

TEST_P(LedgerContract, p5_stamps_of_the_store_never_fall) {
  open_and_read(driver_);
  write_and_read(driver_, 1, 30);
  const auto records = driver_.seen().received[0];
  for (std::size_t i = 1; i < records.size(); ++i) {
    EXPECT_GE(records[i].stamped, records[i - 1].stamped);
  }
}

TEST_P(LedgerContract, p6_below_an_empty_log_there_is_nothing) {
  open_and_read(driver_);
  const TailStarted start = start_of_log_0(driver_.seen());
  EXPECT_EQ(start.below, Below::nothing);
  EXPECT_EQ(start.start, start.end);
}

TEST_P(LedgerContract, p6_a_newcomer_reads_from_where_the_log_begins_and_knows_its_end) {
  open_and_read(driver_);
  for (const std::uint64_t seq : {1U, 2U, 3U, 4U}) write_and_read(driver_, seq, seq);
  const Seen seen = driver_.seen();
  store_->expire(kLog, seen.received[0][2].offset);
  const auto kept = history({3, 4});
  LedgerDriver newcomer;
  open_and_read(newcomer);
  ASSERT_TRUE(newcomer.wait(
      [&](const Seen& theirs) { return theirs.received[0].size() == kept.size(); }));
  const TailStarted start = start_of_log_0(newcomer.seen());
  EXPECT_EQ(start.start, seen.offsets.at(kept.front()));
  EXPECT_EQ(start.below, store_->tells_all() ? Below::expired : Below::unread);
  EXPECT_GT(start.end, newcomer.seen().received[0].back().offset);
  EXPECT_EQ(seqs(newcomer.seen().received[0]), kept);
}

TEST_P(LedgerContract, p6_a_watcher_starts_at_the_end) {
  open_and_read(driver_);
  write_and_read(driver_, 1, 3);
  LedgerDriver watcher;
  open_and_read(watcher, /*watcher=*/true);
  const TailStarted start = start_of_log_0(watcher.seen());
  EXPECT_EQ(start.below, Below::older);
  EXPECT_EQ(start.start, start.end);
  write_and_read(driver_, 4, 4);
  ASSERT_TRUE(watcher.wait([](const Seen& seen) { return !seen.received[0].empty(); }));
  EXPECT_THAT(seqs(watcher.seen().received[0]), ElementsAre(4));
}

TEST_P(LedgerContract, p7_a_record_read_again_is_the_same_and_reading_goes_on) {
  open_and_read(driver_);
  write_and_read(driver_, 1, 3);
  const SeenRecord second = driver_.seen().received[0][1];
  driver_.run([&](Ledger& ledger) { ledger.reread({kLog, 11, second.offset}); });
  ASSERT_TRUE(driver_.wait([](const Seen& seen) { return !seen.rereads.empty(); }));
  const Reread answer = driver_.seen().rereads[0];
  EXPECT_EQ(answer.question, 11U);
  EXPECT_EQ(answer.offset, second.offset);
  ASSERT_TRUE(answer.found);
  EXPECT_EQ(*answer.found, (RecordIdentity{LedgerDriver::id(), 2, second.stamped}));
  write_and_read(driver_, 4, 5);
  EXPECT_THAT(seqs(driver_.seen().received[0]), ElementsAre(1, 2, 3, 4, 5)) << "none twice";
}

TEST_P(LedgerContract, p7_where_no_record_was_read_the_store_answers_all_the_same) {
  open_and_read(driver_);
  driver_.run([](Ledger& ledger) { ledger.reread({kLog, 12, -1}); });
  ASSERT_TRUE(driver_.wait([](const Seen& seen) { return !seen.rereads.empty(); }));
  EXPECT_EQ(driver_.seen().rereads[0].question, 12U);
  EXPECT_EQ(driver_.seen().rereads[0].offset, -1);
  EXPECT_FALSE(driver_.seen().rereads[0].found);
}

TEST_P(LedgerContract, p7_a_silent_store_answers_no_question_from_memory) {
  open_and_read(driver_);
  write_and_read(driver_, 1, 2);
  const std::int64_t last = driver_.seen().received[0][1].offset;
  store_->fall_silent();
  driver_.run([&](Ledger& ledger) { ledger.reread({kLog, 13, last}); });
  EXPECT_TRUE(driver_.never([](const Seen& seen) { return !seen.rereads.empty(); }, 500ms));
  store_->come_back();
  EXPECT_TRUE(driver_.wait([](const Seen& seen) { return !seen.rereads.empty(); }));
}

TEST_P(LedgerContract, p7_records_that_were_read_and_are_lost_are_a_gap) {
  open_and_read(driver_);
  write_and_read(driver_, 1, 3);
  const auto records = driver_.seen().received[0];
  store_->truncate(kLog, records[1].offset, records[2].offset + 1);
  ASSERT_TRUE(driver_.wait([](const Seen& seen) { return !seen.gaps.empty(); }));
  EXPECT_EQ(driver_.seen().gaps[0].log, kLog);
  EXPECT_THAT(driver_.seen().gaps[0].reason,
              AnyOf(GapReason::truncated, GapReason::out_of_range));
}

TEST_P(LedgerContract, p7_a_log_that_was_made_anew_is_a_gap_and_is_read_from_its_beginning) {
  open_and_read(driver_);
  write_and_read(driver_, 1, 3);
  store_->replace();
  ASSERT_TRUE(driver_.wait([](const Seen& seen) { return !seen.gaps.empty(); }));
  driver_.run([](Ledger& ledger) {
    for (std::uint32_t log = 0; log < kContractLogs; ++log) ledger.restart_tail(Log{log});
  });
  ASSERT_TRUE(driver_.wait([](const Seen& seen) {
    return start_of_log_0(seen).below == Below::nothing && seen.started.size() > kContractLogs;
  }));
  const TailStarted start = start_of_log_0(driver_.seen());
  EXPECT_EQ(start.start, start.end);
}

TEST_P(LedgerContract, p8_what_a_silent_store_does_not_store_fails_in_time) {
  open_and_read(driver_);
  write_and_read(driver_, 1, 1);
  store_->fall_silent();
  const LocalTime from = boot_now();
  driver_.write(kLog, 2);
  driver_.write(Log{1}, 3);
  ASSERT_TRUE(driver_.wait([](const Seen& seen) { return seen.failed.size() == 2; }));
  EXPECT_LT(boot_now() - from, 3 * kContractLease);
  EXPECT_THAT(driver_.seen().failed, testing::UnorderedElementsAre(2, 3));
}

TEST_P(LedgerContract, p8_after_a_silence_it_goes_on_where_it_was) {
  open_and_read(driver_);
  write_and_read(driver_, 1, 3);
  store_->fall_silent();
  driver_.write(kLog, 4);
  ASSERT_TRUE(driver_.wait([](const Seen& seen) { return seen.failed.size() == 1; }));
  store_->come_back();
  driver_.write(kLog, 5);
  ASSERT_TRUE(driver_.wait([](const Seen& seen) { return seen.offsets.contains(5); }));
  ASSERT_TRUE(driver_.wait([](const Seen& seen) { return seen.received[0].back().seq == 5; }));
  EXPECT_THAT(driver_.seen().gaps, IsEmpty());
  EXPECT_THAT(driver_.seen().started, SizeIs(kContractLogs));
}

TEST_P(LedgerContract, p10_what_is_written_at_once_keeps_its_order_and_its_acknowledgements) {
  open_and_read(driver_);
  driver_.run([](Ledger& ledger) {
    for (std::uint64_t seq = 1; seq <= 50; ++seq) {
      ledger.write({kLog, seq, claim_text(seq, kContractLease)});
    }
  });
  ASSERT_TRUE(driver_.wait([](const Seen& seen) {
    return seen.received[0].size() == 50 && seen.acknowledged.size() == 50;
  }));
  const Seen seen = driver_.seen();
  EXPECT_TRUE(std::is_sorted(seen.acknowledged.begin(), seen.acknowledged.end()));
  EXPECT_EQ(seqs(seen.received[0]), seen.acknowledged);
  LedgerDriver newcomer;
  open_and_read(newcomer);
  EXPECT_TRUE(newcomer.wait([](const Seen& theirs) { return theirs.received[0].size() == 50; }));
}

TEST_P(LedgerContract, a_record_of_64_kib_is_carried_whole) {
  open_and_read(driver_);
  const std::string text = "{\"v\":2,\"t\":\"noise\",\"x\":\"" + std::string(65'000, 'x') + "\"}";
  driver_.run([&](Ledger& ledger) { ledger.write({kLog, 1, text}); });
  ASSERT_TRUE(driver_.wait([](const Seen& seen) { return !seen.received[0].empty(); }));
  write_and_read(driver_, 2, 2);
}

TEST_P(LedgerContract, is_closed_in_time_before_it_was_started) {
  open(driver_);
  expect_closes(driver_, 2s);
}

TEST_P(LedgerContract, stores_what_was_written_last_before_it_is_closed) {
  open_and_read(driver_);
  driver_.run([](Ledger& ledger) { ledger.write({kLog, 1, claim_text(1, kContractLease)}); });
  expect_closes(driver_, 5s);
  LedgerDriver next;
  open_and_read(next);
  EXPECT_TRUE(next.wait([](const Seen& seen) { return seen.received[0].size() == 1; }));
}

TEST_P(LedgerContract, is_closed_in_time_while_its_store_is_silent) {
  open_and_read(driver_);
  write_and_read(driver_, 1, 1);
  store_->fall_silent();
  driver_.write(kLog, 2);
  expect_closes(driver_, 1s);
}

TEST_P(LedgerContract, may_be_dropped_without_closing) {
  open_and_read(driver_);
  driver_.write(kLog, 1);
  driver_.destroy();
  driver_.join_thread();
}

using StoreThatTells = LedgerContract;

std::uint64_t count_of(const Histogram& histogram) {
  const auto counts = histogram.read().counts;
  return std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
}

TEST_P(StoreThatTells, what_was_answered_and_when_it_was_heard_last) {
  const LocalTime from = boot_now();
  open_and_read(driver_);
  write_and_read(driver_, 1, 3);
  ASSERT_NE(told_, nullptr);
  EXPECT_GE(told_->requests, 2U);
  EXPECT_GE(count_of(told_->round_trips), 2U);
  EXPECT_GT(told_->round_trips.read().sum, 0us);
  EXPECT_EQ(told_->unsent_records, 0U);
  EXPECT_GT(told_->heard_at.load(), from);
  const LocalTime heard = told_->heard_at;
  EXPECT_TRUE(eventually([&] { return told_->heard_at.load() > heard; }))
      << "it is asked, if nobody writes";
}

TEST_P(StoreThatTells, that_it_did_not_answer) {
  open_and_read(driver_);
  write_and_read(driver_, 1, 1);
  store_->fall_silent();
  const std::uint64_t before = told_->unanswered;
  driver_.write(kLog, 2);
  EXPECT_EQ(told_->unsent_records, 1U);
  ASSERT_TRUE(driver_.wait([](const Seen& seen) { return seen.failed.size() == 1; }));
  EXPECT_EQ(told_->unsent_records, 0U);
  EXPECT_TRUE(eventually([&] { return told_->unanswered > before; }));
  const LocalTime silent = told_->heard_at;
  EXPECT_GT(boot_now() - silent, kContractLease / 4);
  store_->come_back();
  EXPECT_TRUE(eventually([&] { return told_->heard_at.load() > silent; }));
}

INSTANTIATE_TEST_SUITE_P(
    OnEach, StoreThatTells,
    testing::Values(StoreKind{"etcd", make_etcd_rig}, StoreKind{"postgres", make_postgres_rig},
                    StoreKind{"polled_postgres", make_polled_postgres_rig},
                    StoreKind{"quorum", make_quorum_rig}),
    [](const auto& tested) { return std::string(tested.param.name); });

INSTANTIATE_TEST_SUITE_P(
    OnEach, LedgerContract,
    testing::Values(StoreKind{"memory", make_memory_rig},
                    StoreKind{"sparse", make_sparse_memory_rig},
                    StoreKind{"kafka", make_kafka_rig}, StoreKind{"etcd", make_etcd_rig},
                    StoreKind{"postgres", make_postgres_rig},
                    StoreKind{"polled_postgres", make_polled_postgres_rig},
                    StoreKind{"quorum", make_quorum_rig}),
    [](const auto& tested) { return std::string(tested.param.name); });

}  // namespace
}  // namespace neliroute
