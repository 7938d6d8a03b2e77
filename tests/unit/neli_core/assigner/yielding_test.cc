// When the assigner gives the seat to a member that reads better (rule A2).
#include "neli_core/assigner/yielding.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "neli_core/assigner/own_reading.h"
#include "tests/unit/neli_core/assigner/told.h"

namespace neliroute {
namespace {

using namespace std::chrono_literals;
using told::at_ms;
using told::kInterval;
using told::kLease;
using told::kOther;
using told::kOwn;
using told::renewal;

/// This process holds the seat, and reads what it writes 400 ms late. Its session is 500 ms.
class YieldingTest : public testing::Test {
 protected:
  YieldingTest() { members.read(renewal(2), told::seen(now)); }
  /// So long that each has met it.
  void lag_for_long() {
    for (int i = 0; i < 12; ++i) after_it_states(390ms);
  }
  /// An interval passes; the other states that lag, and reads all logs but these.
  ProcessId after_it_states(std::optional<milliseconds> lag, const std::string& unread = "",
                            milliseconds own_lag = 400ms) {
    now += kInterval;
    own.answered(Log{0}, now);
    own.read_back(Log{0}, now - own_lag, now);
    if (writes_log_1) own.wrote(Log{1}, now);
    Record record = renewal(2);
    record.member->reads = lag.has_value();
    record.member->lag = lag;
    record.member->unread = told::ranges(unread);
    members.read(record, told::seen(now));
    yielding.read(record, own, members, now);
    return yielding.to(members, now);
  }
  /// An interval passes; each of these states its lag and what it does not read.
  struct States {
    std::uint64_t id;
    milliseconds lag;
    std::string unread = "";
    std::uint32_t seat_priority = kSeatPriorityDefault;
  };
  ProcessId after_they_state(const std::vector<States>& all, milliseconds own_lag = 400ms) {
    now += kInterval;
    own.answered(Log{0}, now);
    own.read_back(Log{0}, now - own_lag, now);
    for (const States& one : all) {
      Record record = renewal(one.id);
      record.member->reads = true;
      record.member->lag = one.lag;
      record.member->unread = told::ranges(one.unread);
      record.member->seat_priority = one.seat_priority;
      members.read(record, told::seen(now));
      yielding.read(record, own, members, now);
    }
    return yielding.to(members, now);
  }

  LocalTime now = at_ms(10'000);
  Members members{{kOwn, kInterval}};
  OwnReading own{{2, told::kSession, kLease}};
  Yielding yielding{told::kSession, kInterval};
  bool writes_log_1 = false;
};

TEST_F(YieldingTest, gives_way_to_who_states_twice_in_a_row_at_most_half_of_its_lag) {
  lag_for_long();
  EXPECT_EQ(after_it_states(200ms), kNobody);
  EXPECT_EQ(after_it_states(201ms), kNobody);
  EXPECT_EQ(after_it_states(200ms), kNobody);
  EXPECT_EQ(after_it_states(10ms), kOther);
}

// A broker became slow for all: the other met it as late, and wrote of it later.
TEST_F(YieldingTest, believes_nobody_who_wrote_before_it_could_know_of_the_same_lag) {
  after_it_states(10ms);  // this one lags from here on, by 400 ms
  const LocalTime began = now;
  while (now + kInterval < began + 400ms) EXPECT_EQ(after_it_states(10ms), kNobody);
  EXPECT_EQ(after_it_states(390ms), kNobody);
  EXPECT_EQ(after_it_states(10ms), kNobody);
  EXPECT_EQ(after_it_states(10ms), kOther);
}

// All of it was written before anybody could meet what this one meets now.
TEST_F(YieldingTest, believes_nobody_who_stated_a_lag_that_has_grown_since_for_all) {
  for (int i = 0; i < 12; ++i) EXPECT_EQ(after_it_states(390ms), kNobody);
  const LocalTime from = now;
  now += 450ms;
  own.read_back(Log{0}, now - 850ms, now);
  for (LocalTime stamp = from + kInterval; stamp <= now; stamp += kInterval) {
    Record record = renewal(2);
    record.member->reads = true;
    record.member->lag = 400ms;
    members.read(record, {stamp.time_since_epoch(), now, false, false});
    yielding.read(record, own, members, now);
  }
  EXPECT_EQ(yielding.to(members, now), kNobody);
}

// A broker that is slow for everybody leaves a slow assigner, not none.
TEST_F(YieldingTest, does_not_give_way_to_who_reads_as_late_or_not_at_all) {
  for (int i = 0; i < 10; ++i) {
    EXPECT_EQ(after_it_states(390ms), kNobody);
    EXPECT_EQ(after_it_states(std::nullopt), kNobody);
  }
}

TEST_F(YieldingTest, does_not_give_way_for_a_lag_below_a_third_of_its_session) {
  for (int i = 0; i < 20; ++i) EXPECT_EQ(after_it_states(1ms, "", 160ms), kNobody);
}

TEST_F(YieldingTest, gives_way_to_who_reads_a_log_that_it_does_not_read) {
  own.answered(Log{1}, now);
  own.wrote(Log{1}, now);
  writes_log_1 = true;
  const LocalTime away = now;
  while (now + kInterval < away + kLease) EXPECT_EQ(after_it_states(5ms, "", 5ms), kNobody);
  now = away + kLease;
  EXPECT_EQ(own.unread(now).to_string(), "1");
  EXPECT_EQ(after_it_states(5ms, "1", 5ms), kNobody);  // it is away for all
  EXPECT_EQ(after_it_states(5ms, "0", 5ms), kNobody);  // another one is
  EXPECT_EQ(after_it_states(5ms, "", 5ms), kNobody);
  EXPECT_EQ(after_it_states(5ms, "", 5ms), kOther);
}

TEST_F(YieldingTest, gives_way_when_it_lags_again_after_it_was_well) {
  lag_for_long();
  for (int i = 0; i < 8; ++i) EXPECT_EQ(after_it_states(390ms, "", 5ms), kNobody);
  lag_for_long();
  EXPECT_EQ(after_it_states(10ms), kNobody);
  EXPECT_EQ(after_it_states(10ms), kOther);
}

TEST_F(YieldingTest, waits_twice_as_long_each_time_to_the_same_one) {
  std::vector<LocalTime> yielded;
  for (int i = 0; i < 200 && yielded.size() < 4; ++i) {
    if (after_it_states(1ms) == kOther) yielded.push_back(now);
  }
  ASSERT_EQ(yielded.size(), 4u);
  for (std::size_t i = 1; i < yielded.size(); ++i) {
    const milliseconds least = 2 * told::kSession * (1 << (i - 1));
    EXPECT_GE(yielded[i] - yielded[i - 1], least) << i;
    EXPECT_LE(yielded[i] - yielded[i - 1], least + 2 * kInterval) << i;
  }
}

TEST_F(YieldingTest, a_gap_of_the_log_counts_against_nobody) {
  EXPECT_EQ(after_it_states(1ms), kNobody);
  const LocalTime sent = now;
  now += 5000ms;
  own.read_back(Log{0}, sent, now);
  own.gap(now);
  EXPECT_EQ(own.lag(now), std::nullopt);
  own.read_back(Log{0}, sent + 1ms, now + 1ms);
  EXPECT_EQ(own.lag(now + 1ms), std::nullopt);
}

TEST_F(YieldingTest, a_lag_is_the_longest_of_the_last_session) {
  own.read_back(Log{0}, now - 300ms, now);
  own.read_back(Log{0}, now + 90ms, now + 100ms);
  EXPECT_EQ(own.lag(now + 100ms), 300ms);
  EXPECT_EQ(own.lag(now + 500ms), 300ms);
  EXPECT_EQ(own.lag(now + 501ms), 10ms);
  EXPECT_TRUE(own.in_time(now + 600ms));
  EXPECT_FALSE(own.in_time(now + 601ms));
  own.read_back(Log{0}, std::nullopt, now + 601ms);
  EXPECT_FALSE(own.in_time(now + 601ms));
}

// All of a burst is read at once, and between two of them it has read nothing for a session.
TEST_F(YieldingTest, gives_way_where_it_reads_in_bursts_further_apart_than_its_session) {
  const milliseconds apart = told::kSession + 100ms;
  std::vector<ProcessId> asked;
  for (int burst = 0; burst < 6; ++burst) {
    const LocalTime from = now;
    now += apart;
    for (LocalTime stamp = from + kInterval; stamp <= now; stamp += kInterval) {
      Record record = renewal(2);
      record.member->reads = true;
      record.member->lag = 10ms;
      members.read(record, {stamp.time_since_epoch(), now, false, false});
      yielding.read(record, own, members, now);
      own.read_back(Log{0}, stamp, now);
    }
    if (const ProcessId to = yielding.to(members, now); to != kNobody) asked.push_back(to);
  }
  EXPECT_FALSE(asked.empty());
}

// Each would be better than the other in something, and the seat would go to and fro.
TEST_F(YieldingTest, does_not_give_way_to_who_does_not_read_a_log_that_it_reads) {
  for (int i = 0; i < 20; ++i) EXPECT_EQ(after_it_states(1ms, "1"), kNobody);
}

TEST_F(YieldingTest, gives_way_to_who_reads_soonest_whoever_is_senior) {
  lag_for_long();
  const std::vector<States> both = {{2, 150ms}, {3, 10ms}};
  EXPECT_EQ(after_they_state(both), kNobody);
  EXPECT_EQ(after_they_state(both), ProcessId{3});
}

TEST_F(YieldingTest, gives_way_to_the_preferred_one_of_two_that_read_as_soon) {
  lag_for_long();
  const std::vector<States> both = {{2, 10ms}, {3, 10ms, "", 51}};
  EXPECT_EQ(after_they_state(both), kNobody);
  EXPECT_EQ(after_they_state(both), ProcessId{3});
}

TEST_F(YieldingTest, goes_on_to_the_next_one_where_the_first_does_not_claim) {
  lag_for_long();
  const std::vector<States> both = {{2, 10ms}, {3, 20ms}};
  std::vector<ProcessId> asked;
  for (int i = 0; i < 60; ++i) {
    const ProcessId to = after_they_state(both);
    if (to != kNobody) asked.push_back(to);
  }
  ASSERT_GE(asked.size(), 3u);
  EXPECT_EQ(asked[0], ProcessId{2});
  EXPECT_EQ(asked[1], ProcessId{2});
  EXPECT_EQ(asked[2], ProcessId{3});
}

TEST_F(YieldingTest, believes_nobody_who_states_no_more) {
  lag_for_long();
  EXPECT_EQ(after_it_states(10ms), kNobody);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(after_they_state({}), kNobody);
  EXPECT_EQ(after_it_states(10ms), kNobody);
  EXPECT_EQ(after_it_states(10ms), kOther);
}

TEST(OwnReading, takes_a_log_for_unread_that_it_reads_a_lease_late) {
  OwnReading own({2, told::kSession, kLease});
  LocalTime now = at_ms(10'000);
  own.begins(now);
  for (int i = 0; i < 40; ++i) {
    now += kInterval;
    for (const Log log : {Log{0}, Log{1}}) {
      own.wrote(log, now);
      own.answered(log, now);
    }
    own.read_back(Log{0}, now - 5ms, now);
    own.read_back(Log{1}, i % 2 == 0 ? std::optional(now - kLease) : std::nullopt, now);
  }
  EXPECT_EQ(own.unread(now).to_string(), "1");
  own.read_back(Log{1}, now - 5ms, now);
  EXPECT_TRUE(own.unread(now).empty());
}

TEST(OwnReading, takes_a_log_for_unread_that_never_answered) {
  OwnReading own({2, told::kSession, kLease});
  const LocalTime began = at_ms(10'000);
  own.begins(began);
  own.answered(Log{0}, began + kLease);
  EXPECT_TRUE(own.unread(began + kLease - 1ms).empty());
  EXPECT_EQ(own.unread(began + kLease).to_string(), "1");
}

}  // namespace
}  // namespace neliroute
