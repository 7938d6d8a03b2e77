// Members, the seat and owners (rules A1, A2 and A7) at their edges: what one number, one order of
// events or one forgotten line would change.
#include <gtest/gtest.h>

#include "neli_core/assigner/members.h"
#include "neli_core/assigner/owners.h"
#include "neli_core/assigner/seat.h"
#include "tests/unit/neli_core/assigner/told.h"
#include "tests/world/memory_log.h"

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
    members.read(record, told::seen(now));
    members.tick(now);
  }
  void read_for(milliseconds duration) {
    for (const LocalTime end = now + duration; now < end;) {
      now = std::min(end, now + kInterval);
      read(renewal(1, 60'000ms));
    }
  }

  Members members{{kOwn, kInterval}};
  LocalTime now = at_ms(10'000);
};

// It would be noticed when the longer session had ended.
TEST_F(MembersEdges, a_member_that_states_a_shorter_session_is_looked_at_in_time) {
  read(renewal(2, 60'000ms));
  EXPECT_EQ(members.next_deadline(), now + with_drift(60'001ms));
  read(renewal(2, kSession));
  EXPECT_EQ(members.next_deadline(), now + with_drift(kSession + 1ms));
  read_for(kSession);
  EXPECT_FALSE(members.lives(kOther));
}

TEST_F(MembersEdges, a_leave_is_a_sign_of_life) {
  read(renewal(2));
  read_for(400ms);
  members.leave(kOther, told::seen(now));
  read_for(kSession - 1ms);
  EXPECT_FALSE(members.find(kOther)->dead);
  read_for(1ms);
  EXPECT_TRUE(members.find(kOther)->dead);
}

TEST_F(MembersEdges, takers_are_the_others_that_may_be_given_something) {
  for (std::uint64_t id = 1; id <= 6; ++id) {
    Record record = renewal(id);
    record.member->weight = id == 3 ? 0 : 1;
    record.member->cordoned = id == 4;
    read(record);
  }
  members.leave(ProcessId{5}, told::seen(now));
  EXPECT_EQ(members.takers_besides(kOwn, {}), 2u);          // 2 and 6
  EXPECT_EQ(members.takers_besides(ProcessId{3}, {}), 3u);  // and 1
}

TEST_F(MembersEdges, the_longest_session_is_of_the_living) {
  read(renewal(2, 500ms));
  read(renewal(3, 4000ms));
  read(renewal(4, 9000ms));
  EXPECT_EQ(members.longest_session(), 9000ms);
  members.leave(ProcessId{4}, told::seen(now));
  EXPECT_EQ(members.longest_session(), 4000ms);
}

TEST_F(MembersEdges, the_shortest_session_is_of_the_living) {
  read(renewal(2, 500ms));
  read(renewal(3, 4000ms));
  EXPECT_EQ(members.shortest_session(), 500ms);
  members.leave(kOther, told::seen(now));
  read_for(kSession);
  EXPECT_EQ(members.shortest_session(), 4000ms);
}

class SeatEdges : public testing::Test {
 protected:
  SeatEdges() {
    for (std::uint64_t id = 1; id <= 3; ++id) read(id);
    seat.tail_started(tail_at(Log{0}, 0, 0), members);
  }
  void read(std::uint64_t id) {
    Record record = renewal(id, 60'000ms);
    record.member->reads = true;
    members.read(record, told::seen(now));
  }
  bool is_free_after(milliseconds duration) {
    for (const LocalTime end = now + duration;; now = std::min(end, now + kInterval)) {
      read(1);
      seat.look(members, now);
      if (now == end) return seat.is_free();
    }
  }

  LocalTime now = at_ms(10'000);
  Members members{{kOwn, kInterval}};
  Seat seat{{kOwn, kInterval, kLease}};
};

// Otherwise each member that takes a seat would lose it to the next one at once.
TEST_F(SeatEdges, a_new_holder_has_a_whole_session_to_say_that_it_assigns) {
  seat.claimed(told::seat_claim(kOther), kFirst, members);
  EXPECT_TRUE(is_free_after(60'000ms));
  seat.claimed(told::seat_claim(ProcessId{3}), kSecond, members);
  EXPECT_FALSE(is_free_after(59'900ms));
  EXPECT_TRUE(is_free_after(100ms));
}

// The ledger may restart a tail without telling of a gap first.
TEST_F(SeatEdges, a_tail_that_starts_later_knows_nothing_any_more) {
  seat.claimed(told::seat_claim(kOther), kFirst, members);
  seat.tail_started(tail_at(Log{0}, 50, 50), members);
  EXPECT_FALSE(seat.known());
  EXPECT_FALSE(seat.is_valid(told::assign(2, kFirst, {})));
}

class OwnersEdges : public testing::Test {
 protected:
  void read(const Record& record) { owners.read(record, kPlace, kLease, now); }

  Owners owners{8};
  LocalTime now = at_ms(10'000);
};

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
