// How much a member should lead, by weights, cordons and pins.

#include "metrics/fair_shares.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace neliroute {
namespace {

constexpr std::uint32_t kPartitions = 60;

ObservedMember member(std::uint64_t id, std::uint32_t weight = 1, bool cordoned = false) {
  ObservedMember made;
  const std::string name = "p" + std::to_string(id);
  made.peer = std::make_shared<const Peer>(Peer{ProcessId{id}, {name, name + ":7000", {}}});
  made.weight = weight;
  made.cordoned = cordoned;
  return made;
}

FairShares shares(const std::vector<ObservedMember>& members,
                  std::map<std::string, std::string> pins = {}) {
  FairShares made(kPartitions);
  AssignmentNews news;
  news.members = members;
  news.overrides =
      std::make_shared<const ObservedOverrides>(ObservedOverrides{{}, {}, std::move(pins)});
  made.take(news);
  return made;
}

std::vector<double> of_each(const FairShares& all, std::uint64_t count) {
  std::vector<double> made;
  for (std::uint64_t id = 1; id <= count; ++id) made.push_back(all.of(ProcessId{id}));
  return made;
}

using Each = std::vector<double>;

TEST(FairShares, are_equal_without_overrides) {
  EXPECT_EQ(of_each(shares({member(1), member(2), member(3), member(4)}), 4),
            (Each{15, 15, 15, 15}));
}

TEST(FairShares, follow_weights_and_leave_the_cordoned_nothing) {
  EXPECT_EQ(of_each(shares({member(1, 3), member(2), member(3, 5, true), member(4, 0)}), 4),
            (Each{45, 15, 0, 0}));
}

TEST(FairShares, are_of_the_living) {
  ObservedMember leaver = member(1);
  leaver.state = MemberState::leaving;
  ObservedMember dead = member(2);
  dead.state = MemberState::silent;
  EXPECT_EQ(of_each(shares({leaver, dead, member(3)}), 4), (Each{0, 0, 60, 0}));
}

TEST(FairShares, are_equal_where_all_are_cordoned_and_keep_what_they_have) {
  EXPECT_EQ(of_each(shares({member(1, 3, true), member(2, 1, true)}), 2), (Each{30, 30}));
}

TEST(FairShares, count_pins_and_let_the_others_share_what_those_leave) {
  const std::vector<ObservedMember> three{member(1), member(2), member(3)};
  EXPECT_EQ(of_each(shares(three, {{"p1", "0-9"}}), 3), (Each{20, 20, 20}))
      << "pins count towards the share";
  EXPECT_EQ(of_each(shares(three, {{"p1", "0-39"}}), 3), (Each{40, 10, 10}));
  EXPECT_EQ(of_each(shares(three, {{"p1", "0-39"}, {"p2", "40-54"}}), 3), (Each{40, 15, 5}))
      << "what is left after one is full makes another full";
  EXPECT_EQ(of_each(shares(three, {{"p9", "0-39"}}), 3), (Each{20, 20, 20})) << "nobody has it";
}

TEST(FairShares, change_with_the_members) {
  FairShares all = shares({member(1), member(2)});
  const std::vector<ObservedMember> heavier{member(1, 2)};
  const std::vector<ProcessId> gone{ProcessId{2}};
  AssignmentNews news;
  news.members = heavier;
  all.take(news);
  EXPECT_EQ(of_each(all, 2), (Each{40, 20}));
  news.gone = gone;
  all.take(news);
  EXPECT_EQ(of_each(all, 2), (Each{60, 0}));
}

}  // namespace
}  // namespace neliroute
