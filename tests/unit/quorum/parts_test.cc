// What a Voter consists of: the entries that it keeps, its patience, what it knows of a follower.
#include <gmock/gmock.h>

#include "quorum/entry_log.h"
#include "quorum/follower.h"
#include "quorum/patience.h"
#include "tests/unit/quorum/rig.h"

namespace neliroute::quorum {
namespace {

using namespace std::chrono_literals;

Entry record(Term term, std::int64_t stamped_ms) {
  return {term, BrokerTime(milliseconds(stamped_ms)), std::string("r")};
}

TEST(EntryLog, knows_the_term_and_the_stamp_of_what_it_dropped) {
  EntryLog log;
  log.append(record(1, 10));
  log.append(record(2, 20));
  log.drop(2);
  EXPECT_EQ(log.first(), 2);
  EXPECT_EQ(log.end(), 2);
  EXPECT_EQ(log.last_term(), 2u);
  EXPECT_EQ(log.last_stamp(), BrokerTime(20ms));
}

TEST(EntryLog, goes_back_to_the_configuration_before_the_one_that_is_cut_off) {
  const Configuration one{{{VoterId(1), "a", 1}}};
  const Configuration two{{{VoterId(2), "b", 1}}};
  EntryLog log({0, 0, BrokerTime{}, one});
  log.append({1, BrokerTime{}, two});
  EXPECT_EQ(log.configuration(), two);
  EXPECT_EQ(log.configured_at(), 0);
  log.cut(0);
  EXPECT_EQ(log.configuration(), one);
  EXPECT_EQ(log.configured_at(), std::nullopt);
}

TEST(EntryLog, keeps_the_configuration_that_it_drops) {
  const Configuration two{{{VoterId(2), "b", 1}}};
  EntryLog log;
  log.append({1, BrokerTime{}, two});
  log.drop(1);
  EXPECT_EQ(log.configuration(), two);
  EXPECT_EQ(log.start().configuration, two);
}

TEST(EntryLogDeathTest, has_no_entry_outside) {
  EntryLog log;
  log.append(record(1, 10));
  EXPECT_DEATH((void)log.at(1), "no entry has this index");
  EXPECT_DEATH(log.drop(2), "cannot be dropped");
}

struct PatienceTest : testing::Test {
  Configuration voters{{{VoterId(1), "a", 3}, {VoterId(2), "b", 2}, {VoterId(3), "c", 1}}};
  Patience patience{kElection};
  LocalTime now{1000ms};

  bool times_out(int i, bool stood = false) {
    now = patience.until();
    return patience.timed_out(voters, voters.members[static_cast<std::size_t>(i)], stood, now);
  }
};

TEST_F(PatienceTest, who_has_the_highest_priority_stands_at_once) {
  patience.begin(voters, std::nullopt, now);
  EXPECT_EQ(patience.until(), now + kElection);
  EXPECT_TRUE(times_out(0));
}

TEST_F(PatienceTest, the_target_falls_by_one_with_each_timeout) {
  patience.begin(voters, std::nullopt, now);
  EXPECT_FALSE(times_out(2));
  EXPECT_FALSE(times_out(2));
  EXPECT_TRUE(times_out(2));
}

TEST_F(PatienceTest, the_leader_that_was_lost_does_not_count) {
  patience.begin(voters, VoterId(1), now);
  EXPECT_TRUE(times_out(1));
}

TEST_F(PatienceTest, after_an_election_in_vain_the_highest_is_first_again) {
  patience.begin(voters, std::nullopt, now);
  EXPECT_FALSE(times_out(1));
  EXPECT_TRUE(times_out(1));
  EXPECT_FALSE(times_out(1, true));
  EXPECT_TRUE(times_out(1));
}

TEST_F(PatienceTest, who_stands_together_with_others_again_and_again_is_set_apart) {
  patience.begin(voters, std::nullopt, now);
  for (int i = 0; i < 2; ++i) times_out(2);
  EXPECT_EQ(patience.until(), now + kElection);
  times_out(2);
  EXPECT_EQ(patience.until(), now + kElection + 2 * kElection / 8);
  patience.heard();
  patience.begin(voters, std::nullopt, now);
  times_out(2);
  EXPECT_EQ(patience.until(), now + kElection);
}

struct FollowerTest : testing::Test {
  Follower follower{"a", 10, 0};
  LocalTime now{1000ms};
};

TEST_F(FollowerTest, is_full_until_it_answers) {
  for (std::uint64_t round = 1; round <= 4; ++round) {
    EXPECT_FALSE(follower.is_full());
    follower.sent(round, now, follower.next() + 1, true);
  }
  EXPECT_TRUE(follower.is_full());
  follower.stored(11, 1);
  EXPECT_FALSE(follower.is_full());
}

TEST_F(FollowerTest, messages_without_entries_do_not_fill_it) {
  for (std::uint64_t round = 1; round <= 1000; ++round) follower.sent(round, now, 10, false);
  EXPECT_FALSE(follower.is_full());
  EXPECT_EQ(follower.answered(), kLongAgo);
}

TEST_F(FollowerTest, has_answered_when_the_message_was_sent) {
  follower.sent(1, now, 11, true);
  follower.sent(2, now + 50ms, 12, true);
  follower.stored(12, 2);
  EXPECT_EQ(follower.answered(), now + 50ms);
  follower.stored(11, 1);
  EXPECT_EQ(follower.answered(), now + 50ms);
  EXPECT_EQ(follower.matched(), 12);
}

TEST_F(FollowerTest, an_answer_that_nobody_waits_for_proves_nothing) {
  follower.stored(5, 99);
  EXPECT_EQ(follower.answered(), kLongAgo);
}

TEST_F(FollowerTest, is_sent_entries_again_once_however_many_messages_did_not_follow) {
  follower.sent(1, now, 11, true);
  follower.sent(2, now, 12, true);
  follower.behind(4, 1);
  EXPECT_EQ(follower.next(), 4);
  follower.sent(3, now, 12, true);
  follower.behind(4, 2);
  EXPECT_EQ(follower.next(), 12);
  follower.behind(4, 3);
  EXPECT_EQ(follower.next(), 4);
}

TEST_F(FollowerTest, gets_again_what_it_stored_if_it_has_it_no_more) {
  follower.sent(1, now, 11, true);
  follower.stored(11, 1);
  follower.sent(2, now, 12, true);
  follower.behind(3, 2);
  EXPECT_EQ(follower.next(), 3);
}

TEST_F(FollowerTest, has_answered_however_many_messages_were_sent_since) {
  for (std::uint64_t round = 1; round <= 1000; ++round) {
    follower.sent(round, now + round * 1ms, 10, false);
  }
  follower.stored(10, 1);
  EXPECT_EQ(follower.answered(), now + 1ms);
  follower.stored(10, 900);
  EXPECT_EQ(follower.answered(), now + 256ms) << "the newest that is remembered, and not above it";
  follower.sent(1001, now + 2s, 10, false);
  follower.stored(10, 1001);
  EXPECT_EQ(follower.answered(), now + 2s);
}

}  // namespace
}  // namespace neliroute::quorum
