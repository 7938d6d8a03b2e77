// Members, the seat and owners (rules A1, A2 and A7) at their edges: what one number, one order of
// events or one forgotten line would change.
#include <gtest/gtest.h>

#include "neli_core/assigner/members.h"
#include "neli_core/assigner/owners.h"
#include "neli_core/assigner/seat.h"
#include "tests/unit/neli_core/assigner/told.h"

namespace neliroute {
namespace {

using namespace std::chrono_literals;
using told::at_ms;
using told::holding;
using told::kFirst;
using told::kInterval;
using told::kLease;
using told::kOther;
using told::kOwn;
using told::kPlace;
using told::kSecond;
using told::kSession;
using told::renewal;

class MembersEdges : public testing::Test {
 protected:
  void read(const Record& record) {
    members.note_read(now);
    members.read(record, false, now);
  }
  void read_until(LocalTime end, bool prove = true) {
    while (now < end) {
      now = std::min(end, now + kInterval);
      members.note_read(now);
      if (prove) members.read_back(now);
      members.tick(now);
    }
  }

  Members members{{kOwn, kInterval, kLease}};
  LocalTime now = at_ms(10'000);
};

// It would be noticed when the longer session had ended.
TEST_F(MembersEdges, a_member_that_states_a_shorter_session_is_looked_at_in_time) {
  read(renewal(2, 60'000ms));
  members.tick(now);
  EXPECT_EQ(members.next_deadline(), members.find(kOther)->silent_until());
  read(renewal(2, kSession));
  EXPECT_EQ(members.next_deadline(), members.find(kOther)->silent_until());
  read_until(now + kSession + 1ms);
  EXPECT_FALSE(members.lives(kOther));
}

// A record that is stored twice is read again after newer ones.
TEST_F(MembersEdges, an_older_own_record_takes_no_proof_back) {
  read(renewal(2));
  const LocalTime sent = now + kSession + 1ms;
  read_until(sent, false);
  members.read_back(sent);
  members.read_back(at_ms(10'000));
  members.tick(now);
  EXPECT_FALSE(members.lives(kOther));
}

TEST_F(MembersEdges, a_leave_is_a_sign_of_life) {
  read(renewal(2));
  read_until(now + 400ms);
  members.leave(kOther, now);
  read_until(now + kSession);
  EXPECT_FALSE(members.find(kOther)->dead);
  read_until(now + 1ms);
  EXPECT_TRUE(members.find(kOther)->dead);
}

TEST_F(MembersEdges, takers_are_the_others_that_may_be_given_something) {
  for (std::uint64_t id = 1; id <= 6; ++id) {
    Record record = renewal(id);
    record.member->weight = id == 3 ? 0 : 1;
    record.member->cordoned = id == 4;
    read(record);
  }
  members.leave(ProcessId{5}, now);
  EXPECT_EQ(members.takers_besides(kOwn, {}), 2u);          // 2 and 6
  EXPECT_EQ(members.takers_besides(ProcessId{3}, {}), 3u);  // and 1
}

TEST_F(MembersEdges, the_longest_session_is_of_the_living) {
  read(renewal(2, 500ms));
  read(renewal(3, 4000ms));
  read(renewal(4, 9000ms));
  EXPECT_EQ(members.longest_session(), 9000ms);
  members.leave(ProcessId{4}, now);
  EXPECT_EQ(members.longest_session(), 4000ms);
}

// Proof of the first death is under way when the second session ends: it proves nothing of that.
TEST_F(MembersEdges, looks_again_when_the_next_question_is_due) {
  read(renewal(2));
  now += 10ms;
  read(renewal(3));
  read_until(now + kSession - 8ms, false);
  ASSERT_TRUE(members.wants_proof(now));
  members.asked_for_proof(now);
  const LocalTime asked = now;
  read_until(now + 9ms, false);
  ASSERT_TRUE(members.is_silent(ProcessId{3}, now));
  EXPECT_FALSE(members.wants_proof(now));
  EXPECT_EQ(members.next_deadline(), asked + kInterval / 4);
  read_until(asked + kInterval / 4, false);
  EXPECT_TRUE(members.wants_proof(now));
}

TEST_F(MembersEdges, who_has_read_nothing_for_long_looks_as_soon_as_it_reads) {
  read(renewal(2));
  read(renewal(3, 60'000ms));
  read_until(now + kSession + 1ms, false);  // silent, and not proven dead
  now += 3 * kInterval;
  EXPECT_TRUE(members.blind(now));
  EXPECT_GT(members.note_read(now), 0ms);
  EXPECT_FALSE(members.is_silent(kOther, now));
  members.tick(now);
  EXPECT_FALSE(members.wants_proof(now));
  EXPECT_EQ(members.next_deadline(), members.find(kOther)->silent_until());
}

// A restart is no stretch without records of its own.
TEST_F(MembersEdges, a_restarted_tail_reads) {
  read(renewal(2));
  now += 60'000ms;
  members.restarted(now);
  EXPECT_FALSE(members.blind(now));
  EXPECT_EQ(members.note_read(now), 0ms);
}

class SeatEdges : public testing::Test {
 protected:
  SeatEdges() {
    for (std::uint64_t id = 1; id <= 3; ++id) members.read(renewal(id, 60'000ms), false, now);
    members.note_read(now);
    seat.tail_started({Log{0}, 0, 0, true}, now);
  }
  bool is_free_after(milliseconds duration) {
    for (const LocalTime end = now + duration;; now = std::min(end, now + kInterval)) {
      members.note_read(now);
      seat.look(members, now);
      if (now == end) return seat.is_free();
    }
  }

  LocalTime now = at_ms(10'000);
  Members members{{kOwn, kInterval, kLease}};
  Seat seat{{kOwn, kInterval, kLease}};
};

// Otherwise each member that takes a seat would lose it to the next one at once.
TEST_F(SeatEdges, a_new_holder_has_a_whole_lease_to_say_that_it_assigns) {
  seat.claimed(kOther, kFirst, now);
  EXPECT_TRUE(is_free_after(1100ms));
  seat.claimed(ProcessId{3}, kSecond, now);
  EXPECT_FALSE(is_free_after(kLease));
  EXPECT_TRUE(is_free_after(2ms));
}

// The ledger may restart a tail without telling of a gap first.
TEST_F(SeatEdges, a_tail_that_starts_later_knows_nothing_any_more) {
  seat.claimed(kOther, kFirst, now);
  seat.tail_started({Log{0}, 50, 50, false}, now);
  EXPECT_FALSE(seat.known());
  EXPECT_FALSE(seat.is_valid(told::assign(2, kFirst, {})));
}

class OwnersEdges : public testing::Test {
 protected:
  void read(const Record& record) { owners.read(record, kPlace, kLease, now); }

  Owners owners{8};
  LocalTime now = at_ms(10'000);
};

// It drained from the start: what another led before is not its own leading.
TEST_F(OwnersEdges, who_drains_what_another_led_has_not_led_it) {
  read(holding(1, {1'000, 3}, "0", "0"));
  now += 100ms;
  read(holding(2, {1'000, 5}, "0", "", "0"));
  EXPECT_EQ(owners.at(Partition{0}, now).id, kOther);
  EXPECT_EQ(owners.led_until(Partition{0}, kOther), kLongAgo);
  EXPECT_EQ(owners.led_until(Partition{0}, kOwn), kLongAgo);
}

TEST_F(OwnersEdges, who_looks_after_it_led_has_led_until_now) {
  read(holding(1, {1'000, 3}, "0", "0"));
  now += 100ms;
  read(holding(1, {1'000, 3}, "0", ""));
  EXPECT_EQ(owners.led_until(Partition{0}, kOwn), now);
}

TEST_F(OwnersEdges, a_release_may_change_the_plan) {
  read(holding(1, {1'000, 3}, "0", "0"));
  const std::uint64_t version = owners.version();
  Record release = holding(1, {1'000, 3}, "0", "");
  release.type = RecordType::release;
  read(release);
  EXPECT_GT(owners.version(), version);
}

}  // namespace
}  // namespace neliroute
