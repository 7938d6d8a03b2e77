// Who holds the right to assign, when it is free, and which assignments count (rules A2 and A3).
#include "neli_core/assigner/seat.h"

#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <vector>

#include "tests/unit/neli_core/assigner/told.h"
#include "tests/world/memory_log.h"

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
    seat.tail_started(tail_at(Log{0}, at, at), members);
  }
  void claim(ProcessId id, const Epoch& epoch, const Epoch& replaces = kNoEpoch) {
    seat.claimed(told::seat_claim(id, replaces), epoch, members);
  }
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

// Both saw that the seat was free; the claim of one of them was under way for long.
TEST_F(SeatTest, is_not_taken_by_a_claim_that_replaces_an_older_one) {
  start();
  claim(kOwn, kFirst);
  claim(kOther, kSecond, kFirst);
  const Epoch third{kSecond.incarnation + 1, kSecond.offset + 1};
  claim(kOwn, third, kFirst);
  EXPECT_EQ(seat.holder(), kOther);
  EXPECT_EQ(seat.epoch(), kSecond);
  claim(kOwn, third, kSecond);
  EXPECT_TRUE(seat.held_by_own());
  EXPECT_EQ(seat.epoch(), third);
}

TEST_F(SeatTest, is_taken_by_a_claim_that_replaces_one_that_the_log_lost) {
  start();
  claim(kOther, kFirst);
  claim(kOwn, kSecond, {kSecond.incarnation + 9, kSecond.offset + 9});
  EXPECT_TRUE(seat.held_by_own());
}

// It may have come too late: who read on from before it knows.
TEST_F(SeatTest, that_a_late_reader_sees_claimed_is_held_by_whom_others_tell) {
  start(100);
  EXPECT_FALSE(seat.known());
  const Epoch third{kSecond.incarnation + 1, 105};
  claim(kOwn, third, kFirst);
  EXPECT_FALSE(seat.known());
  renew(tells(3, 2, kSecond, 105));
  EXPECT_FALSE(seat.known()) << "its writer had not read the claim";
  renew(tells(3, 2, kSecond, 106));
  EXPECT_EQ(seat.holder(), kOther);
  EXPECT_EQ(seat.epoch(), kSecond);
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
  EXPECT_EQ(seat.claim_at(0, kInterval), kNever);
  ASSERT_TRUE(free_after(0ms));
  const LocalTime since = now;
  read_for(250ms);
  EXPECT_EQ(seat.claim_at(0, kInterval), since);
  EXPECT_EQ(seat.claim_at(1, kInterval), since + kInterval);
  EXPECT_EQ(seat.claim_at(7, kInterval), since + 7 * kInterval);
  claim(kOther, kFirst);
  EXPECT_EQ(seat.claim_at(0, kInterval), kNever);
  leave(kOther);
  other_lives = false;
  free_after(50ms);
  EXPECT_EQ(seat.claim_at(1, kInterval), now + kInterval);  // the wait starts anew
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

TEST_F(SeatTest, is_free_at_once_where_nothing_was_ever_written) {
  // Not every ledger counts from 0.
  seat.tail_started({Log{0}, 1, 1, Below::nothing}, members);
  EXPECT_TRUE(seat.known());
  EXPECT_TRUE(free_after(0ms));
}

TEST_F(SeatTest, is_known_where_the_newest_record_of_each_writer_was_read) {
  seat.tail_started({Log{0}, 7, 90, Below::unread}, members);
  renew(tells(3, 2, kFirst, 8));
  EXPECT_TRUE(seat.known());
}

// Before the first record that remains, there may have been others.
TEST_F(SeatTest, is_not_known_where_retention_took_records) {
  seat.tail_started({Log{0}, 7, 7, Below::expired}, members);
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

}  // namespace
}  // namespace neliroute
