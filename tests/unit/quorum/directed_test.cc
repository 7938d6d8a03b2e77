// Courses of events that chance does not find: how logs begin, disks that are lost, and what needs
// several leaders one after the other.
#include <gmock/gmock.h>

#include "tests/unit/quorum/rig.h"

namespace neliroute::quorum {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr VoterId kNew{50};

std::vector<std::uint64_t> ids(const Configuration& configuration) {
  std::vector<std::uint64_t> found;
  for (const Member& member : configuration.members) found.push_back(member.id.value());
  return found;
}

/// The configurations in a voter's log, the first one included.
std::vector<std::vector<std::uint64_t>> changes(const EntryLog& log) {
  std::vector<std::vector<std::uint64_t>> found{ids(log.start().configuration)};
  for (Index i = log.first(); i < log.end(); ++i) {
    if (const auto* voters = std::get_if<Configuration>(&log.at(i).what)) {
      found.push_back(ids(*voters));
    }
  }
  return found;
}

TEST(Forming, begins_one_log_when_all_voters_are_there) {
  Rig rig(3, false);
  rig.wait_led();
  EXPECT_EQ(rig.leader(), 0);
  rig.run_for(500ms);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(rig.at(i).durable().log, kLog) << i;
    EXPECT_THAT(ids(rig.at(i).entries().configuration()), ElementsAre(1, 2, 3));
    EXPECT_GT(rig.at(i).committed(), 0);
  }
}

TEST(Forming, waits_for_every_voter) {
  for (int missing = 0; missing < 3; ++missing) {
    Rig rig(3, false);
    rig.stop(missing);
    EXPECT_GE(rig.wait_led(), 20s) << missing;
    rig.start(missing);
    EXPECT_LE(rig.wait_led(), 2s) << missing;
  }
}

TEST(Forming, does_not_begin_where_one_has_a_log) {
  Rig rig(3);
  rig.wait_led();
  rig.propose(0, "r");
  rig.stop(2);
  rig.lose_disk(0, VoterId(50));
  rig.lose_disk(1, VoterId(51));
  rig.start(0);
  rig.start(1);
  EXPECT_GE(rig.wait_led(), 20s) << "a majority of the disks is lost";
  rig.start(2);
  EXPECT_GE(rig.wait_led(), 20s);
  EXPECT_EQ(rig.at(0).durable().log, std::nullopt);
}

TEST(Forming, believes_nobody_who_said_before_its_disk_was_new_that_he_is_empty) {
  Rig rig(3, false);
  std::vector<Message> early;
  rig.lost = [&](const Message& message) {
    const auto* here = std::get_if<Here>(&message.body);
    if (here != nullptr && here->empty && message.to_address == "v0") early.push_back(message);
    return message.to_address == "v2" && here == nullptr;  // it does not hear of the log
  };
  rig.wait_led();
  rig.propose(0, "r");
  ASSERT_GT(rig.at(0).committed(), 0);
  rig.lose_disk(0, VoterId(50));
  rig.start(0);
  rig.lost = [](const Message& message) {
    return message.from_address == "v1" || message.to_address == "v1";
  };
  for (int i = 0; i < 20; ++i) {
    for (const Message& message : early) {
      if (message.from_address == "v1") rig.at(0).step(message, rig.now());
    }
    rig.run_for(100ms);
  }
  EXPECT_EQ(rig.at(0).durable().log, std::nullopt) << "v1 has a log, and what is committed in it";
}

TEST(Forming, begins_no_log_with_a_voter_that_was_told_of_others) {
  Rig rig(3, false);
  rig.tell(1, {0, 1, 5});
  rig.run_for(10 * kElection);
  EXPECT_EQ(rig.at(0).durable().log, std::nullopt);
  rig.tell(1, {0, 1, 2});
  rig.run_for(10 * kElection);
  EXPECT_TRUE(rig.at(0).durable().log);
}

TEST(Forming, lets_who_did_not_hear_of_the_log_vote_later) {
  Rig rig(3, false);
  rig.lost = [](const Message& message) {
    return message.to_address == "v2" && !std::holds_alternative<Here>(message.body);
  };
  rig.wait_led();
  EXPECT_EQ(rig.at(2).durable().log, std::nullopt);
  rig.stop(0);
  rig.heal();
  EXPECT_LE(rig.wait_led(), 2s) << "two of three";
}

struct LostDisk : testing::Test {
  Rig rig{3};

  LostDisk() {
    rig.wait_led();
    for (int i = 0; i < 40; ++i) rig.propose(0, "r");
    rig.run_for(200ms);
  }
};

TEST_F(LostDisk, is_replaced_by_one_that_has_copied_the_log_in_two_steps) {
  rig.lose_disk(2, kNew);
  rig.start(2);
  rig.run_for(3s);
  EXPECT_THAT(changes(rig.at(0).entries()),
              ElementsAre(ElementsAre(1, 2, 3), ElementsAre(1, 2), ElementsAre(1, 2, 50)));
  EXPECT_EQ(rig.at(2).entries().end(), rig.at(0).entries().end());
  rig.stop(1);
  EXPECT_NE(rig.propose(0, "r"), std::nullopt);
  EXPECT_EQ(rig.at(0).committed(), rig.at(0).entries().end()) << "its disk counts";
}

TEST_F(LostDisk, is_replaced_while_entries_are_written_all_the_time) {
  rig.lose_disk(2, kNew);
  rig.start(2);
  rig.latency = 10ms;
  for (int i = 0; i < 600; ++i) {
    for (int k = 0; k < 10; ++k) rig.propose(0, "r");
    rig.run_for(5ms);
  }
  EXPECT_THAT(ids(rig.at(0).entries().configuration()), ElementsAre(1, 2, 50));
}

TEST_F(LostDisk, changes_nothing_before_the_first_step_is_stored_by_a_majority) {
  rig.lose_disk(2, kNew);
  rig.start(2);
  rig.lost = [this](const Message& message) {  // from the first step on voter 1 stores nothing
    return rig.at(0).entries().configured_at() && message.to_address == "v1";
  };
  rig.run_for(1000ms);
  EXPECT_THAT(changes(rig.at(0).entries()), ElementsAre(ElementsAre(1, 2, 3), ElementsAre(1, 2)));
}

TEST_F(LostDisk, of_the_leader_is_replaced_under_the_next_one) {
  rig.lose_disk(0, kNew);
  rig.start(0);
  rig.run_for(3s);
  EXPECT_EQ(rig.leader(), 1);
  EXPECT_THAT(ids(rig.at(1).entries().configuration()), ElementsAre(50, 2, 3));
}

TEST_F(LostDisk, does_not_vote_before_it_counts) {
  rig.lose_disk(2, kNew);
  rig.start(2);
  rig.stop(0);
  EXPECT_GE(rig.wait_led(), 20s) << "one of three has its log";
  rig.start(0);
  EXPECT_LE(rig.wait_led(), 1s);
}

TEST_F(LostDisk, copies_the_log_before_it_counts_for_what_is_committed) {
  rig.lose_disk(2, kNew);
  rig.start(2);
  rig.stop(1);
  const Index committed = rig.at(0).committed();
  rig.propose(0, "r");
  rig.run_for(200ms);
  ASSERT_EQ(rig.at(2).entries().end(), rig.at(0).entries().end());
  EXPECT_EQ(rig.at(0).committed(), committed);
}

TEST_F(LostDisk, does_not_replace_a_voter_that_answers) {
  Message message = rig.message(2, 0, 1, Stored{rig.at(0).entries().end(), 1});
  message.from = kNew;
  for (int i = 0; i < 50; ++i) {
    rig.at(0).step(message, rig.now());
    rig.run_for(20ms);
  }
  EXPECT_THAT(changes(rig.at(0).entries()), ElementsAre(ElementsAre(1, 2, 3)));
}

TEST_F(LostDisk, that_comes_back_counts_again_if_nothing_has_changed) {
  const Durable before = rig.disk(2);
  rig.lose_disk(2, kNew);
  rig.disk(2) = before;
  rig.start(2);
  rig.run_for(2s);
  EXPECT_THAT(changes(rig.at(0).entries()), ElementsAre(ElementsAre(1, 2, 3)));
  EXPECT_EQ(rig.at(2).committed(), rig.at(0).committed());
}

TEST_F(LostDisk, that_comes_back_when_another_has_its_place_is_admitted_as_that_one_was) {
  const Durable before = rig.disk(2);
  rig.lose_disk(2, kNew);
  rig.start(2);
  rig.run_for(3s);
  rig.stop(2);
  rig.disk(2) = before;
  rig.start(2);
  rig.run_for(6s);
  EXPECT_EQ(rig.leader(), 0);
  EXPECT_EQ(rig.at(0).term(), 1u) << "it deposed nobody";
  EXPECT_THAT(ids(rig.at(0).entries().configuration()), ElementsAre(1, 2, 3));
  EXPECT_EQ(rig.at(2).committed(), rig.at(0).committed());
}

/// Raft's figure 8: an entry of an earlier term is on a majority, and is replaced all the same, so
/// nobody may have called it committed.
TEST(Figure8, an_entry_of_an_earlier_term_on_a_majority_is_not_committed) {
  Rig rig(5);
  rig.wait_led();
  rig.run_for(200ms);
  // Term 1: more entries than one message takes reach voter 1 alone.
  rig.lost = [](const Message& message) {
    return message.from_address == "v0" && message.to_address != "v1";
  };
  for (int i = 0; i < 70; ++i) rig.propose(0, "old");
  const Index old_end = rig.at(0).entries().end();
  ASSERT_EQ(rig.at(1).entries().end(), old_end);
  ASSERT_LT(rig.at(0).committed(), old_end - 64);
  rig.stop(0);
  rig.stop(1);
  // Term 2: one of the others leads, and writes what nobody else gets.
  rig.lost = [](const Message& message) { return std::holds_alternative<Append>(message.body); };
  rig.wait_led();
  const int second = rig.leader();
  ASSERT_GE(second, 2);
  rig.propose(second, "replacing");
  rig.stop(second);
  // Term 3: voter 0 leads again, and brings its old entries, not its first new one, to another.
  const int other = second == 2 ? 3 : 2;
  rig.lost = [other](const Message& message) {
    const auto* append = std::get_if<Append>(&message.body);
    if (append == nullptr || message.to_address == "v0" || message.to_address == "v1") {
      return false;
    }
    return message.to_address != address_of(other) ||
           (!append->entries.empty() && append->entries.back().term != 1);
  };
  rig.start(0);
  rig.start(1);
  rig.run_for(700ms);
  const Index committed = rig.at(0).committed();
  ASSERT_EQ(rig.leader(), 0);
  ASSERT_GT(rig.at(other).entries().end(), old_end - 64) << "three of five have old entries";
  // Then those two die, and voter `second` may lead with the others: its last term is greater.
  rig.stop(0);
  rig.stop(1);
  rig.heal();
  rig.start(second);
  rig.run_for(4s);
  ASSERT_GE(rig.leader(), 2);
  const EntryLog& log = rig.at(rig.leader()).entries();
  for (Index i = 0; i < committed; ++i) {
    ASSERT_LT(i, log.end());
    ASSERT_EQ(log.at(i), rig.disk(0).entries.at(i)) << "it was called committed: " << i;
  }
}

}  // namespace
}  // namespace neliroute::quorum
