// Other voters: each is told of them and started again, and the leader makes it so.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/unit/quorum/rig.h"

namespace neliroute::quorum {
namespace {

using testing::ElementsAre;

/// "v0=3 v1=2 v2=1": addresses and priorities.
std::string text(const Configuration& voters) {
  std::string text;
  for (const Member& member : voters.members) {
    if (!text.empty()) text += ' ';
    text += member.address + "=" + std::to_string(member.priority);
  }
  return text;
}

/// Of the log, in their order.
std::vector<std::string> changes(const Voter& voter) {
  std::vector<std::string> changes;
  for (Index at = voter.entries().first(); at < voter.entries().end(); ++at) {
    const auto* voters = std::get_if<Configuration>(&voter.entries().at(at).what);
    if (voters != nullptr) changes.push_back(text(*voters));
  }
  return changes;
}

// Mutation changes_alone.
TEST(OtherVoters, take_the_place_of_one_in_two_steps_the_second_when_most_were_told) {
  Rig rig(3);
  rig.wait_led();
  rig.stop(0);
  rig.tell(1, {0, 1, 3});
  rig.run_for(10 * kElection);
  ASSERT_EQ(rig.leader(), 1);
  rig.tell(0, {0, 1, 2});
  rig.run_for(2 * kElection);
  rig.tell(3, {0, 1, 3});
  rig.run_for(20 * kElection);
  ASSERT_EQ(rig.leader(), 1);
  EXPECT_THAT(changes(rig.at(1)), ElementsAre("v0=3 v1=2 v2=1 v3=1")) << "0 was not told yet";
  rig.tell(0, {0, 1, 3});
  rig.run_for(20 * kElection);
  EXPECT_THAT(changes(rig.at(1)), ElementsAre("v0=3 v1=2 v2=1 v3=1", "v0=3 v1=2 v3=1"));
  ASSERT_EQ(rig.leader(), 0) << "then it takes over";
  const auto index = rig.propose(0, "r");
  rig.run_for(kElection);
  ASSERT_TRUE(index);
  EXPECT_GT(rig.at(3).committed(), *index);
}

TEST(OtherVoters, do_not_keep_one_that_lost_its_disk_from_coming_back) {
  Rig rig(3);
  rig.wait_led();
  rig.tell(1, {0, 1, 3});
  rig.tell(3, {0, 1, 3});
  rig.lose_disk(1, VoterId(9));
  rig.start(1);
  rig.run_for(20 * kElection);
  ASSERT_EQ(rig.leader(), 0);
  EXPECT_NE(rig.at(0).entries().configuration().find(VoterId(9)), nullptr);
}

TEST(OtherVoters, take_the_place_of_a_dead_one) {
  Rig rig(3);
  rig.wait_led();
  rig.stop(2);
  rig.tell(3, {0, 1, 3});
  rig.tell(0, {0, 1, 3});
  rig.tell(1, {0, 1, 3});
  rig.run_for(40 * kElection);
  ASSERT_GE(rig.leader(), 0);
  EXPECT_EQ(text(rig.at(rig.leader()).entries().configuration()), "v0=3 v1=2 v3=1");
}

TEST(OtherVoters, remove_nobody_before_they_have_copied_the_log) {
  Rig rig(3);
  rig.wait_led();
  for (const int i : {0, 1}) rig.tell(i, {0, 1, 3});
  rig.run_for(40 * kElection);
  ASSERT_GE(rig.leader(), 0);
  EXPECT_EQ(text(rig.at(rig.leader()).entries().configuration()), "v0=3 v1=2 v2=1");
}

TEST(OtherVoters, get_the_priorities_of_the_new_number) {
  Rig rig(3);
  rig.wait_led();
  for (const int i : {3, 4, 0, 1, 2}) rig.tell(i, {0, 1, 2, 3, 4});
  rig.run_for(60 * kElection);
  ASSERT_GE(rig.leader(), 0);
  EXPECT_EQ(text(rig.at(rig.leader()).entries().configuration()), "v0=5 v1=4 v2=3 v3=2 v4=1");
}

TEST(OtherVoters, are_not_removed_by_one_that_was_told_of_itself_alone) {
  Rig rig(3);
  rig.wait_led();
  rig.stop(0);
  rig.tell(1, {1});
  rig.run_for(5 * kElection);
  ASSERT_EQ(rig.leader(), 1);
  rig.start(0);
  rig.run_for(20 * kElection);
  EXPECT_EQ(text(rig.at(2).entries().configuration()), "v0=3 v1=2 v2=1");
}

TEST(OtherVoters, may_be_fewer) {
  Rig rig(5);
  rig.wait_led();
  for (const int i : {2, 3, 4}) rig.tell(i, {2, 3, 4});
  rig.stop(0);
  rig.stop(1);
  rig.run_for(60 * kElection);
  EXPECT_THAT(rig.leader(), testing::AnyOf(2, 3, 4));
  EXPECT_EQ(text(rig.at(rig.leader()).entries().configuration()), "v2=3 v3=2 v4=1");
}

TEST(OtherVoters, are_named_to_operators_while_not_all_were_told) {
  Rig rig(3);
  rig.wait_led();
  rig.tell(1, {0, 1, 3});
  rig.run_for(kElection);
  Message here = rig.message(1, 0, 0, Here{});
  rig.at(0).step(here, rig.now());
  EXPECT_THAT(rig.carry_out(0).others_told, ElementsAre("v1"));
  here.told = print_of(rig.options(0).addresses);
  rig.at(0).step(here, rig.now());
  EXPECT_THAT(rig.carry_out(0).others_told, ElementsAre());
}

}  // namespace
}  // namespace neliroute::quorum
