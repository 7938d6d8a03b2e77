// Who lives (rule A1): silence and its proof, stretches without any record, flapping, leaving.
#include "neli_core/assigner/members.h"

#include <gtest/gtest.h>

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

/// Members of a process that reads a record each interval, and reads its own ones back at once.
class MembersTest : public testing::Test {
 protected:
  void read(const Record& record, bool history = false) {
    members.note_read(now);
    members.read(record, history, now);
  }
  /// Time passes, in which others are heard: this process reads, and proves nothing.
  void hear_others_for(milliseconds duration) {
    for (const LocalTime end = now + duration; now < end;) {
      now = std::min(end, now + kInterval);
      members.note_read(now);
      members.tick(now);
    }
  }
  /// And what it writes is read back.
  void live_for(milliseconds duration) {
    for (const LocalTime end = now + duration; now < end;) {
      now = std::min(end, now + kInterval);
      members.note_read(now);
      members.read_back(now);
      members.tick(now);
    }
  }

  Members members{{kOwn, kInterval, kLease}};
  LocalTime now = at_ms(10'000);
};

TEST_F(MembersTest, a_member_lives_from_its_first_renewal) {
  EXPECT_FALSE(members.lives(kOther));
  members.heard(kOther, now);  // a claim, say: nothing tells its session
  EXPECT_EQ(members.find(kOther), nullptr);
  read(renewal(2));
  EXPECT_TRUE(members.lives(kOther));
  EXPECT_EQ(members.living_count(), 1u);
  EXPECT_EQ(members.last_newcomer(), now);
  const LocalTime came = std::exchange(now, now + 50ms);
  read(renewal(2));
  EXPECT_EQ(members.last_newcomer(), came);
}

TEST_F(MembersTest, silence_for_its_session_and_an_own_later_record_read_back_are_a_death) {
  read(renewal(2, 500ms));
  live_for(500ms);
  EXPECT_TRUE(members.lives(kOther));  // clocks may drift apart
  live_for(1ms);
  EXPECT_FALSE(members.lives(kOther));
  EXPECT_TRUE(members.find(kOther)->dead);
  EXPECT_EQ(members.take_deaths(), std::vector{kOther});
  EXPECT_TRUE(members.take_deaths().empty());
  live_for(2000ms);
  EXPECT_TRUE(members.take_deaths().empty());
}

// Mutation death_unproven: its records may be on their way to this reader.
TEST_F(MembersTest, silence_alone_proves_no_death) {
  read(renewal(2, 500ms));
  hear_others_for(3000ms);
  EXPECT_TRUE(members.lives(kOther));
  members.read_back(at_ms(10'500));  // sent before the silence was over
  members.tick(now);
  EXPECT_TRUE(members.lives(kOther));
  members.read_back(at_ms(10'502));
  members.tick(now);
  EXPECT_FALSE(members.lives(kOther));
}

TEST_F(MembersTest, a_record_that_arrives_before_the_proof_saves_it) {
  read(renewal(2, 500ms));
  hear_others_for(900ms);
  members.heard(kOther, now);
  members.read_back(now);
  members.tick(now);
  EXPECT_TRUE(members.lives(kOther));
  live_for(500ms);
  EXPECT_TRUE(members.lives(kOther));
  live_for(1ms);
  EXPECT_FALSE(members.lives(kOther));
}

TEST_F(MembersTest, each_member_has_its_own_session) {
  read(renewal(2, 500ms));
  read(renewal(3, 5000ms));
  live_for(4900ms);
  EXPECT_FALSE(members.lives(kOther));
  EXPECT_TRUE(members.lives(ProcessId{3}));
  read(renewal(3, 300ms));  // it says another one
  live_for(301ms);
  EXPECT_FALSE(members.lives(ProcessId{3}));
}

TEST_F(MembersTest, nobody_is_dead_for_itself) {
  read(renewal(1, 500ms));
  live_for(10'000ms);
  EXPECT_TRUE(members.lives(kOwn));
}

TEST_F(MembersTest, proof_is_asked_for_once_an_interval_after_the_silence) {
  read(renewal(2, 500ms));
  hear_others_for(500ms);
  EXPECT_FALSE(members.wants_proof(now));
  EXPECT_EQ(members.next_deadline(), members.find(kOther)->silent_until());
  hear_others_for(1ms);
  EXPECT_TRUE(members.wants_proof(now));
  members.asked_for_proof(now);
  EXPECT_FALSE(members.wants_proof(now));
  EXPECT_EQ(members.next_deadline(), kNever);
  hear_others_for(99ms);
  EXPECT_FALSE(members.wants_proof(now));
  hear_others_for(1ms);
  EXPECT_TRUE(members.wants_proof(now));  // that one may be lost
  live_for(1ms);
  EXPECT_FALSE(members.lives(kOther));
  EXPECT_FALSE(members.wants_proof(now));
}

// A hundred that die within an interval would be a hundred records of each member.
TEST_F(MembersTest, proof_is_asked_for_four_times_an_interval_at_most) {
  for (std::uint64_t id = 2; id < 102; ++id) {
    read(renewal(id, 500ms));
    now += 1ms;
  }
  hear_others_for(402ms);
  int asked = 0;
  for (int ms = 0; ms < 100; ++ms) {
    now += 1ms;
    members.note_read(now);
    members.tick(now);
    if (!members.wants_proof(now)) continue;
    ++asked;
    members.asked_for_proof(now);
    members.read_back(now);
    members.tick(now);
    EXPECT_GE(members.next_deadline(), now);
  }
  EXPECT_EQ(asked, 4);
  hear_others_for(25ms);
  EXPECT_TRUE(members.wants_proof(now));
  live_for(1ms);
  EXPECT_EQ(members.take_deaths().size(), 100u);
}

TEST_F(MembersTest, who_is_heard_again_needs_no_proof) {
  read(renewal(2, 500ms));
  hear_others_for(501ms);
  EXPECT_TRUE(members.is_silent(kOther, now));
  EXPECT_TRUE(members.wants_proof(now));
  members.heard(kOther, now);
  members.tick(now);
  EXPECT_FALSE(members.is_silent(kOther, now));
  EXPECT_FALSE(members.wants_proof(now));
  EXPECT_FALSE(members.is_silent(ProcessId{9}, now));  // nobody knows it
}

TEST_F(MembersTest, more_than_a_log_can_carry_are_not_remembered) {
  read(renewal(2, 600'000ms));
  for (std::uint64_t id = 3; id < 60'000; ++id) members.read(renewal(id, 500ms), false, now);
  EXPECT_EQ(members.living_count(), 50'000u);
  EXPECT_FALSE(members.lives(ProcessId{59'999}));
  live_for(501ms);
  EXPECT_EQ(members.living_count(), 1u);
  read(renewal(60'000));
  EXPECT_TRUE(members.lives(ProcessId{60'000}));  // the dead make room
}

TEST_F(MembersTest, who_reads_nothing_judges_nobody) {
  EXPECT_TRUE(members.blind(now));
  read(renewal(2, 500ms));
  now += 250ms;
  EXPECT_FALSE(members.blind(now));
  now += 1ms;
  EXPECT_TRUE(members.blind(now));
  now += 1000ms;
  members.read_back(now);
  members.tick(now);
  EXPECT_TRUE(members.lives(kOther));
  EXPECT_FALSE(members.wants_proof(now));
}

// Mutation blind_judges: the first record after an outage of log 0 declared everybody dead.
TEST_F(MembersTest, after_a_stretch_without_records_silence_starts_anew_and_lasts_longer) {
  read(renewal(2, 500ms));
  now += 600ms;
  EXPECT_EQ(members.note_read(now), 600ms);
  members.read_back(now);
  members.tick(now);
  EXPECT_TRUE(members.lives(kOther));
  live_for(600ms + 500ms);
  EXPECT_TRUE(members.lives(kOther));
  live_for(1ms);
  EXPECT_FALSE(members.lives(kOther));
}

TEST_F(MembersTest, that_excuse_is_at_most_a_lease) {
  read(renewal(2, 500ms));
  now += 60'000ms;
  EXPECT_EQ(members.note_read(now), kLease);
  live_for(kLease + 500ms);
  EXPECT_TRUE(members.lives(kOther));
  live_for(1ms);
  EXPECT_FALSE(members.lives(kOther));
}

TEST_F(MembersTest, a_record_does_not_shorten_the_excuse) {
  read(renewal(2, 500ms));
  now += 1000ms;
  EXPECT_EQ(members.note_read(now), 1000ms);
  members.heard(kOther, now);
  live_for(1000ms + 500ms);
  EXPECT_TRUE(members.lives(kOther));
}

TEST_F(MembersTest, reading_at_least_every_two_and_a_half_intervals_excuses_nobody) {
  read(renewal(2, 500ms));
  now += 250ms;
  EXPECT_EQ(members.note_read(now), 0ms);
  now += 250ms;
  EXPECT_EQ(members.note_read(now), 0ms);
  live_for(1ms);
  EXPECT_FALSE(members.lives(kOther));
}

TEST_F(MembersTest, a_tail_that_starts_anew_starts_all_silence_anew) {
  read(renewal(2, 500ms));
  live_for(450ms);
  members.restarted(now);
  live_for(500ms);
  EXPECT_TRUE(members.lives(kOther));
  live_for(1ms);
  EXPECT_FALSE(members.lives(kOther));
}

// What was sent before a restart of the tail may have been read before the gap.
TEST_F(MembersTest, no_proof_from_before_a_restart_counts) {
  read(renewal(2, 500ms));
  members.read_back(now + 60'000ms);
  members.restarted(now);
  hear_others_for(2000ms);
  EXPECT_TRUE(members.lives(kOther));
}

TEST_F(MembersTest, who_flaps_is_cordoned_twice_as_long_each_time) {
  read(renewal(2, 500ms));
  milliseconds expected = 5000ms;  // 10 sessions
  for (int flap = 1; flap <= 9; ++flap) {
    live_for(501ms);
    ASSERT_FALSE(members.lives(kOther));
    const std::uint64_t version = members.version();
    read(renewal(2, 500ms));
    ASSERT_TRUE(members.lives(kOther));
    EXPECT_GT(members.version(), version);
    EXPECT_EQ(members.find(kOther)->cordoned_until, now + expected) << flap;
    EXPECT_EQ(members.false_deaths(), static_cast<std::uint64_t>(flap));
    expected = std::min<milliseconds>(2 * expected, 10min);
  }
  EXPECT_EQ(expected, 10min);
}

TEST_F(MembersTest, a_cordon_for_flapping_lasts_ten_minutes_at_most) {
  read(renewal(2, 120'000ms));
  live_for(120'200ms);
  ASSERT_FALSE(members.lives(kOther));
  read(renewal(2, 120'000ms));
  EXPECT_EQ(members.find(kOther)->cordoned_until, now + 10min);
}

TEST_F(MembersTest, a_cordon_for_flapping_ends_and_changes_the_plan) {
  read(renewal(2, 500ms));
  live_for(501ms);
  read(renewal(2, 500ms));
  const LocalTime until = members.find(kOther)->cordoned_until;
  while (now + kInterval < until) {
    live_for(kInterval);
    read(renewal(2, 500ms));
  }
  ASSERT_EQ(members.find(kOther)->cordoned_until, until);
  const std::uint64_t version = members.version();
  live_for(kInterval);
  EXPECT_GE(now, until);
  EXPECT_EQ(members.find(kOther)->cordoned_until, kLongAgo);
  EXPECT_GT(members.version(), version);
}

TEST_F(MembersTest, any_record_of_a_dead_member_shows_that_it_lives) {
  read(renewal(2, 500ms));
  live_for(501ms);
  members.heard(kOther, now);
  EXPECT_TRUE(members.lives(kOther));
  EXPECT_EQ(members.false_deaths(), 1u);
  EXPECT_GT(members.find(kOther)->cordoned_until, now);
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
  EXPECT_EQ(members.find(kOther)->cordoned_until, kLongAgo);
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
  members.leave(kOther, now);
  EXPECT_FALSE(members.lives(kOther));
  EXPECT_TRUE(members.living().empty());
  EXPECT_GT(members.version(), version);
  read(renewal(2, 500ms));  // it renews until others lead
  EXPECT_FALSE(members.lives(kOther));
  live_for(501ms);
  EXPECT_TRUE(members.find(kOther)->dead);
  EXPECT_TRUE(members.take_deaths().empty());
  EXPECT_EQ(members.deaths_after(kLongAgo, kNobody), 0u);
  members.leave(ProcessId{9}, now);  // nobody knows it
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
  members.leave(ProcessId{9}, now);
  EXPECT_EQ(members.rank_of(ProcessId{9}), std::nullopt);
  EXPECT_EQ(members.rank_of(ProcessId{2}), 0u);
}

TEST_F(MembersTest, the_dead_are_forgotten_after_twenty_minutes) {
  read(renewal(1));
  read(renewal(2, 500ms));
  read(renewal(3, 600'000ms));
  live_for(501ms);
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
  record.since = 77;
  EXPECT_TRUE(changes());
  record.member->upto = 5;
  EXPECT_FALSE(changes());
  live_for(501ms);
  EXPECT_GT(members.version(), version);
}

}  // namespace
}  // namespace neliroute
