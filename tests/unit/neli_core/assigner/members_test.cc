// Who lives (rule A1): silence in the log's flow, gaps, leaving.
#include "neli_core/assigner/members.h"

#include <gtest/gtest.h>

#include "tests/unit/neli_core/members_rig.h"

namespace neliroute {
namespace {

using namespace std::chrono_literals;
using told::at_ms;
using told::kInterval;
using told::kOther;
using told::kOwn;
using told::renewal;

TEST_F(MembersTest, a_member_lives_from_its_first_renewal) {
  EXPECT_FALSE(members.lives(kOther));
  hear(kOther);  // a claim, say: nothing tells its session
  EXPECT_EQ(members.find(kOther), nullptr);
  read(renewal(2));
  EXPECT_TRUE(members.lives(kOther));
  EXPECT_EQ(members.living_count(), 1u);
  EXPECT_EQ(members.last_newcomer(), now);
  const LocalTime came = std::exchange(now, now + 50ms);
  read(renewal(2));
  EXPECT_EQ(members.last_newcomer(), came);
}

// A claim or an assignment may have been on its way since before the death.
TEST_F(MembersTest, a_dead_member_lives_again_with_its_next_renewal_alone) {
  read(renewal(2, 500ms));
  live_for(600ms);
  ASSERT_FALSE(members.lives(kOther));
  hear(kOther);
  EXPECT_FALSE(members.lives(kOther));
  read(renewal(2, 500ms));
  EXPECT_TRUE(members.lives(kOther));
  EXPECT_EQ(members.false_deaths(), 1u);
}

TEST_F(MembersTest, a_session_of_flow_without_a_record_is_a_death) {
  read(renewal(2, 500ms));
  live_for(499ms);
  EXPECT_TRUE(members.lives(kOther));
  live_for(1ms);
  EXPECT_FALSE(members.lives(kOther));
  EXPECT_TRUE(members.find(kOther)->dead);
  EXPECT_EQ(members.take_deaths(), std::vector{kOther});
  EXPECT_TRUE(members.take_deaths().empty());
  live_for(2000ms);
  EXPECT_TRUE(members.take_deaths().empty());
}

TEST_F(MembersTest, a_record_before_that_saves_it) {
  read(renewal(2, 500ms));
  live_for(450ms);
  hear(kOther);
  live_for(499ms);
  EXPECT_TRUE(members.lives(kOther));
  live_for(1ms);
  EXPECT_FALSE(members.lives(kOther));
}

TEST_F(MembersTest, time_alone_kills_nobody) {
  read(renewal(2, 500ms));
  now += 60'000ms;
  members.tick(now);
  EXPECT_TRUE(members.lives(kOther));
}

// Mutation silence_by_reader lives in KnownLane, which hands the stamps on.
TEST_F(MembersTest, when_a_record_is_read_changes_nothing) {
  read(renewal(2, 500ms));
  const LocalTime written = now;
  now += 7000ms;  // it stalls, and then reads everything at once
  for (const milliseconds after : {100ms, 200ms, 300ms, 400ms, 499ms}) {
    members.read(renewal(1, 60'000ms), {(written + after).time_since_epoch(), now});
    members.tick(now);
    ASSERT_TRUE(members.lives(kOther)) << after.count();
  }
  members.read(renewal(1, 60'000ms), {(written + 500ms).time_since_epoch(), now});
  members.tick(now);
  EXPECT_FALSE(members.lives(kOther));
}

TEST_F(MembersTest, records_of_who_is_no_member_are_no_flow) {
  read(renewal(2, 500ms));
  for (int i = 0; i < 20; ++i) {
    now += 100ms;
    hear(ProcessId{99});
  }
  EXPECT_TRUE(members.lives(kOther));
  EXPECT_EQ(members.flow().total(), 0ms);
}

TEST_F(MembersTest, each_member_has_its_own_session) {
  read(renewal(2, 500ms));
  read(renewal(3, 5000ms));
  live_for(4900ms);
  EXPECT_FALSE(members.lives(kOther));
  EXPECT_TRUE(members.lives(ProcessId{3}));
  read(renewal(3, 300ms));  // it says another one
  live_for(300ms);
  EXPECT_FALSE(members.lives(ProcessId{3}));
}

TEST_F(MembersTest, nobody_is_dead_for_itself) {
  read(renewal(1, 500ms));
  live_for(10'000ms);
  EXPECT_TRUE(members.lives(kOwn));
}

TEST_F(MembersTest, a_record_is_wanted_once_a_session_is_over) {
  read(renewal(2, 500ms));
  const LocalTime due = now + with_drift(501ms);
  EXPECT_EQ(members.next_deadline(), due);
  now = due - microseconds{1};
  members.tick(now);
  EXPECT_FALSE(members.wants_record(now));
  now = due;
  members.tick(now);
  EXPECT_TRUE(members.wants_record(now));
  members.asked_for_record(now);
  EXPECT_FALSE(members.wants_record(now));
  EXPECT_EQ(members.next_deadline(), due + kInterval);
  now += kInterval;
  members.tick(now);
  EXPECT_TRUE(members.wants_record(now));  // that one may be lost
  read(renewal(1, 60'000ms));
  EXPECT_TRUE(members.lives(kOther));  // after so long without one, the log stood still
}

TEST_F(MembersTest, a_record_is_not_wanted_of_a_log_that_flows) {
  read(renewal(2, 500ms));
  live_for(450ms);
  EXPECT_EQ(members.next_deadline(), now + with_drift(51ms));
  hear(kOther);
  now += 52ms;
  members.tick(now);
  EXPECT_FALSE(members.wants_record(now));
}

// A hundred that die within an interval would be a hundred records.
TEST_F(MembersTest, records_are_wanted_four_times_an_interval_at_most) {
  for (std::uint64_t id = 2; id < 102; ++id) {
    read(renewal(id, 500ms));
    now += 1ms;
  }
  live_for(400ms);
  int asked = 0;
  for (int ms = 0; ms < 100; ++ms) {
    now += 1ms;
    members.tick(now);
    if (!members.wants_record(now)) continue;
    ++asked;
    members.asked_for_record(now);
    read(renewal(1, 60'000ms));
    EXPECT_GE(members.next_deadline(), now);
  }
  EXPECT_LE(asked, 5);
  EXPECT_GE(asked, 4);
  live_for(27ms);
  EXPECT_EQ(members.take_deaths().size(), 100u);
}

TEST_F(MembersTest, more_than_a_log_can_carry_are_not_remembered) {
  read(renewal(2, 600'000ms));
  for (std::uint64_t id = 3; id < 60'000; ++id) read(renewal(id, 500ms));
  EXPECT_EQ(members.living_count(), 50'000u);
  EXPECT_FALSE(members.lives(ProcessId{59'999}));
  for (int i = 0; i < 5; ++i) {
    now += kInterval;
    hear(kOther);
  }
  EXPECT_EQ(members.living_count(), 1u);
  read(renewal(60'000));
  EXPECT_TRUE(members.lives(ProcessId{60'000}));  // the dead make room
}

// Mutation gaps_ignored: the first record after an outage of log 0 declared everybody dead.
TEST_F(MembersTest, after_a_gap_of_the_log_everybody_has_a_session) {
  read(renewal(2, 500ms));
  live_for(450ms);
  stand_still_for(5000ms);
  EXPECT_TRUE(members.lives(kOther));
  live_for(499ms);
  EXPECT_TRUE(members.lives(kOther));
  live_for(1ms);
  EXPECT_FALSE(members.lives(kOther));
}

// Mutation gaps_without_end: everybody's records come in bursts, and nobody was ever dead.
TEST_F(MembersTest, gaps_without_end_give_nobody_more_than_three_sessions) {
  read(renewal(2, 500ms));
  int bursts = 0;
  while (members.lives(kOther) && bursts < 20) {
    stand_still_for(800ms);
    live_for(40ms);
    ++bursts;
  }
  EXPECT_EQ(bursts, 6);  // each lets 290 ms flow
}

TEST_F(MembersTest, a_tail_that_starts_elsewhere_is_a_gap) {
  read(renewal(2, 500ms));
  live_for(450ms);
  members.restarted();
  live_for(kInterval);
  live_for(499ms);
  EXPECT_TRUE(members.lives(kOther));
  live_for(1ms);
  EXPECT_FALSE(members.lives(kOther));
}

// What a restarted tail reads again says how things were: nobody dies or comes back by it.
TEST_F(MembersTest, nobody_is_judged_by_what_is_read_again) {
  read(renewal(1, 60'000ms));
  read(renewal(2, 500ms));
  read(renewal(3, 500ms));
  const LocalTime written = now;
  for (int i = 0; i < 8; ++i) {
    live_for(kInterval);
    hear(kOther);
  }
  ASSERT_FALSE(members.lives(ProcessId{3}));
  members.restarted();
  const auto again = [&](std::uint64_t id, milliseconds at) {
    members.read(renewal(id, id == 1 ? 60'000ms : 500ms),
                 {(written + at).time_since_epoch(), now, true, true});
    members.tick(now);
  };
  again(3, 0ms);
  for (milliseconds at = 100ms; at <= 800ms; at += kInterval) again(1, at);
  EXPECT_TRUE(members.lives(kOther));
  EXPECT_FALSE(members.lives(ProcessId{3}));
  EXPECT_EQ(members.false_deaths(), 0u);
  again(2, 800ms);
  live_for(499ms);
  EXPECT_TRUE(members.lives(kOther));
  live_for(1ms);
  EXPECT_FALSE(members.lives(kOther));
}

/// Where records carry no broker's time, the reader's own takes its place.
class MembersOfWriters : public MembersTest {
 protected:
  MembersOfWriters() { members = Members({kOwn, kInterval, false}); }
};

// Mutation death_unproven: its records may be on their way to this reader.
TEST_F(MembersOfWriters, silence_alone_proves_no_death) {
  read(renewal(2, 500ms));
  const LocalTime heard = now;
  live_for(3000ms);
  EXPECT_TRUE(members.lives(kOther));
  EXPECT_TRUE(members.wants_record(now + 2ms));
  members.read_back(heard + 500ms);  // sent before the silence was over: clocks may drift apart
  members.tick(now);
  EXPECT_TRUE(members.lives(kOther));
  members.read_back(heard + 501ms);
  members.read_back(heard);  // a record that is stored twice is read after newer ones
  members.tick(now);
  EXPECT_FALSE(members.lives(kOther));
}

// What was sent before a restart of the tail may have been read before the gap.
TEST_F(MembersOfWriters, no_proof_from_before_a_restart_counts) {
  read(renewal(2, 500ms));
  members.read_back(now + 60'000ms);
  members.restarted();
  live_for(2000ms);
  EXPECT_TRUE(members.lives(kOther));
}

TEST_F(MembersTest, ghosts_of_the_history_die_without_counting) {
  read(renewal(2, 500ms), true);
  EXPECT_TRUE(members.lives(kOther));
  live_for(501ms);
  EXPECT_FALSE(members.lives(kOther));
  EXPECT_TRUE(members.take_deaths().empty());
  EXPECT_EQ(members.deaths_after(kLongAgo, kNobody), 0u);
  read(renewal(2, 500ms));  // it had only been slow
  EXPECT_TRUE(members.lives(kOther));
  EXPECT_EQ(members.false_deaths(), 0u);
  live_for(501ms);
  EXPECT_EQ(members.take_deaths(), std::vector{kOther});
}

TEST_F(MembersTest, deaths_are_counted_since_a_time) {
  read(renewal(2, 500ms));
  read(renewal(3, 500ms));
  read(renewal(4, 1000ms));
  live_for(501ms);
  const LocalTime first = now;
  live_for(501ms);
  EXPECT_EQ(members.deaths_after(kLongAgo, kNobody), 3u);
  EXPECT_EQ(members.deaths_after(first, kNobody), 1u);
  EXPECT_EQ(members.deaths_after(now, kNobody), 0u);
}

TEST_F(MembersTest, who_leaves_does_not_live_and_its_silence_is_no_death) {
  read(renewal(2, 500ms));
  const std::uint64_t version = members.version();
  members.leave(kOther, told::seen(now));
  EXPECT_FALSE(members.lives(kOther));
  EXPECT_TRUE(members.living().empty());
  EXPECT_GT(members.version(), version);
  read(renewal(2, 500ms));  // it renews until others lead
  EXPECT_FALSE(members.lives(kOther));
  live_for(501ms);
  EXPECT_TRUE(members.find(kOther)->dead);
  EXPECT_TRUE(members.take_deaths().empty());
  EXPECT_EQ(members.deaths_after(kLongAgo, kNobody), 0u);
  members.leave(ProcessId{9}, told::seen(now));  // nobody knows it
  EXPECT_EQ(members.find(ProcessId{9}), nullptr);
}

// Its record that says so may be lost.
TEST_F(MembersTest, who_leaves_says_so_in_every_renewal) {
  read(renewal(2));
  Record leaving = renewal(2);
  leaving.member->leaving = true;
  const std::uint64_t version = members.version();
  read(leaving);
  EXPECT_FALSE(members.lives(kOther));
  EXPECT_GT(members.version(), version);
  const std::uint64_t left = members.version();
  read(leaving);
  EXPECT_EQ(members.version(), left);
  leaving.id = ProcessId{3};
  read(leaving, true);  // who reads on from there knows it, too
  EXPECT_FALSE(members.lives(ProcessId{3}));
}

TEST_F(MembersTest, living_are_in_order_of_seniority) {
  Record unknown = renewal(1);
  unknown.since.reset();
  Record same = renewal(3);
  same.since = 2;
  Record oldest = renewal(9);
  oldest.since = -5;
  for (const Record& record : {unknown, renewal(7), same, renewal(2), oldest}) read(record);
  std::vector<std::uint64_t> order;
  for (const Member* member : members.living()) order.push_back(member->id.value());
  EXPECT_EQ(order, (std::vector<std::uint64_t>{9, 2, 3, 7, 1}));
  for (std::size_t rank = 0; rank < order.size(); ++rank) {
    EXPECT_EQ(members.rank_of(ProcessId{order[rank]}), rank);
  }
  EXPECT_EQ(members.rank_of(ProcessId{4}), std::nullopt);
  members.leave(ProcessId{9}, told::seen(now));
  EXPECT_EQ(members.rank_of(ProcessId{9}), std::nullopt);
  EXPECT_EQ(members.rank_of(ProcessId{2}), 0u);
}

// A2. Whom to plan for, and in which order, is another question.
TEST_F(MembersTest, ranks_for_a_free_seat_are_by_seat_priority_and_then_by_seniority) {
  const auto said = [](std::uint64_t id, std::uint32_t priority) {
    Record record = renewal(id);
    record.member->seat_priority = priority;
    return record;
  };
  Record newest = said(5, 100);
  newest.since.reset();
  for (const Record& record : {renewal(1), said(2, 49), said(3, 100), renewal(4), newest}) {
    read(record);
  }
  const std::vector<std::uint64_t> ranks = {3, 5, 1, 4, 2};
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    EXPECT_EQ(members.rank_of(ProcessId{ranks[rank]}), rank) << ranks[rank];
  }
  EXPECT_EQ(members.living().front()->id, kOwn);
  members.leave(ProcessId{3}, told::seen(now));
  EXPECT_EQ(members.rank_of(ProcessId{5}), 0u);
}

TEST_F(MembersTest, the_dead_are_forgotten_after_twenty_minutes) {
  read(renewal(1));
  read(renewal(2, 500ms));
  read(renewal(3, 600'000ms));
  live_for(500ms);
  ASSERT_TRUE(members.find(kOther)->dead);
  const LocalTime died = now;
  now = died + 20min - 1ms;
  members.tick(now);
  EXPECT_NE(members.find(kOther), nullptr);
  now = died + 20min;
  EXPECT_LE(members.next_deadline(), now);
  members.tick(now);
  EXPECT_EQ(members.find(kOther), nullptr);
  EXPECT_NE(members.find(ProcessId{3}), nullptr);  // silent, and not dead
}

TEST_F(MembersTest, what_may_change_a_plan_bumps_the_version) {
  live_for(100ms);
  read(renewal(2));
  std::uint64_t version = members.version();
  read(renewal(2));
  live_for(100ms);
  EXPECT_EQ(members.version(), version);
  Record record = renewal(2);
  const auto changes = [&] {
    read(record);
    return members.version() != std::exchange(version, members.version());
  };
  record.member->weight = 2;
  EXPECT_TRUE(changes());
  record.member->cordoned = true;
  EXPECT_TRUE(changes());
  record.member->seat_priority = 51;  // dashboards show it
  EXPECT_TRUE(changes());
  record.since = 77;
  EXPECT_TRUE(changes());
  record.member->upto = 5;
  EXPECT_FALSE(changes());
  live_for(501ms);
  EXPECT_GT(members.version(), version);
}

}  // namespace
}  // namespace neliroute
