// Who holds the right to assign, when it is free, and which assignments count (rules A2 and A3).
#include "neli_core/assigner/seat.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "neli_core/assigner/own_reading.h"
#include "neli_core/assigner/yielding.h"
#include "tests/unit/neli_core/assigner/told.h"

namespace neliroute {
namespace {

using namespace std::chrono_literals;
using told::assign;
using told::at_ms;
using told::kFirst;
using told::kInterval;
using told::kLease;
using told::kOther;
using told::kOwn;
using told::kSecond;
using told::renewal;

constexpr milliseconds kLong{60'000};
/// Long enough for each test to hear of it, and short enough to lose the seat in.
constexpr milliseconds kHolds{1000};

Record assigning(std::uint64_t id, const Epoch& seat) {
  Record record = renewal(id, kHolds);
  record.member->seat = seat;
  record.member->seat_by = ProcessId{id};
  record.member->assigning = true;
  return record;
}

/// Says whose the seat is, as far as it has read log 0.
Record tells(std::uint64_t id, std::uint64_t holder, const Epoch& seat, std::int64_t upto) {
  Record record = renewal(id);
  record.member->seat = seat;
  record.member->seat_by = ProcessId{holder};
  record.member->upto = upto;
  return record;
}

class SeatTest : public testing::Test {
 protected:
  SeatTest() {
    read(renewal(1, kLong));
    read(renewal(2, kHolds));
    read(renewal(3, kLong));
  }
  void read(Record record) {
    record.member->reads = record.id != kOwn || own_reads;
    members.read(record, told::seen(now));
    members.tick(now);
  }
  /// Its tail starts at the first record of all, or later.
  void start(std::int64_t at = 0) {
    seat.tail_started({Log{0}, at, at, at == 0}, members);
  }
  void claim(ProcessId id, const Epoch& epoch) { seat.claimed(id, epoch, members); }
  void renew(const Record& record) { seat.renewed(record, members); }
  void leave(ProcessId id) { members.leave(id, told::seen(now)); }
  /// The log flows: this process and the other one renew, and live.
  bool free_after(milliseconds duration) {
    now += duration;
    read(renewal(1, kLong));
    if (other_lives && members.lives(kOther)) read(renewal(2, kHolds));
    seat.look(members, now);
    return seat.is_free();
  }
  void read_for(milliseconds duration) {
    for (const LocalTime end = now + duration; now < end;) {
      free_after(std::min<milliseconds>(
          kInterval, std::chrono::duration_cast<milliseconds>(end - now)));
    }
  }

  Members members{{kOwn, kInterval}};
  Seat seat{{kOwn, kInterval, kLease}};
  LocalTime now = at_ms(10'000);
  bool other_lives = true;
  bool own_reads = true;
};

TEST_F(SeatTest, is_free_where_nobody_ever_claimed_it) {
  EXPECT_FALSE(free_after(0ms));  // nothing was read yet
  start();
  EXPECT_TRUE(seat.known());
  EXPECT_EQ(seat.holder(), kNobody);
  EXPECT_TRUE(free_after(0ms));
}

TEST_F(SeatTest, is_held_by_the_newest_claim) {
  start();
  claim(kOwn, kFirst);
  EXPECT_TRUE(seat.held_by_own());
  EXPECT_FALSE(free_after(0ms));
  claim(kOther, kSecond);
  EXPECT_FALSE(seat.held_by_own());
  EXPECT_EQ(seat.holder(), kOther);
  EXPECT_EQ(seat.epoch(), kSecond);
  EXPECT_FALSE(free_after(0ms));
}

TEST_F(SeatTest, is_free_once_its_holder_leaves) {
  start();
  claim(kOther, kFirst);
  EXPECT_FALSE(free_after(0ms));
  leave(kOther);
  EXPECT_TRUE(free_after(0ms));
  claim(kOwn, kSecond);
  EXPECT_FALSE(free_after(0ms));
}

TEST_F(SeatTest, tells_whom_its_holder_replaced) {
  start();
  EXPECT_EQ(seat.predecessor(), kNobody);
  claim(kOther, kFirst);
  EXPECT_EQ(seat.predecessor(), kNobody);
  claim(kOwn, kSecond);
  EXPECT_EQ(seat.predecessor(), kOther);
  claim(kOwn, {1'002, 20});  // itself again
  EXPECT_EQ(seat.predecessor(), kOther);
}

TEST_F(SeatTest, is_free_once_its_holder_is_dead) {
  start();
  claim(kOther, kFirst);
  other_lives = false;
  read_for(kHolds - 1ms);
  EXPECT_FALSE(seat.is_free());
  EXPECT_TRUE(free_after(1ms));
}

TEST_F(SeatTest, of_somebody_who_is_no_member_is_free) {
  start();
  claim(ProcessId{77}, kFirst);
  EXPECT_TRUE(free_after(0ms));
}

// Mutation seat_never_lapses: one that could write but not read kept it for ever.
TEST_F(SeatTest, of_a_holder_that_does_not_say_that_it_assigns_is_free_after_its_session) {
  start();
  claim(kOther, kFirst);
  for (int i = 1; i < 10; ++i) {
    EXPECT_FALSE(free_after(kInterval)) << i;
    renew(tells(2, 2, kFirst, 100));  // it lives, and reads nothing of its own
  }
  EXPECT_FALSE(free_after(kInterval - 1ms));
  EXPECT_TRUE(free_after(1ms));
}

// Mutation seat_lost_to_nobody: a broker that is slow for everybody left no assigner.
TEST_F(SeatTest, is_kept_while_nobody_else_reads_in_time) {
  start();
  claim(kOther, kFirst);
  own_reads = false;
  leave(ProcessId{3});
  read_for(5 * kHolds);
  EXPECT_FALSE(seat.is_free());
  own_reads = true;
  EXPECT_TRUE(free_after(kInterval));
}

TEST_F(SeatTest, is_kept_while_its_holder_says_that_it_assigns) {
  start();
  claim(kOther, kFirst);
  for (int i = 0; i < 50; ++i) {
    EXPECT_FALSE(free_after(kInterval)) << i;
    renew(assigning(2, kFirst));
  }
  // What others say, or it says of a former seat, does not count.
  const LocalTime said = now;
  while (now + kInterval < said + kHolds) {
    EXPECT_FALSE(free_after(kInterval));
    renew(assigning(3, kFirst));
    renew(assigning(2, kSecond));
  }
  EXPECT_TRUE(free_after(kInterval));
}

TEST_F(SeatTest, may_be_claimed_by_each_an_interval_after_who_is_more_senior) {
  start();
  EXPECT_EQ(seat.claim_at(0), kNever);
  ASSERT_TRUE(free_after(0ms));
  const LocalTime since = now;
  read_for(250ms);
  EXPECT_EQ(seat.claim_at(0), since);
  EXPECT_EQ(seat.claim_at(1), since + kInterval);
  EXPECT_EQ(seat.claim_at(7), since + 7 * kInterval);
  claim(kOther, kFirst);
  EXPECT_EQ(seat.claim_at(0), kNever);
  leave(kOther);
  other_lives = false;
  free_after(50ms);
  EXPECT_EQ(seat.claim_at(1), now + kInterval);  // the wait starts anew
}

TEST_F(SeatTest, a_gap_of_the_log_counts_against_nobody) {
  start();
  claim(kOther, kFirst);
  read_for(900ms);
  EXPECT_FALSE(free_after(5000ms));
  read_for(kHolds - 1ms);
  EXPECT_FALSE(seat.is_free());
  EXPECT_TRUE(free_after(1ms));
}

// Mutation stale_assignments.
TEST_F(SeatTest, assignments_count_under_the_newest_claim_of_their_writer_only) {
  start();
  EXPECT_FALSE(seat.is_valid(assign(2, kFirst, {})));
  claim(kOther, kFirst);
  EXPECT_TRUE(seat.is_valid(assign(2, kFirst, {})));
  EXPECT_FALSE(seat.is_valid(assign(3, kFirst, {})));
  EXPECT_FALSE(seat.is_valid(assign(2, kSecond, {})));
  EXPECT_FALSE(seat.is_valid(assign(2, {kFirst.incarnation + 1, kFirst.offset}, {})));
  claim(ProcessId{3}, kSecond);
  EXPECT_FALSE(seat.is_valid(assign(2, kFirst, {})));
  EXPECT_TRUE(seat.is_valid(assign(3, kSecond, {})));
}

// A vacant seat is still its holder's until another claims it: nobody is named meanwhile otherwise.
TEST_F(SeatTest, assignments_of_a_silent_holder_count_until_another_claims) {
  start();
  claim(kOther, kFirst);
  read_for(2000ms);
  ASSERT_TRUE(seat.is_free());
  EXPECT_TRUE(seat.is_valid(assign(2, kFirst, {})));
}

TEST_F(SeatTest, a_late_reader_obeys_nobody_until_somebody_who_read_up_to_its_start_tells) {
  start(50);
  EXPECT_FALSE(seat.known());
  EXPECT_FALSE(seat.is_valid(assign(2, kFirst, {})));
  renew(tells(3, 2, kFirst, 49));  // there may be a claim at 49
  EXPECT_FALSE(seat.known());
  renew(renewal(3));  // knows of none
  EXPECT_FALSE(seat.known());
  EXPECT_FALSE(seat.is_valid(assign(2, kFirst, {})));
  renew(tells(3, 2, kFirst, 50));
  EXPECT_TRUE(seat.known());
  EXPECT_EQ(seat.holder(), kOther);
  EXPECT_TRUE(seat.is_valid(assign(2, kFirst, {})));
  renew(tells(3, 3, {kFirst.incarnation - 1, 4}, 60));  // an older one
  EXPECT_EQ(seat.holder(), kOther);
}

TEST_F(SeatTest, a_late_reader_knows_by_a_claim_that_it_reads) {
  start(50);
  claim(ProcessId{3}, kSecond);
  EXPECT_TRUE(seat.is_valid(assign(3, kSecond, {})));
  renew(tells(1, 2, kFirst, 99));
  EXPECT_EQ(seat.holder(), ProcessId{3});
}

// The log lost a claim that some had read: without this, each half would obey its own assigner.
TEST_F(SeatTest, the_newest_claim_that_anybody_has_read_holds_though_the_log_lost_it) {
  start();
  claim(kOther, kFirst);
  renew(tells(3, 3, kSecond, kFirst.offset));  // it had not read what is known here
  EXPECT_EQ(seat.holder(), kOther);
  renew(tells(3, 3, kSecond, kFirst.offset + 1));
  EXPECT_EQ(seat.holder(), ProcessId{3});
  EXPECT_EQ(seat.epoch(), kSecond);
  renew(tells(1, 2, kFirst, 99));
  EXPECT_EQ(seat.holder(), ProcessId{3});
  EXPECT_FALSE(seat.is_valid(assign(2, kFirst, {})));
}

TEST_F(SeatTest, whose_holder_nobody_tells_for_a_lease_is_free) {
  start(50);
  read_for(kLease - 1ms);
  EXPECT_FALSE(seat.is_free());
  EXPECT_TRUE(free_after(1ms));
}

// A reader of an empty log is not told where the log begins, and need not be.
TEST_F(SeatTest, is_free_at_once_where_nothing_was_ever_written) {
  seat.tail_started({Log{0}, 0, 0, false}, members);
  EXPECT_TRUE(seat.known());
  EXPECT_TRUE(free_after(0ms));
}

// Before the first record that remains, there may have been others.
TEST_F(SeatTest, is_not_known_where_retention_took_records) {
  seat.tail_started({Log{0}, 7, 7, true}, members);
  EXPECT_FALSE(seat.known());
}

TEST_F(SeatTest, is_not_known_after_a_gap) {
  start();
  claim(kOwn, kFirst);
  seat.tail_lost();
  EXPECT_FALSE(seat.known());
  EXPECT_FALSE(seat.held_by_own());
  EXPECT_FALSE(seat.is_valid(assign(1, kFirst, {})));
  start(50);
  renew(tells(3, 1, kFirst, 50));
  EXPECT_TRUE(seat.held_by_own());
}

// The topic was made again: what was known of the former one is over.
TEST_F(SeatTest, is_nobodys_where_the_log_is_new) {
  start();
  claim(kOther, kFirst);
  start();
  EXPECT_TRUE(seat.known());
  EXPECT_EQ(seat.holder(), kNobody);
  EXPECT_EQ(seat.epoch(), kNoEpoch);
}

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
    yielding.read(record, own, now);
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
  EXPECT_EQ(own.lag(now), 0us);
  own.read_back(Log{0}, sent + 1ms, now + 1ms);
  EXPECT_EQ(own.lag(now + 1ms), 0us);
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

}  // namespace
}  // namespace neliroute
