// The small parts of the state machine: deadlines, leases, ranges, histories, ids and errors.
#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <neliroute/error.h>
#include <random>
#include <set>
#include <thread>
#include <utility>

#include "neli_core/claimed/epoch_history.h"
#include "neli_core/deadline_tree.h"
#include "neli_core/lease_vector.h"
#include "neli_core/ready.h"
#include "neli_core/record/log_parts.h"
#include "neli_core/record/partition_ranges.h"

namespace neliroute {
namespace {

using namespace std::chrono_literals;

LocalTime at(std::int64_t us) { return LocalTime{microseconds{us}}; }

TEST(DeadlineTree, agrees_with_a_sorted_map_under_random_changes) {
  for (const std::uint32_t count : {1u, 2u, 3u, 64u, 65u, 1000u}) {
    DeadlineTree tree(count);
    EXPECT_EQ(tree.earliest(), kNever);
    std::map<std::uint32_t, LocalTime> all;
    std::mt19937_64 random(count);
    for (int i = 0; i < 5000; ++i) {
      const auto p = static_cast<std::uint32_t>(random() % count);
      const LocalTime deadline =
          random() % 4 == 0 ? kNever : at(static_cast<std::int64_t>(random() % 100));
      tree.set(Partition{p}, deadline);
      all[p] = deadline;
      LocalTime earliest = kNever;
      for (const auto& [q, d] : all) earliest = std::min(earliest, d);
      ASSERT_EQ(tree.earliest(), earliest);
      if (earliest == kNever) continue;
      ASSERT_EQ(all.at(tree.first().value()), earliest);
    }
  }
}

TEST(LeaseVector, holds_until_a_time_that_is_rounded_down) {
  LeaseVector leases(3);
  EXPECT_EQ(leases.size(), 3u);
  EXPECT_FALSE(leases.leads(Partition{1}, at(0)));
  leases.set(Partition{1}, at(1000), 7);
  EXPECT_EQ(leases.get(Partition{1}).until, at(992));
  EXPECT_EQ(leases.get(Partition{1}).generation, 7);
  EXPECT_TRUE(leases.leads(Partition{1}, at(991)));
  EXPECT_FALSE(leases.leads(Partition{1}, at(992)));
  EXPECT_FALSE(leases.leads(Partition{0}, at(0)));
  leases.set(Partition{1}, kLongAgo, 65535);
  EXPECT_FALSE(leases.leads(Partition{1}, at(0)));
  EXPECT_EQ(leases.get(Partition{1}).generation, 65535);
  leases.set(Partition{1}, at(1000), 65535, /*stale=*/true);
  EXPECT_TRUE(leases.get(Partition{1}).stale);
  EXPECT_EQ(leases.get(Partition{1}).until, at(992));
  EXPECT_EQ(leases.get(Partition{1}).generation, 65535);
  leases.set(Partition{1}, at(1000), 65535);
  EXPECT_FALSE(leases.get(Partition{1}).stale);
  leases.set(Partition{2}, kNever, 1);
  EXPECT_TRUE(leases.leads(Partition{2}, at(std::int64_t{86'400'000'000} * 25'500)));
  EXPECT_EQ(leases.get(Partition{2}).generation, 1);
}

TEST(LeaseVector, a_reader_never_sees_one_lease_with_another_s_generation) {
  LeaseVector leases(2);
  std::atomic<bool> done{false};
  std::atomic<bool> torn{false};
  std::atomic<int> reading{0};
  const auto read = [&] {
    reading.fetch_add(1);
    while (!done.load()) {
      const auto lease = leases.get(Partition{1});
      const std::int64_t until = lease.until.time_since_epoch().count();
      if (until / 16 % 65536 != lease.generation) torn = true;
    }
  };
  std::thread first(read), second(read);
  while (reading.load() < 2) std::this_thread::yield();
  for (std::int64_t i = 0; i < 300'000; ++i) {
    leases.set(Partition{1}, at(16 * i), static_cast<std::uint16_t>(i));
  }
  done = true;
  first.join();
  second.join();
  EXPECT_FALSE(torn);
}

TEST(PartitionRanges, writes_and_reads_sets_of_partitions) {
  const auto set = PartitionRanges::of({Partition{9}, Partition{2}, Partition{1}, Partition{1}});
  EXPECT_EQ(set.to_string(), "1-2,9");
  EXPECT_EQ(set.size(), 3u);
  EXPECT_EQ(PartitionRanges::parse("1-2,9"), set);
  EXPECT_EQ(PartitionRanges::parse("9,1,2"), set);
  EXPECT_EQ(PartitionRanges::parse("1-2,2,1-1,9-9"), set);
  EXPECT_EQ(PartitionRanges::parse(""), PartitionRanges{});
  EXPECT_EQ(PartitionRanges{}.to_string(), "");
  EXPECT_EQ(PartitionRanges::parse("0-65535")->size(), 65536u);
}

TEST(PartitionRanges, refuses_everything_else) {
  for (const char* text : {"x", " 1", "1 ", "1,", ",1", "1,,2", "1-", "-1", "1--2", "3-1", "+1",
                           "0x1", "1.0", "65536", "0-65536", "4294967296", "99999999999999999999",
                           "1-2-3", "1;2"}) {
    EXPECT_FALSE(PartitionRanges::parse(text)) << text;
  }
  std::string repeated = "0";
  for (int i = 0; i < 70'000; ++i) repeated += ",0";
  EXPECT_FALSE(PartitionRanges::parse(repeated)) << "more ranges than partitions";
}

TEST(LogPlaceTest, partitions_of_a_log_are_those_that_p_mod_L_sends_there) {
  const auto partitions_of = [](const LogPlace& place) {
    PartitionRanges partitions;
    place.for_each([&](Partition p) { partitions.insert(p); });
    return partitions;
  };
  EXPECT_EQ(partitions_of({Log{1}, 4, 10}).to_string(), "1,5,9");
  EXPECT_EQ(partitions_of({Log{0}, 1, 10}).to_string(), "0-9");
  EXPECT_TRUE(partitions_of({Log{3}, 4, 3}).empty());
  EXPECT_EQ(log_of(Partition{9}, 4), Log{1});
}

TEST(PartitionRanges, agree_with_a_set_in_whatever_order_partitions_come) {
  std::mt19937_64 random(1);
  for (int round = 0; round < 50; ++round) {
    PartitionRanges ranges;
    std::set<std::uint32_t> set;
    for (int i = 0; i < 60; ++i) {
      const auto p = static_cast<std::uint32_t>(random() % 80);
      ranges.insert(Partition{p});
      set.insert(p);
    }
    ASSERT_EQ(ranges.size(), set.size());
    std::vector<std::uint32_t> visited;
    ranges.for_each(70, [&](Partition p) { visited.push_back(p.value()); });
    EXPECT_EQ(visited, std::vector<std::uint32_t>(set.begin(), set.lower_bound(70)));
    for (std::uint32_t p = 0; p < 90; ++p) {
      ASSERT_EQ(ranges.contains(Partition{p}), set.contains(p));
    }
    EXPECT_EQ(PartitionRanges::parse(ranges.to_string()), ranges);
    EXPECT_EQ(PartitionRanges::of(ranges.to_vector()), ranges);
  }
}

TEST(PartitionRanges, join_another_set_as_if_each_were_inserted) {
  std::mt19937_64 random(2);
  for (int round = 0; round < 50; ++round) {
    PartitionRanges sets[2];
    PartitionRanges both;
    for (int i = 0; i < 40; ++i) {
      const Partition p{static_cast<std::uint32_t>(random() % 80)};
      sets[i % 2].insert(p);
      both.insert(p);
    }
    sets[0].insert(sets[1]);
    EXPECT_EQ(sets[0], both) << round;
  }
}

// Whoever copied what is there for each of them would need half a minute.
TEST(PartitionRanges, are_copied_only_to_grow_when_partitions_come_from_the_last_to_the_first) {
  PartitionRanges ranges;
  const void* before = nullptr;
  std::size_t copied = 0;
  for (std::uint32_t p = kPartitionCountMax; p > 0; p -= 2) {
    ranges.insert(Partition{p - 1});
    if (std::exchange(before, ranges.ranges().data()) != ranges.ranges().data()) ++copied;
  }
  EXPECT_LE(copied, 32u) << "of " << kPartitionCountMax / 2;
  EXPECT_EQ(ranges.ranges().size(), kPartitionCountMax / 2);
}

constexpr ProcessId kOwn{1}, kOther{2};
const Reading kRead{at(100), 10ms, std::nullopt};

TEST(EpochHistory, the_newest_claim_is_the_last_read_and_the_greatest_epoch_the_greatest) {
  EpochHistory history;
  EXPECT_FALSE(history.newest());
  EXPECT_TRUE(history.is_valid({1, 0}));
  history.foreign_claim({5, 7}, kOther, kRead);
  history.own_claim({4, 8}, kOwn);
  EXPECT_EQ(history.newest()->epoch, (Epoch{4, 8}));
  EXPECT_EQ(history.newest()->previous_id, kOther);
  EXPECT_EQ(history.greatest(), (Epoch{5, 7}));
  EXPECT_FALSE(history.is_valid({5, 7}));
  EXPECT_TRUE(history.is_valid({4, 8}));
  EXPECT_TRUE(history.is_valid({1, 9})) << "its claim was not read";
  EXPECT_TRUE(history.claim_was_read({5, 7}));
  EXPECT_TRUE(history.claim_was_read({4, 8}));
  EXPECT_FALSE(history.claim_was_read({1, 9}));
}

TEST(EpochHistory, broker_time_counts_only_while_every_record_of_an_epoch_is_history) {
  EpochHistory history;
  const Reading old{at(100), 10ms, BrokerTime{1000ms}};
  history.foreign_claim({1, 1}, kOther, old);
  history.renewal({1, 1}, kOther, false, {at(100), 10ms, BrokerTime{1500ms}});
  history.renewal({1, 1}, kOther, false, old);
  EXPECT_EQ(history.find({1, 1})->over_stamp, BrokerTime{1510ms});
  EXPECT_EQ(history.find({1, 1})->over_at, at(100 + 10'011));
  history.renewal({1, 1}, kOther, false, {at(200), 20ms, std::nullopt});
  EXPECT_FALSE(history.find({1, 1})->over_stamp);
  EXPECT_EQ(history.find({1, 1})->over_at, at(200 + 20'021));
  history.renewal({1, 1}, kOther, false, {at(300), 1ms, BrokerTime{2000ms}});
  EXPECT_FALSE(history.find({1, 1})->over_stamp) << "never again";
  EXPECT_EQ(history.find({1, 1})->over_at, at(200 + 20'021)) << "none falls";
}

TEST(EpochHistory, a_gap_forgets_the_order_and_keeps_what_stands_in_the_way) {
  EpochHistory history;
  history.foreign_claim({5, 7}, kOther, {at(100), 10ms, BrokerTime{1ms}});
  history.gap();
  EXPECT_FALSE(history.newest());
  ASSERT_NE(history.find({5, 7}), nullptr);
  EXPECT_FALSE(history.find({5, 7})->over_stamp);
  EXPECT_FALSE(history.claim_was_read({5, 7}));
  EXPECT_EQ(history.greatest(), (Epoch{5, 7}));
}

TEST(EpochHistory, forgets_what_is_over_but_the_newest_and_what_is_above_the_own_epoch) {
  EpochHistory history;
  history.foreign_claim({1, 1}, kOther, kRead);
  history.foreign_claim({1, 2}, kOther, kRead);
  history.foreign_claim({1, 3}, kOther, kRead);
  const LocalTime over = history.find({1, 1})->over_at;
  history.forget(over - 1us, {1, 9});
  EXPECT_EQ(history.foreign().size(), 3u);
  history.forget(over, {1, 1});
  EXPECT_EQ(history.foreign().size(), 2u) << "above the own epoch: their claims were read";
  history.forget(over, {1, 9});
  ASSERT_EQ(history.foreign().size(), 1u);
  EXPECT_EQ(history.foreign()[0].epoch, (Epoch{1, 3}));
  EXPECT_EQ(history.greatest(), (Epoch{1, 3}));
}

TEST(EpochHistory, keeps_the_newest_even_released_when_older_ones_must_be_folded) {
  EpochHistory history;
  for (std::int64_t i = 0; i < 32; ++i) history.foreign_claim({5, i}, kOther, kRead);
  ASSERT_EQ(history.foreign().size(), EpochHistory::kKnownMax);
  EXPECT_TRUE(history.release({5, 31}, kOther, kRead));
  history.renewal({5, 40}, ProcessId{3}, false, kRead);
  EXPECT_EQ(history.newest()->epoch, (Epoch{5, 31}));
  EXPECT_NE(history.find({5, 31}), nullptr);
  EXPECT_EQ(history.find({5, 0}), nullptr) << "the oldest goes";
  EXPECT_NE(history.find({5, 40}), nullptr);
}

TEST(EpochHistory, releases_are_final_the_own_id_s_alone_and_outlive_late_renewals) {
  EpochHistory history;
  history.foreign_claim({1, 1}, kOther, kRead);
  EXPECT_FALSE(history.release({1, 1}, kOwn, kRead));
  EXPECT_EQ(history.find({1, 1})->released_at, kNever);
  EXPECT_TRUE(history.release({1, 1}, kOther, kRead));
  history.renewal({1, 1}, kOther, false, {at(500), 10ms, std::nullopt});
  EXPECT_EQ(history.find({1, 1})->released_at, at(100));
  EXPECT_TRUE(history.release({1, 5}, kOther, kRead)) << "its claim was not read";
  history.forget(at(101), {9, 9});
  ASSERT_NE(history.find({1, 5}), nullptr) << "kept as long as its lease could run";
  history.foreign_claim({1, 6}, kNobody, kRead);
  EXPECT_FALSE(history.release({1, 6}, kNobody, kRead)) << "nobody can release";
}

TEST(Time, waits_are_lengthened_by_drift_and_never_overflow) {
  EXPECT_EQ(with_drift(0us), 0us);
  EXPECT_EQ(with_drift(-5us), 0us);
  EXPECT_EQ(with_drift(1us), 2us);
  EXPECT_EQ(with_drift(1s), 1001001us);
  EXPECT_EQ(later(kNever, 1s), kNever);
  EXPECT_EQ(later(kNever - 1us, 2us), kNever);
  EXPECT_EQ(later(at(5), 2us), at(7));
}

TEST(Ids, are_written_as_event_logs_and_records_show_them) {
  EXPECT_EQ(to_string(ProcessId{0xab}), "00000000000000ab");
  EXPECT_EQ(to_string(Epoch{17, 4}), "17:4");
  EXPECT_LT(kNoEpoch, (Epoch{-1, 0}));
  EXPECT_LT((Epoch{1, 9}), (Epoch{2, 0}));
  EXPECT_LT((Epoch{2, 0}), (Epoch{2, 1}));
}

TEST(Errors, say_what_happened_and_what_to_do) {
  for (int code = 1; code <= static_cast<int>(Errc::system_refused); ++code) {
    const std::string text = Error(static_cast<Errc>(code)).message();
    EXPECT_EQ(text.find("unknown"), std::string::npos) << code;
    EXPECT_NE(text.find(code == 8 || code == 9 ? "" : ";"), std::string::npos) << text;
  }
  EXPECT_EQ(Error(Errc::closed, "why").message(), "why");
  EXPECT_EQ(make_error_code(Errc::closed).category().name(), std::string("neliroute"));
  const Result<int> bad = Error(Errc::bad_option, "no");
  EXPECT_FALSE(bad);
  EXPECT_EQ(bad.error().detail(), "no");
}

TEST(Transitions, have_names) {
  EXPECT_STREQ(to_string(TransitionKind::acquired), "acquired");
  EXPECT_STREQ(to_string(TransitionKind::draining), "draining");
  EXPECT_STREQ(to_string(TransitionKind::stopped), "stopped");
  EXPECT_STREQ(to_string(TransitionKind::released), "released");
  EXPECT_STREQ(to_string(StopReason::superseded), "superseded");
  EXPECT_STREQ(to_string(StopReason::closed), "closed");
  EXPECT_STREQ(to_string(StopReason::lapsed), "lapsed");
  EXPECT_STREQ(to_string(StopReason::gap), "gap");
  EXPECT_STREQ(to_string(StopReason::conflict), "conflict");
}

}  // namespace
}  // namespace neliroute
