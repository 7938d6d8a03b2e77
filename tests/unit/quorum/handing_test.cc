// Leaders that hand over to who has the highest priority.
#include <gmock/gmock.h>

#include "tests/unit/quorum/rig.h"

namespace neliroute::quorum {
namespace {

using namespace std::chrono_literals;

/// Voter 0 has the highest priority; voter 1 leads, as voter 0 was away.
struct HandsOver : testing::Test {
  HandsOver() {
    rig.wait_led();
    rig.stop(0);
    rig.wait_led();
    EXPECT_EQ(rig.leader(), 1);
    EXPECT_TRUE(rig.propose(1, "while it is away"));
  }
  /// Lets messages of this kind through to nobody, and counts them.
  template <class Body>
  void lose() {
    rig.lost = [this](const Message& message) {
      const bool is_one = std::holds_alternative<Body>(message.body);
      seen += is_one ? 1 : 0;
      return is_one;
    };
  }

  Rig rig{3};
  int seen = 0;
};

TEST_F(HandsOver, to_who_has_the_highest_priority_once_it_was_well_for_ten_timeouts) {
  rig.start(0);
  const Term before = rig.at(1).term();
  rig.run_for(10 * kElection - 50ms);
  EXPECT_EQ(rig.leader(), 1) << "it may go again";
  EXPECT_EQ(rig.at(1).term(), before);
  rig.run_for(kElection);
  EXPECT_EQ(rig.leader(), 0);
  EXPECT_EQ(rig.at(0).term(), before + 1) << "one election";
  EXPECT_TRUE(rig.propose(0, "r"));
  rig.run_for(20 * kElection);
  EXPECT_EQ(rig.leader(), 0);
  EXPECT_EQ(rig.at(0).term(), before + 1) << "and no other";
  for (int i = 0; i < 3; ++i) EXPECT_EQ(rig.at(i).committed(), rig.at(0).committed());
}

TEST_F(HandsOver, without_a_time_in_which_nobody_leads) {
  rig.start(0);
  rig.latency = 5ms;
  milliseconds leaderless{0};
  for (int i = 0; i < 800 && rig.leader() != 0; ++i) {
    rig.run_for(5ms);
    leaderless += rig.leader() < 0 ? 5ms : 0ms;
  }
  EXPECT_EQ(rig.leader(), 0);
  EXPECT_LE(leaderless, 15ms) << "one round, to vote";
}

TEST_F(HandsOver, while_records_are_written_all_the_time) {
  rig.start(0);
  rig.latency = 5ms;
  int written = 0;
  for (int i = 0; i < 800 && rig.leader() != 0; ++i) {
    rig.run_for(5ms);
    const int leader = rig.leader();
    if (leader >= 0) written += rig.propose(leader, "r") ? 1 : 0;
  }
  EXPECT_EQ(rig.leader(), 0);
  EXPECT_GT(written, 500);
}

TEST_F(HandsOver, to_nobody_who_has_not_all_entries) {
  rig.start(0);
  rig.latency = 5ms;
  int told = 0;
  // It follows well, but that it has stored the very last entry never arrives.
  rig.lost = [&](const Message& message) {
    const auto* stored = std::get_if<Stored>(&message.body);
    told += std::holds_alternative<TakeOver>(message.body) ? 1 : 0;
    return stored != nullptr && message.from_address == "v0" &&
           stored->end == rig.at(1).entries().end();
  };
  bool wanted = false;
  for (int i = 0; i < 800; ++i) {
    (void)rig.propose(1, "r");
    rig.run_for(5ms);
    wanted = wanted || rig.at(1).hands_over();
  }
  EXPECT_TRUE(wanted);
  EXPECT_EQ(told, 0);
  EXPECT_EQ(rig.leader(), 1);
}

TEST_F(HandsOver, to_nobody_who_has_been_away_again) {
  rig.start(0);
  rig.run_for(9 * kElection);
  rig.stop(0);
  rig.run_for(2 * kElection);
  rig.start(0);
  rig.run_for(9 * kElection);
  EXPECT_EQ(rig.leader(), 1);
}

TEST_F(HandsOver, later_each_time_that_one_was_lost_and_soon_again_after_long) {
  for (const int timeouts : {10, 40, 160}) {
    rig.start(0);
    rig.run_for(timeouts * kElection - 50ms);
    EXPECT_EQ(rig.leader(), 1) << timeouts;
    rig.run_for(2 * kElection);
    EXPECT_EQ(rig.leader(), 0) << timeouts;
    rig.stop(0);
    rig.wait_led();
    ASSERT_EQ(rig.leader(), 1);
  }
  rig.start(0);
  rig.run_for(642 * kElection);
  EXPECT_EQ(rig.leader(), 0);
  rig.run_for(2'560 * kElection);
  rig.stop(0);
  rig.wait_led();
  rig.start(0);
  rig.run_for(12 * kElection);
  EXPECT_EQ(rig.leader(), 0) << "what was long ago is forgotten";
}

TEST_F(HandsOver, later_also_by_who_did_not_take_its_place_itself) {
  for (int turn = 0; turn < 2; ++turn) {
    rig.start(0);
    rig.run_for(42 * kElection);
    ASSERT_EQ(rig.leader(), 0);
    rig.stop(0);
    rig.wait_led();
    ASSERT_EQ(rig.leader(), 1);
  }
  rig.stop(1);  // it knows, and so does voter 2
  rig.start(0);
  rig.run_for(3 * kElection);
  ASSERT_EQ(rig.leader(), 2);
  rig.start(1);
  rig.run_for(30 * kElection);
  EXPECT_EQ(rig.leader(), 2);
}

TEST_F(HandsOver, later_after_each_time_in_vain) {
  rig.start(0);  // it was lost once
  lose<TakeOver>();
  rig.run_for(12 * kElection);
  EXPECT_EQ(seen, 1);
  rig.run_for(38 * kElection);
  EXPECT_EQ(seen, 1);
  rig.run_for(5 * kElection);
  EXPECT_EQ(seen, 2);
  rig.run_for(150 * kElection);
  EXPECT_EQ(seen, 2);
  rig.run_for(15 * kElection);
  EXPECT_EQ(seen, 3);
}

TEST_F(HandsOver, to_nobody_while_a_voter_is_away) {
  rig.start(0);
  rig.run_for(5 * kElection);
  rig.stop(2);
  rig.run_for(30 * kElection);
  EXPECT_EQ(rig.leader(), 1);
  rig.start(2);
  rig.run_for(12 * kElection);
  EXPECT_EQ(rig.leader(), 0);
}

TEST_F(HandsOver, to_nobody_who_reaches_the_leader_alone) {
  rig.start(0);
  const Term term = rig.at(1).term();
  rig.lost = [](const Message& message) {
    return (message.from_address == "v0" && message.to_address == "v2") ||
           (message.from_address == "v2" && message.to_address == "v0");
  };
  rig.run_for(100 * kElection);
  EXPECT_EQ(rig.leader(), 1);
  EXPECT_EQ(rig.at(1).term(), term);
}

TEST_F(HandsOver, or_leads_on_if_that_one_does_not_hear_it) {
  rig.start(0);
  const Term term = rig.at(1).term();
  lose<TakeOver>();
  bool waited = false;
  for (int i = 0; i < 300; ++i) {
    rig.run_for(15ms);
    waited = waited || rig.at(1).hands_over();
    if (rig.at(1).hands_over()) {
      EXPECT_FALSE(rig.propose(1, "not now"));
    }
  }
  EXPECT_TRUE(waited);
  EXPECT_EQ(seen, 1) << "not again for ten timeouts";
  EXPECT_EQ(rig.leader(), 1);
  EXPECT_EQ(rig.at(1).term(), term);
  EXPECT_FALSE(rig.at(1).hands_over());
  EXPECT_TRUE(rig.propose(1, "r")) << "it takes records again";
}

// It can be reached from the leader, and not from the others.
TEST_F(HandsOver, and_nothing_happens_if_others_do_not_hear_who_should_lead) {
  Rig five(5);
  five.wait_led();
  five.stop(0);
  five.wait_led();
  ASSERT_EQ(five.leader(), 1);
  const Term term = five.at(1).term();
  five.start(0);
  five.lost = [](const Message& message) {
    return message.from_address == "v0" && message.to_address != "v1";
  };
  five.run_for(50 * kElection);
  EXPECT_EQ(five.leader(), 1);
  EXPECT_EQ(five.at(1).term(), term);
}

TEST_F(HandsOver, to_nobody_who_was_told_of_other_voters) {
  rig.tell(1, {0, 1});
  rig.run_for(2 * kElection);
  rig.wait_led();
  const int leader = rig.leader();
  ASSERT_NE(leader, 0);
  rig.tell(0, leader == 1 ? std::vector{0, 1, 2} : std::vector{0, 1});
  rig.run_for(20 * kElection);
  EXPECT_EQ(rig.leader(), leader);
}

TEST_F(HandsOver, to_nobody_who_was_not_asked_by_the_leader) {
  rig.start(0);
  rig.run_for(kElection);
  const Term term = rig.at(1).term();
  rig.at(0).step(rig.message(2, 0, term, TakeOver{}), rig.now());
  rig.at(0).step(rig.message(1, 0, term - 1, TakeOver{}), rig.now());
  rig.at(1).step(rig.message(2, 1, term, TakeOver{}), rig.now());
  EXPECT_TRUE(bodies<AskVote>(rig.carry_out(0).once_stored).empty());
  EXPECT_EQ(rig.at(1).role(), Role::leading);
  rig.at(0).step(rig.message(1, 0, term, TakeOver{}), rig.now());
  const auto asked = bodies<AskVote>(rig.carry_out(0).once_stored);
  ASSERT_EQ(asked.size(), 2u);
  EXPECT_TRUE(asked[0].poll && asked[0].handed_over);
}

}  // namespace
}  // namespace neliroute::quorum
