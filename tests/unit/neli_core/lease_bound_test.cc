// T*: what is known of the leases in force, and that it falls again.
#include "neli_core/lease_bound.h"

#include <gtest/gtest.h>

#include <limits>

#include "tests/world/rig.h"

namespace neliroute {
namespace {

using namespace std::chrono_literals;
using rig::kLog;
using rig::renewal_of;
using rig::Rig;
using rig::exclusive;

// With two logs and clock_error 100 ms.
LeaseBound bound_for(milliseconds own, bool believe_broker_time = true) {
  CoreOptions options;
  options.lease = own;
  options.clock_error = 100ms;
  options.believe_broker_time = believe_broker_time;
  options.settings.logs = 2;
  return LeaseBound(options);
}

class LeaseBoundTest : public testing::Test {
 protected:
  struct Said {
    std::optional<milliseconds> lease = std::nullopt;
    std::optional<milliseconds> max = std::nullopt;
  };
  void at(milliseconds time, Said said, Log log = kLog, bool store_stamped = true) {
    Record record;
    record.lease = said.lease;
    record.max_lease = said.max;
    const Decoded value = record;
    bound_.read({log, offset_++, BrokerTime{1'700'000'000'000ms + time}, store_stamped, &value},
                record, LocalTime{time});
  }
  milliseconds value() const { return bound_.value(); }

  LeaseBound bound_ = bound_for(1s);
  std::int64_t offset_ = 0;
};

TEST_F(LeaseBoundTest, is_the_own_lease_where_nothing_was_read) { EXPECT_EQ(value(), 1s); }

TEST_F(LeaseBoundTest, a_lease_counts_for_as_long_as_it_is_in_force) {
  at(0s, {60s, 60s});
  at(60'160ms, {1s, 1s});  // 60 s, 0.1 % and 1 ms for its rounding, 100 ms
  EXPECT_EQ(value(), 60s);
  at(60'162ms, {1s, 1s});
  EXPECT_EQ(value(), 1s);
}

TEST_F(LeaseBoundTest, a_lease_of_which_nobody_tells_any_more_counts_as_long) {
  at(0s, {1s, 1s});
  at(5s, {1s, 1s});  // from here on it was read for long enough
  at(6s, {60s, 1s});
  at(66'160ms, {1s, 1s});
  EXPECT_EQ(value(), 60s);
  at(66'162ms, {1s, 1s});
  EXPECT_EQ(value(), 1s);
}

TEST_F(LeaseBoundTest, after_a_record_without_a_broker_s_stamp_it_learns_anew) {
  at(0s, {1s, 1s});
  at(5s, {1s, 1s});
  at(6s, {1s, 1s}, kLog, /*store_stamped=*/false);
  at(7s, {1s, 60s});
  EXPECT_EQ(value(), 60s) << "nobody knows for how long it was read";
  at(67'160ms, {1s, 1s});
  EXPECT_EQ(value(), 60s);
  at(67'162ms, {1s, 1s});
  EXPECT_EQ(value(), 1s);
}

TEST_F(LeaseBoundTest, a_renewed_lease_counts_from_its_last_renewal) {
  at(0s, {60s, 60s});
  at(59s, {60s, 60s});
  at(118s, {1s, 1s});
  EXPECT_EQ(value(), 60s);
  at(120s, {1s, 1s});
  EXPECT_EQ(value(), 1s);
}

TEST_F(LeaseBoundTest, what_others_tell_counts_until_it_was_read_for_that_long) {
  at(0s, {1s, 60s});
  at(60'160ms, {1s, 60s});
  EXPECT_EQ(value(), 60s);
  at(60'162ms, {1s, 60s});
  EXPECT_EQ(value(), 1s) << "its writer has read less, and says so until it has read enough";
  at(61s, {1s, 60s});
  EXPECT_EQ(value(), 1s);
}

TEST_F(LeaseBoundTest, a_gap_makes_it_learn_anew) {
  at(0s, {1s, 60s});
  at(30s, {1s, 60s});
  bound_.gap(kLog);
  EXPECT_EQ(value(), 60s);
  at(61s, {1s, 1s});
  EXPECT_EQ(value(), 60s) << "31 s were not read";
  at(122s, {1s, 1s});
  EXPECT_EQ(value(), 1s);
}

TEST_F(LeaseBoundTest, after_a_gap_what_others_tell_is_believed_again) {
  at(0s, {1s, 1s});
  at(5s, {1s, 1s});
  at(6s, {1s, 60s});
  EXPECT_EQ(value(), 1s);
  bound_.gap(kLog);
  at(7s, {1s, 60s});
  EXPECT_EQ(value(), 60s);
}

TEST_F(LeaseBoundTest, each_log_must_have_been_read_for_that_long) {
  at(0s, {1s, 60s}, Log{0});
  at(0s, {1s, 60s}, Log{1});
  at(61s, {1s, 60s}, Log{0});
  EXPECT_EQ(value(), 60s);
  at(61s, {1s, 60s}, Log{1});
  EXPECT_EQ(value(), 1s);
}

TEST_F(LeaseBoundTest, a_gap_in_one_log_keeps_what_another_knows) {
  at(0s, {60s, 60s}, Log{1});
  bound_.gap(Log{0});
  at(61s, {1s, 1s}, Log{1});
  EXPECT_EQ(value(), 60s) << "what was missed of log 0 may have said so";
}

TEST_F(LeaseBoundTest, of_a_version_that_says_no_lease_the_longest_told_counts) {
  at(0s, {1s, 1s});
  at(5s, {1s, 1s});
  at(6s, {std::nullopt, 60s});
  EXPECT_EQ(value(), 60s);
  at(67s, {1s, 1s});
  EXPECT_EQ(value(), 1s);
}

TEST_F(LeaseBoundTest, where_writers_stamp_a_lease_counts_by_its_own_clock) {
  for (const bool believes : {true, false}) {
    bound_ = bound_for(1s, believes);
    at(0s, {60s, 1s}, kLog, !believes);
    at(60'061ms, {1s, 1s}, kLog, !believes);
    EXPECT_EQ(value(), 60s);
    at(60'062ms, {1s, 1s}, kLog, !believes);
    EXPECT_EQ(value(), 1s);
  }
}

// It is not known for how long the log was read, until an own record comes back.
TEST_F(LeaseBoundTest, where_writers_stamp_what_others_tell_falls_with_an_own_record) {
  at(0s, {1s, 60s}, kLog, false);
  at(10min, {1s, 60s}, kLog, false);
  EXPECT_EQ(value(), 60s);
  bound_.read_back(kLog, LocalTime{60'061ms});
  EXPECT_EQ(value(), 60s);
  bound_.read_back(kLog, LocalTime{60'062ms});
  EXPECT_EQ(value(), 1s);
  at(11min, {1s, 60s}, kLog, false);
  EXPECT_EQ(value(), 1s);
  bound_.gap(kLog);
  bound_.read_back(kLog, LocalTime{11min});
  at(12min, {1s, 60s}, kLog, false);
  bound_.read_back(kLog, LocalTime{13min});
  EXPECT_EQ(value(), 60s) << "for a minute at least, it must be read without a gap";
}

// What it knows of a lease by one clock says nothing of when that is over by the other.
TEST_F(LeaseBoundTest, a_lease_that_was_in_force_when_stamps_changed_is_kept) {
  for (const bool stamped : {true, false}) {
    bound_ = bound_for(1s);
    at(0s, {1s, 1s}, kLog, stamped);
    at(1000s, {60s, 60s}, kLog, stamped);
    at(1001s, {1s, 1s}, kLog, !stamped);
    bound_.read_back(kLog, LocalTime{1001s});
    at(1050s, {1s, 1s}, kLog, !stamped);
    bound_.read_back(kLog, LocalTime{1050s});
    EXPECT_EQ(value(), 60s) << stamped;
  }
}

TEST_F(LeaseBoundTest, an_own_record_shows_nothing_where_the_store_stamps) {
  at(0s, {1s, 60s});
  bound_.read_back(kLog, LocalTime{10min});
  EXPECT_EQ(value(), 60s);
}

TEST_F(LeaseBoundTest, many_different_leases_are_bounded_upwards) {
  for (int i = 0; i < 600; ++i) at(milliseconds{i}, {milliseconds{600'000 - i * 900}, 1s});
  EXPECT_EQ(value(), 600s);
  at(601s, {1s, 1s});
  EXPECT_LT(value(), 600s);
  EXPECT_GE(value(), 1s);
  at(1202s, {1s, 1s});
  EXPECT_EQ(value(), 1s);
}

TEST_F(LeaseBoundTest, of_many_at_once_the_shortest_are_kept_as_one_until_the_last_is_over) {
  for (int i = 0; i < 20; ++i) at(1s * i, {60s - 100ms * i, 1s});
  at(76s, {1s, 1s});
  EXPECT_GE(value(), 58'100ms) << "the last of them is over at 77 s";
  at(79s, {1s, 1s});
  EXPECT_EQ(value(), 1s);
}

TEST_F(LeaseBoundTest, believes_what_others_tell_for_its_own_lease_at_least) {
  bound_ = bound_for(10s);
  at(0s, {1s, 1s});
  at(3s, {1s, 1s});
  at(4s, {1s, 60s});
  EXPECT_EQ(value(), 60s);
}

TEST_F(LeaseBoundTest, a_broker_whose_clock_steps_back_makes_nothing_fall_early) {
  at(10s, {60s, 60s});
  at(0s, {1s, 1s});
  at(69s, {1s, 1s});
  EXPECT_EQ(value(), 60s);
  at(71s, {1s, 1s});
  EXPECT_EQ(value(), 1s);
}

TEST_F(LeaseBoundTest, stamps_at_the_limits_overflow_nothing) {
  Record record;
  record.lease = record.max_lease = kLeaseMax;
  const Decoded value = record;
  for (const auto stamp : {std::numeric_limits<std::int64_t>::min(), std::int64_t{-1},
                           std::int64_t{0}, std::numeric_limits<std::int64_t>::max()}) {
    bound_.read({kLog, offset_++, BrokerTime{milliseconds{stamp}}, true, &value}, record,
                LocalTime{0s});
    EXPECT_EQ(bound_.value(), kLeaseMax);
  }
}

TEST(HistoryHorizon, is_t_star_before_what_the_last_writer_had_read) {
  const BrokerTime end{1'700'000'000'000ms};
  Record last;
  last.lease = 1s;
  last.max_lease = 5s;
  last.read_until = end - 100ms;
  EXPECT_EQ(history_horizon(&last, end, 2s), end - 5100ms);
  EXPECT_EQ(history_horizon(&last, end, 7s), end - 7100ms);
  last.lease = 9s;
  EXPECT_EQ(history_horizon(&last, end, 7s), end - 9100ms);
  last.read_until = end + 3s;  // stamped by a broker whose clock is ahead
  EXPECT_EQ(history_horizon(&last, end, 1s), end - 9s);
  last.read_until = BrokerTime{0ms};
  EXPECT_EQ(history_horizon(&last, end, 1s), end - kLeaseMax) << "no lease is longer";
}

TEST(HistoryHorizon, is_the_longest_lease_back_where_nobody_says_more) {
  const BrokerTime end{1'700'000'000'000ms};
  EXPECT_EQ(history_horizon(nullptr, end, 1s), end - kLeaseMax);
  Record last;
  last.max_lease = 5s;
  EXPECT_EQ(history_horizon(&last, end, 1s), end - kLeaseMax) << "its writer had read nothing";
  last.max_lease.reset();
  last.read_until = end;
  EXPECT_EQ(history_horizon(&last, end, 1s), end - kLeaseMax);
}

TEST(HistoryHorizon, stamps_at_the_limits_overflow_nothing) {
  Record last;
  last.max_lease = kLeaseMax;
  for (const auto stamp : {std::numeric_limits<std::int64_t>::min(),
                           std::numeric_limits<std::int64_t>::max()}) {
    const BrokerTime at{milliseconds{stamp}};
    last.read_until = at;
    EXPECT_LE(history_horizon(&last, at, 1s), BrokerTime{milliseconds{kIncarnationMax}});
    EXPECT_GE(history_horizon(&last, at, 1s), BrokerTime{-kLeaseMax});
  }
}

// The offset from which a newcomer reads.
std::int64_t start_of_reading(Rig& rig) {
  const MemoryLog& log = rig.log(0);
  const StoredRecord& last = log.records.back();
  const BrokerTime from =
      history_horizon(last.record(), last.stamped, rig.options.lease) - rig.options.clock_error;
  auto at = log.end() - 1;
  while (at > 0 && log.find(at)->stamped > from) --at;
  return at;
}

// What stands at the log's end may be of one whose tail is stuck, and whose producer is not.
TEST(Rule6, a_newcomer_reads_on_from_where_the_last_writer_had_read) {
  Rig rig(exclusive());
  auto& slow = rig.start(1, "slow");
  rig.assign(slow, "0-1");
  rig.run_for(30s);
  ASSERT_TRUE(slow.leads(0, rig.now()));
  slow.hold = true;
  CoreOptions with_long_lease = rig.core_options(2, "a");
  with_long_lease.lease = 20s;
  with_long_lease.interval = 6s;
  auto& a = rig.start(with_long_lease);
  rig.assign(a, "2-3");
  ASSERT_TRUE(rig.run_until([&] { return a.leads(2, rig.now()); }, 10s));
  rig.run_for(1500ms);
  a.stopped = true;
  ASSERT_EQ(rig.log(0).records.back().record()->id, ProcessId{1});
  auto& newcomer = rig.start(3, "newcomer", start_of_reading(rig));
  rig.assign(newcomer, "2");
  EXPECT_EQ(newcomer.claims.lease_bound(), 20s);
  ASSERT_FALSE(rig.run_until([&] { return rig.leaders(2) > 1; }, 30s));
  EXPECT_TRUE(newcomer.leads(2, rig.now()));
}

// One process with a lease of ten minutes, once; the others hand it on no longer than that.
TEST(Rule6, t_star_falls_when_whoever_had_a_long_lease_is_gone) {
  Rig rig(exclusive());
  auto& a = rig.start(1, "a");
  rig.assign(a, "0-3");
  Record stranger = renewal_of(9, {1, 0}, "3");
  stranger.lane = Lane{5};
  stranger.lease = stranger.max_lease = 20s;
  rig.append(kLog, stranger);
  rig.run_for(1s);
  EXPECT_EQ(a.records().back().max_lease, 20s);
  rig.run_for(15s);
  EXPECT_EQ(a.records().back().max_lease, 20s);
  // It starts while that is still told, and tells it on, from when it reads on.
  constexpr std::int64_t kEnd = 1'000'000;
  auto& b = rig.start(2, "b", kEnd);
  rig.run_for(1s);
  EXPECT_EQ(b.claims.lease_bound(), 20s);
  rig.run_for(5s);
  EXPECT_EQ(a.records().back().max_lease, 1s) << "20 s after it was heard of for the last time";
  EXPECT_EQ(b.claims.lease_bound(), 20s);
  rig.run_for(16s);
  EXPECT_EQ(b.claims.lease_bound(), 1s) << "20 s after it began to read";
  auto& c = rig.start(3, "c", kEnd);
  rig.run_for(1s);
  EXPECT_EQ(c.claims.lease_bound(), 1s);
}

}  // namespace
}  // namespace neliroute
