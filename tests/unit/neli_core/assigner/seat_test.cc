// Who holds the right to assign, when it is free, and which assignments count (rules A2 and A3).
#include "neli_core/assigner/seat.h"

#include <gtest/gtest.h>

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

Record assigning(std::uint64_t id, const Epoch& seat) {
  Record record = renewal(id);
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
    for (std::uint64_t id = 1; id <= 3; ++id) members.read(renewal(id, 60'000ms), false, now);
  }
  /// Its tail starts at the first record of all, or later.
  void start(std::int64_t at = 0) {
    members.note_read(now);
    seat.tail_started({Log{0}, at, at, at == 0}, now);
  }
  bool free_after(milliseconds duration) {
    now += duration;
    members.note_read(now);
    seat.look(members, now);
    return seat.is_free();
  }
  /// Reading on, so that nothing is excused.
  void read_for(milliseconds duration) {
    for (const LocalTime end = now + duration; now < end;) {
      free_after(std::min<milliseconds>(
          kInterval, std::chrono::duration_cast<milliseconds>(end - now)));
    }
  }

  Members members{{kOwn, kInterval, kLease}};
  Seat seat{{kOwn, kInterval, kLease}};
  LocalTime now = at_ms(10'000);
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
  seat.claimed(kOwn, kFirst, now);
  EXPECT_TRUE(seat.held_by_own());
  EXPECT_FALSE(free_after(0ms));
  seat.claimed(kOther, kSecond, now);
  EXPECT_FALSE(seat.held_by_own());
  EXPECT_EQ(seat.holder(), kOther);
  EXPECT_EQ(seat.epoch(), kSecond);
  EXPECT_FALSE(free_after(0ms));
}

TEST_F(SeatTest, is_free_once_its_holder_leaves) {
  start();
  seat.claimed(kOther, kFirst, now);
  EXPECT_FALSE(free_after(0ms));
  members.leave(kOther, now);
  EXPECT_TRUE(free_after(0ms));
  seat.claimed(kOwn, kSecond, now);
  EXPECT_FALSE(free_after(0ms));
}

TEST_F(SeatTest, tells_whom_its_holder_replaced) {
  start();
  EXPECT_EQ(seat.predecessor(), kNobody);
  seat.claimed(kOther, kFirst, now);
  EXPECT_EQ(seat.predecessor(), kNobody);
  seat.claimed(kOwn, kSecond, now);
  EXPECT_EQ(seat.predecessor(), kOther);
  seat.claimed(kOwn, {1'002, 20}, now);  // itself again
  EXPECT_EQ(seat.predecessor(), kOther);
}

TEST_F(SeatTest, is_free_once_its_holder_is_dead) {
  start();
  members.read(renewal(2, 300ms), false, now);
  seat.claimed(kOther, kFirst, now);
  read_for(301ms);
  EXPECT_FALSE(seat.is_free());  // silent, but that proves nothing
  members.read_back(now);
  members.tick(now);
  EXPECT_TRUE(free_after(0ms));
}

TEST_F(SeatTest, of_somebody_who_is_no_member_is_free) {
  start();
  seat.claimed(ProcessId{77}, kFirst, now);
  EXPECT_TRUE(free_after(0ms));
}

// Mutation seat_kept: one that could write but not read kept it for ever.
TEST_F(SeatTest, of_a_holder_that_does_not_say_that_it_assigns_is_free_after_a_lease) {
  start();
  seat.claimed(kOther, kFirst, now);
  for (int i = 0; i < 10; ++i) {
    EXPECT_FALSE(free_after(kInterval)) << i;
    seat.renewed(tells(2, 2, kFirst, 100), now);  // it lives, and reads nothing of its own
  }
  EXPECT_FALSE(free_after(1ms));
  EXPECT_EQ(seat.next_deadline(), now + microseconds{1});
  EXPECT_TRUE(free_after(1ms));
  EXPECT_EQ(seat.next_deadline(), kNever);
}

TEST_F(SeatTest, is_kept_while_its_holder_says_that_it_assigns) {
  start();
  seat.claimed(kOther, kFirst, now);
  for (int i = 0; i < 50; ++i) {
    EXPECT_FALSE(free_after(kInterval)) << i;
    seat.renewed(assigning(2, kFirst), now);
  }
  // What others say, or it says of a former seat, does not count.
  const LocalTime said = now;
  while (now < said + 1000ms) {
    EXPECT_FALSE(free_after(kInterval));
    seat.renewed(assigning(3, kFirst), now);
    seat.renewed(assigning(2, kSecond), now);
  }
  EXPECT_TRUE(free_after(2ms));
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
  seat.claimed(kOther, kFirst, now);
  EXPECT_EQ(seat.claim_at(0), kNever);
  members.leave(kOther, now);
  free_after(50ms);
  EXPECT_EQ(seat.claim_at(1), now + kInterval);  // the wait starts anew
}

TEST_F(SeatTest, is_not_judged_by_who_reads_nothing) {
  start();
  seat.claimed(kOther, kFirst, now);
  now += 5000ms;
  seat.look(members, now);
  EXPECT_FALSE(seat.is_free());
  members.leave(kOther, now);
  seat.look(members, now);
  EXPECT_FALSE(seat.is_free());
  EXPECT_TRUE(free_after(0ms));
}

TEST_F(SeatTest, silence_while_nothing_was_read_is_excused) {
  start();
  seat.claimed(kOther, kFirst, now);
  now += 900ms;
  const microseconds stretch = members.note_read(now);
  ASSERT_EQ(stretch, 900ms);
  seat.excuse(stretch);
  read_for(1000ms);
  EXPECT_FALSE(seat.is_free());
  read_for(2ms);
  EXPECT_TRUE(seat.is_free());
}

TEST_F(SeatTest, an_excuse_before_the_tail_has_started_is_none) {
  seat.excuse(1000ms);
  start(10);
  EXPECT_EQ(seat.next_deadline(), now + with_drift(kLease));
}

// Mutation stale_assignments.
TEST_F(SeatTest, assignments_count_under_the_newest_claim_of_their_writer_only) {
  start();
  EXPECT_FALSE(seat.is_valid(assign(2, kFirst, {})));
  seat.claimed(kOther, kFirst, now);
  EXPECT_TRUE(seat.is_valid(assign(2, kFirst, {})));
  EXPECT_FALSE(seat.is_valid(assign(3, kFirst, {})));
  EXPECT_FALSE(seat.is_valid(assign(2, kSecond, {})));
  EXPECT_FALSE(seat.is_valid(assign(2, {kFirst.incarnation + 1, kFirst.offset}, {})));
  seat.claimed(ProcessId{3}, kSecond, now);
  EXPECT_FALSE(seat.is_valid(assign(2, kFirst, {})));
  EXPECT_TRUE(seat.is_valid(assign(3, kSecond, {})));
}

// A vacant seat is still its holder's until another claims it: nobody is named meanwhile otherwise.
TEST_F(SeatTest, assignments_of_a_silent_holder_count_until_another_claims) {
  start();
  seat.claimed(kOther, kFirst, now);
  read_for(2000ms);
  ASSERT_TRUE(seat.is_free());
  EXPECT_TRUE(seat.is_valid(assign(2, kFirst, {})));
}

TEST_F(SeatTest, a_late_reader_obeys_nobody_until_somebody_who_read_up_to_its_start_tells) {
  start(50);
  EXPECT_FALSE(seat.known());
  EXPECT_FALSE(seat.is_valid(assign(2, kFirst, {})));
  seat.renewed(tells(3, 2, kFirst, 49), now);  // there may be a claim at 49
  EXPECT_FALSE(seat.known());
  seat.renewed(renewal(3), now);  // knows of none
  EXPECT_FALSE(seat.known());
  EXPECT_FALSE(seat.is_valid(assign(2, kFirst, {})));
  seat.renewed(tells(3, 2, kFirst, 50), now);
  EXPECT_TRUE(seat.known());
  EXPECT_EQ(seat.holder(), kOther);
  EXPECT_TRUE(seat.is_valid(assign(2, kFirst, {})));
  seat.renewed(tells(3, 3, {kFirst.incarnation - 1, 4}, 60), now);  // an older one
  EXPECT_EQ(seat.holder(), kOther);
}

TEST_F(SeatTest, a_late_reader_knows_by_a_claim_that_it_reads) {
  start(50);
  seat.claimed(ProcessId{3}, kSecond, now);
  EXPECT_TRUE(seat.is_valid(assign(3, kSecond, {})));
  seat.renewed(tells(1, 2, kFirst, 99), now);
  EXPECT_EQ(seat.holder(), ProcessId{3});
}

// The log lost a claim that some had read: without this, each half would obey its own assigner.
TEST_F(SeatTest, the_newest_claim_that_anybody_has_read_holds_though_the_log_lost_it) {
  start();
  seat.claimed(kOther, kFirst, now);
  seat.renewed(tells(3, 3, kSecond, kFirst.offset), now);  // it had not read what is known here
  EXPECT_EQ(seat.holder(), kOther);
  seat.renewed(tells(3, 3, kSecond, kFirst.offset + 1), now);
  EXPECT_EQ(seat.holder(), ProcessId{3});
  EXPECT_EQ(seat.epoch(), kSecond);
  seat.renewed(tells(1, 2, kFirst, 99), now);
  EXPECT_EQ(seat.holder(), ProcessId{3});
  EXPECT_FALSE(seat.is_valid(assign(2, kFirst, {})));
}

TEST_F(SeatTest, whose_holder_nobody_tells_for_a_lease_is_free) {
  start(50);
  read_for(1000ms);
  EXPECT_FALSE(seat.is_free());
  read_for(1ms);
  EXPECT_FALSE(seat.is_free());
  read_for(1ms);
  EXPECT_TRUE(seat.is_free());
}

// A reader of an empty log is not told where the log begins, and need not be.
TEST_F(SeatTest, is_free_at_once_where_nothing_was_ever_written) {
  members.note_read(now);
  seat.tail_started({Log{0}, 0, 0, false}, now);
  EXPECT_TRUE(seat.known());
  EXPECT_TRUE(free_after(0ms));
}

// Before the first record that remains, there may have been others.
TEST_F(SeatTest, is_not_known_where_retention_took_records) {
  members.note_read(now);
  seat.tail_started({Log{0}, 7, 7, true}, now);
  EXPECT_FALSE(seat.known());
}

TEST_F(SeatTest, is_not_known_after_a_gap) {
  start();
  seat.claimed(kOwn, kFirst, now);
  seat.tail_lost();
  EXPECT_FALSE(seat.known());
  EXPECT_FALSE(seat.held_by_own());
  EXPECT_FALSE(seat.is_valid(assign(1, kFirst, {})));
  start(50);
  seat.renewed(tells(3, 1, kFirst, 50), now);
  EXPECT_TRUE(seat.held_by_own());
}

// The topic was made again: what was known of the former one is over.
TEST_F(SeatTest, is_nobodys_where_the_log_is_new) {
  start();
  seat.claimed(kOther, kFirst, now);
  start();
  EXPECT_TRUE(seat.known());
  EXPECT_EQ(seat.holder(), kNobody);
  EXPECT_EQ(seat.epoch(), kNoEpoch);
}

}  // namespace
}  // namespace neliroute
