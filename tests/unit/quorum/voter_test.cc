// A voter's rules, one by one: who is voted for, what is committed, who leads on.
#include "quorum/voter.h"

#include <gmock/gmock.h>

#include <limits>
#include <utility>
#include <vector>

#include "tests/unit/quorum/rig.h"

namespace neliroute::quorum {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Optional;

AskVote vote_in(Term term, Index end = 100, Term last_term = 100) {
  return {false, term, end, last_term};
}

/// Whether voter 0 says yes.
bool gives(Rig& rig, const AskVote& ask, int from, Term term) {
  rig.at(0).step(rig.message(from, 0, term, ask), rig.now());
  const auto given = bodies<GiveVote>(rig.carry_out(0).once_stored);
  return !given.empty() && given.back().yes;
}

TEST(VoterElects, a_single_voter_leads_and_commits_what_it_has_stored) {
  Rig rig(1);
  rig.run_for(305ms);
  ASSERT_EQ(rig.leader(), 0);
  const Index index = *rig.propose(0, "r");
  EXPECT_EQ(rig.at(0).committed(), index + 1);
}

TEST(VoterElects, the_highest_priority_after_one_timeout) {
  Rig rig(3);
  EXPECT_LE(rig.wait_led(), 305ms);
  EXPECT_EQ(rig.leader(), 0);
  EXPECT_EQ(*rig.at(2).leader(), "v0");
  EXPECT_EQ(rig.at(2).role(), Role::following);
}

TEST(VoterElects, the_next_one_after_one_timeout_when_the_leader_is_lost) {
  for (const int voters : {3, 5}) {
    Rig rig(voters);
    rig.wait_led();
    rig.run_for(1000ms);
    rig.stop(0);
    EXPECT_LE(rig.wait_led(), 305ms) << voters;
    EXPECT_EQ(rig.leader(), 1);
  }
}

TEST(VoterElects, the_third_after_two_when_two_are_lost) {
  Rig rig(5);
  rig.wait_led();
  rig.run_for(1000ms);
  rig.stop(0);
  rig.stop(1);
  EXPECT_LE(rig.wait_led(), 605ms);
  EXPECT_EQ(rig.leader(), 2);
}

TEST(VoterElects, nobody_without_a_majority) {
  Rig rig(3);
  rig.stop(1);
  rig.stop(2);
  EXPECT_GE(rig.wait_led(), 20s);
  EXPECT_EQ(rig.at(0).term(), 0u) << "polls raise no term";
}

TEST(VoterElects, nobody_who_comes_back_while_a_leader_is_heard) {
  Rig rig(3);
  rig.wait_led();
  rig.cut_off(2);
  rig.run_for(5s);
  rig.heal();
  rig.run_for(2s);
  EXPECT_EQ(rig.leader(), 0);
  EXPECT_EQ(rig.at(0).term(), 1u);
}

TEST(VoterElects, somebody_where_messages_take_nearly_half_a_timeout) {
  for (const milliseconds latency : {70ms, 80ms, 120ms, 140ms}) {
    Rig rig(3);
    rig.latency = latency;
    EXPECT_LE(rig.wait_led(), 1500ms) << latency.count();
    rig.run_for(2s);
    rig.stop(rig.leader());
    EXPECT_LE(rig.wait_led(), 2s) << latency.count();
  }
}

TEST(VoterElects, who_needs_a_whole_timeout_to_store_its_own_vote) {
  Rig rig(3);
  rig.stop_others(0);
  rig.run_for(305ms);
  rig.at(0).step(rig.message(1, 0, 0, GiveVote{true, 1, true}), rig.now());
  rig.carry_out(0, false);
  const LocalTime late = rig.now() + kElection;
  rig.at(0).stored(late);
  EXPECT_EQ(rig.at(0).deadline(), late + kElection);
  rig.at(0).step(rig.message(1, 0, 1, GiveVote{false, 1, true}), late + 290ms);
  EXPECT_EQ(rig.at(0).role(), Role::leading);
}

TEST(VoterVotes, once_in_a_term) {
  Rig rig(3);
  EXPECT_TRUE(gives(rig, vote_in(5), 1, 5));
  EXPECT_FALSE(gives(rig, vote_in(5), 2, 5));
  EXPECT_TRUE(gives(rig, vote_in(5), 1, 5)) << "the answer was lost";
  EXPECT_TRUE(gives(rig, vote_in(6), 2, 6));
}

TEST(VoterVotes, once_in_a_term_also_after_a_restart) {
  Rig rig(3);
  rig.at(0).step(rig.message(1, 0, 5, vote_in(5)), rig.now());
  const Ready ready = rig.carry_out(0);
  EXPECT_TRUE(ready.vote_changed);
  EXPECT_THAT(bodies<GiveVote>(ready.at_once), IsEmpty()) << "it is not stored yet";
  rig.stop(0);
  rig.start(0);
  EXPECT_FALSE(gives(rig, vote_in(5), 2, 5));
}

TEST(VoterVotes, for_nobody_whose_log_is_older) {
  Rig rig(3);
  rig.wait_led();
  rig.propose(0, "r");
  rig.run_for(100ms);
  const Index end = rig.at(0).entries().end();
  rig.stop(0);
  rig.start(0);
  EXPECT_FALSE(gives(rig, vote_in(5, end + 9, 0), 1, 5)) << "of an older term, however long";
  EXPECT_FALSE(gives(rig, vote_in(6, end - 1, 1), 1, 6)) << "shorter";
  EXPECT_TRUE(gives(rig, vote_in(7, end, 1), 1, 7)) << "as long";
  AskVote poll = vote_in(8, end - 1, 1);
  poll.poll = true;
  EXPECT_FALSE(gives(rig, poll, 1, 7));
  poll.end = end;
  EXPECT_TRUE(gives(rig, poll, 1, 7));
  EXPECT_EQ(rig.at(0).term(), 7u) << "a poll raises no term";
}

TEST(VoterVotes, for_nobody_while_it_hears_a_leader) {
  Rig rig(3);
  rig.at(0).step(rig.message(1, 0, 1, Append{0, 0, {}, 0, 1}), rig.now());
  EXPECT_FALSE(gives(rig, vote_in(9), 2, 9));
  EXPECT_EQ(rig.at(0).term(), 1u);
  AskVote poll = vote_in(9);
  poll.poll = true;
  EXPECT_FALSE(gives(rig, poll, 2, 8));
  rig.run_for(150ms);
  EXPECT_TRUE(gives(rig, poll, 2, 8)) << "who asks heard the leader a little earlier";
}

TEST(VoterVotes, count_once_and_from_voters_alone) {
  Rig rig(5);
  rig.stop_others(0);
  rig.run_for(305ms);
  const auto yes = [&](int from, bool poll, VoterId id) {
    Message message = rig.message(from, 0, poll ? 0 : 1, GiveVote{poll, 1, true});
    message.from = id;
    rig.at(0).step(message, rig.now());
  };
  yes(1, true, id_of(1));
  yes(1, true, id_of(1));
  yes(1, true, VoterId(99));
  EXPECT_EQ(rig.at(0).term(), 0u);
  yes(2, true, id_of(2));
  EXPECT_EQ(rig.at(0).term(), 1u) << "three of five would vote for it";
  yes(3, true, id_of(3));
  yes(3, false, VoterId(99));
  yes(3, false, id_of(3));
  EXPECT_NE(rig.at(0).role(), Role::leading);
  yes(4, false, id_of(4));
  EXPECT_EQ(rig.at(0).role(), Role::leading);
}

/// Voter 0 of five leads term 3, and has two entries of term 1 that nobody else stored.
struct LeaderWithOlderEntries : testing::Test {
  Rig rig{5};
  Index old_end = 2;

  LeaderWithOlderEntries() {
    rig.stop_others(0);
    Durable& disk = rig.disk(0);
    disk.term = 2;
    for (int i = 0; i < 2; ++i) disk.entries.append({1, BrokerTime(5000ms), std::string("old")});
    rig.start(0);
    rig.run_for(305ms);
    for (const bool poll : {true, false}) {
      for (const int i : {1, 2}) {
        rig.at(0).step(rig.message(i, 0, poll ? 2 : 3, GiveVote{poll, 3, true}), rig.now());
      }
      rig.carry_out(0);
    }
  }
  void stored(int from, Index end) {
    rig.at(0).step(rig.message(from, 0, 3, Stored{end, 1}), rig.now());
    rig.carry_out(0);
  }
};

TEST_F(LeaderWithOlderEntries, does_not_commit_them_because_a_majority_has_them) {
  ASSERT_EQ(rig.at(0).role(), Role::leading);
  stored(1, old_end);
  stored(2, old_end);
  EXPECT_EQ(rig.at(0).committed(), 0) << "a leader of term 2 could still replace them";
  stored(1, old_end + 1);
  stored(2, old_end + 1);
  EXPECT_EQ(rig.at(0).committed(), old_end + 1);
}

TEST_F(LeaderWithOlderEntries, stamps_no_record_below_the_one_before) {
  const Index index = *rig.at(0).propose("r", BrokerTime(10ms));
  EXPECT_EQ(rig.at(0).entries().at(index).stamped, BrokerTime(5000ms));
  EXPECT_EQ(rig.at(0).entries().at(index - 1).stamped, BrokerTime(5000ms)) << "its first entry";
}

TEST_F(LeaderWithOlderEntries, tells_nobody_what_is_committed_before_its_own_first_entry_is) {
  EXPECT_EQ(rig.at(0).confirmed_since(rig.now() - 1s), std::nullopt);
  stored(1, old_end);
  stored(2, old_end);
  EXPECT_EQ(rig.at(0).confirmed_since(rig.now() - 1s), std::nullopt);
}

TEST(VoterLeads, and_counts_its_own_disk_only_when_the_entry_is_on_it) {
  Rig rig(3);
  rig.wait_led();
  rig.stop(1);
  rig.stop(2);
  const Index index = *rig.at(0).propose("r", BrokerTime(1000ms));
  rig.carry_out(0, false);
  rig.at(0).step(rig.message(1, 0, 1, Stored{index + 1, 999}), rig.now());
  EXPECT_EQ(rig.at(0).committed(), index);
  rig.at(0).stored(rig.now());
  EXPECT_EQ(rig.at(0).committed(), index + 1);
}

TEST(VoterLeads, until_no_majority_answers_for_two_timeouts) {
  Rig rig(3);
  rig.wait_led();
  rig.run_for(1s);
  rig.stop(1);
  rig.run_for(2s);
  EXPECT_EQ(rig.leader(), 0) << "two of three go on";
  rig.stop(2);
  rig.run_for(700ms);
  EXPECT_EQ(rig.leader(), -1);
  EXPECT_EQ(rig.at(0).propose("r", BrokerTime(1000ms)), std::nullopt);
}

TEST(VoterLeads, and_is_confirmed_by_answers_to_what_it_sent_later) {
  Rig rig(3);
  rig.wait_led();
  rig.run_for(1s);
  const Index committed = rig.at(0).committed();
  rig.cut_off(0);
  const LocalTime asked = rig.now();
  rig.at(0).ask_round();
  rig.run_for(100ms);
  EXPECT_EQ(rig.at(0).confirmed_since(asked), std::nullopt);
  rig.heal();
  rig.at(0).ask_round();
  rig.deliver();
  EXPECT_THAT(rig.at(0).confirmed_since(asked), Optional(committed));
}

TEST(VoterLeads, and_sends_a_follower_that_does_not_answer_few_entries) {
  Rig rig(3);
  rig.wait_led();
  rig.run_for(1s);
  rig.stop(2);
  std::size_t to_it = 0;
  rig.lost = [&](const Message& message) {
    const auto* append = std::get_if<Append>(&message.body);
    if (append != nullptr && message.to_address == "v2") to_it += append->entries.size();
    return false;
  };
  for (int i = 0; i < 1000; ++i) rig.propose(0, "r");
  rig.run_for(1s);
  EXPECT_EQ(rig.at(1).committed(), rig.at(0).committed());
  EXPECT_GT(to_it, 0u);
  EXPECT_LE(to_it, 4u * 64u);
}

TEST(VoterLeads, however_often_it_is_asked_whether_it_does) {
  Rig rig(3);
  rig.wait_led();
  rig.latency = 40ms;
  for (int i = 0; i < 600; ++i) {
    for (int k = 0; k < 30; ++k) {
      rig.at(0).ask_round();
      rig.carry_out(0);
    }
    rig.run_for(5ms);
  }
  EXPECT_EQ(rig.leader(), 0);
  EXPECT_EQ(rig.at(0).term(), 1u);
  EXPECT_NE(rig.at(0).confirmed_since(rig.now() - 200ms), std::nullopt);
}

TEST(VoterLeads, and_drops_what_a_member_lacks_that_is_down_for_long) {
  Rig rig(3);
  rig.wait_led();
  rig.stop(2);
  for (int i = 0; i < 1200; ++i) {
    rig.propose(0, "r");
    rig.at(0).drop(rig.at(0).committed());
    rig.run_for(80ms);
  }
  rig.start(2);
  rig.run_for(1s);
  EXPECT_EQ(rig.at(2).committed(), rig.at(0).committed());
}

TEST(VoterLeads, and_sends_nothing_to_addresses_that_are_no_voters) {
  Rig rig(3);
  rig.wait_led();
  const auto in_five_seconds = [&] {
    const std::size_t before = rig.sent;
    rig.run_for(5s);
    return rig.sent - before;
  };
  const std::size_t usual = in_five_seconds();
  for (std::uint64_t i = 0; i < 200; ++i) {
    Message message = rig.message(2, 0, 1, Stored{1, 1});
    message.from = VoterId(1000 + i);
    rig.at(0).step(message, rig.now());  // a voter that loses its disk again and again
    message.from_address = "x" + std::to_string(i);
    message.from = VoterId(2000 + i);
    rig.at(0).step(message, rig.now());
  }
  EXPECT_LE(in_five_seconds(), 2 * usual);
}

TEST(VoterLeads, and_brings_who_was_away_up_to_date_in_parts) {
  Rig rig(3);
  rig.wait_led();
  rig.stop(2);
  for (int i = 0; i < 500; ++i) rig.propose(0, "r");
  std::size_t longest = 0;
  rig.lost = [&](const Message& message) {
    const auto* append = std::get_if<Append>(&message.body);
    if (append != nullptr) longest = std::max(longest, append->entries.size());
    return false;
  };
  rig.start(2);
  rig.run_for(1s);
  EXPECT_EQ(rig.at(2).committed(), rig.at(0).committed());
  EXPECT_EQ(longest, 64u);
}

TEST(VoterLeads, and_restarts_who_is_below_what_it_has_dropped) {
  Rig rig(3);
  rig.wait_led();
  rig.stop(2);
  for (int i = 0; i < 20; ++i) rig.propose(0, "r");
  for (const int i : {0, 1}) rig.at(i).drop(10);
  rig.deliver();
  rig.stop(0);  // also under a leader that did not know how far it was
  rig.start(2);
  rig.wait_led();
  ASSERT_EQ(rig.leader(), 1);
  rig.propose(1, "r");
  rig.run_for(300ms);
  EXPECT_EQ(rig.at(2).entries().first(), 10);
  EXPECT_EQ(rig.at(2).entries().end(), rig.at(1).entries().end());
  EXPECT_EQ(rig.at(2).committed(), rig.at(1).committed());
}

TEST(VoterFollows, and_replaces_what_another_leader_did_not_commit) {
  Rig rig(3);
  rig.wait_led();
  rig.cut_off(0);
  rig.propose(0, "lost");
  rig.run_for(2s);
  ASSERT_EQ(rig.leader(), 1);
  const Index index = *rig.propose(1, "kept");
  rig.heal();
  rig.run_for(1s);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(rig.at(i).committed(), index + 1) << i;
    for (Index at = 0; at <= index; ++at) {
      EXPECT_EQ(rig.at(i).entries().at(at), rig.at(1).entries().at(at)) << i << " at " << at;
    }
  }
}

TEST(VoterFollows, and_never_lets_what_is_committed_be_replaced) {
  Rig rig(3);
  rig.wait_led();
  const Index index = *rig.propose(0, "kept");
  rig.run_for(100ms);
  rig.stop(0);
  const Append other{index, 1, {{9, BrokerTime{}, std::string("other")}}, index + 1, 1};
  rig.at(2).step(rig.message(1, 2, 9, other), rig.now());
  EXPECT_THAT(rig.carry_out(2).contradictions, ElementsAre("v1"));
  EXPECT_EQ(std::get<std::string>(rig.at(2).entries().at(index).what), "kept");
  const LogStart start{index, 7, BrokerTime{}, rig.configuration()};
  rig.at(2).step(rig.message(1, 2, 9, Restart{start, 2}), rig.now());
  EXPECT_THAT(rig.carry_out(2).contradictions, ElementsAre("v1"));
  EXPECT_EQ(rig.at(2).entries().end(), index + 1);
}

TEST(VoterFollows, and_reports_a_log_that_differs_below_what_is_committed) {
  Rig rig(3);
  rig.wait_led();
  const Index index = *rig.propose(0, "kept");
  rig.run_for(100ms);
  rig.stop(0);
  const auto reported = [&](decltype(Message::body) body) {
    rig.at(2).step(rig.message(1, 2, 9, std::move(body)), rig.now());
    const Ready ready = rig.carry_out(2);
    return !ready.contradictions.empty() && bodies<Behind>(ready.once_stored).empty();
  };
  EXPECT_TRUE(reported(Append{index, 7, {}, index, 1}));
  EXPECT_TRUE(reported(Append{index + 1, 7, {}, index, 2}));
  EXPECT_TRUE(reported(Restart{{index + 1, 7, BrokerTime{}, rig.configuration()}, 3}));
  rig.at(2).drop(index + 1);
  EXPECT_TRUE(reported(Append{index + 1, 7, {}, index, 4}));
}

TEST(VoterFollows, nothing_that_makes_no_sense) {
  Rig rig(3);
  rig.wait_led();
  rig.propose(0, "r");
  const Term term = rig.at(2).term();
  const Term huge = std::numeric_limits<Term>::max();
  const Index most = std::numeric_limits<Index>::max();
  const Configuration none;
  const Configuration doubled{{{VoterId(1), "v0", 1}, {VoterId(1), "v1", 1}}};
  const LogStart below{-5, 0, BrokerTime{}, rig.configuration()};
  const std::vector<std::pair<Term, decltype(Message::body)>> messages{
      {1, Formed{below}},
      {9, Restart{below, 1}},
      {9, Restart{{most, 1, BrokerTime{}, rig.configuration()}, 1}},
      {9, Restart{{5, 10, BrokerTime{}, rig.configuration()}, 1}},
      {9, Restart{{5, 1, BrokerTime{}, none}, 1}},
      {9, Append{-1, 0, {}, 0, 1}},
      {9, Append{most, 0, {}, 0, 1}},
      {9, Append{0, 0, {}, most, 1}},
      {9, Append{0, 0, {{10, BrokerTime{}, std::string("r")}}, 0, 1}},
      {9, Append{0, 2, {{1, BrokerTime{}, std::string("r")}}, 0, 1}},
      {9, Append{0, 0, {{1, BrokerTime{}, doubled}}, 0, 1}},
      {huge, Append{0, 0, {}, 0, 1}},
      {9, AskVote{false, huge, 0, 0}},
      {9, AskVote{false, 9, -1, 0}},
      {9, Stored{-1, 1}},
      {9, Behind{-2, 1}},
  };
  for (const auto& [of_term, body] : messages) {
    rig.at(2).step(rig.message(1, 2, of_term, body), rig.now());
    EXPECT_EQ(rig.at(2).term(), term) << body.index();
  }
}

TEST(VoterFollows, nobody_with_another_log) {
  Rig rig(3);
  Message message = rig.message(1, 0, 9, Append{0, 0, {}, 0, 1});
  message.log = LogId(5);
  rig.at(0).step(message, rig.now());
  EXPECT_THAT(rig.carry_out(0).strangers, ElementsAre("v1"));
  EXPECT_EQ(rig.at(0).term(), 0u);
}

TEST(VoterFollows, and_keeps_what_is_not_committed_when_it_is_told_to_drop) {
  Rig rig(3);
  rig.wait_led();
  rig.run_for(100ms);
  const Index committed = rig.at(0).committed();
  rig.stop(1);
  rig.stop(2);
  rig.propose(0, "r");
  rig.at(0).drop(committed + 1);
  EXPECT_EQ(rig.at(0).entries().first(), committed);
}

}  // namespace
}  // namespace neliroute::quorum
