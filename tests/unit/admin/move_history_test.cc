// What the admin port remembers of moves: which, for how long, how many.
#include "admin/move_history.h"

#include <gtest/gtest.h>

#include <boost/json/parse.hpp>
#include <boost/json/serialize.hpp>
#include <memory>
#include <string>

namespace neliroute::admin {
namespace {

using namespace std::chrono_literals;

constexpr LocalTime kStart{1h};

ObservedRoute unknown() { return {}; }
ObservedRoute unowned() {
  ObservedRoute route;
  route.verdict = Verdict::unowned;
  return route;
}
ObservedRoute led_by(std::uint64_t id) {
  ObservedRoute route;
  route.verdict = Verdict::remote;
  route.owner = std::make_shared<const Peer>(
      Peer{ProcessId{id}, {"p" + std::to_string(id), "p:" + std::to_string(id), {}}});
  return route;
}

boost::json::object told(const MoveHistory& history, LocalTime now) {
  return boost::json::parse(history.text(now)).as_object();
}
std::string moves(const MoveHistory& history, LocalTime now) {
  return boost::json::serialize(told(history, now).at("moves"));
}

TEST(MoveHistory, tells_who_lost_and_who_got_what_and_how_long_ago) {
  MoveHistory history(8);
  for (std::uint32_t p = 0; p < 8; ++p) history.note(Partition{p}, unknown(), led_by(1), kStart);
  EXPECT_EQ(moves(history, kStart), "[]") << "to learn who leads is no move";
  for (const std::uint32_t p : {0u, 1u, 2u, 5u}) {
    history.note(Partition{p}, led_by(1), unowned(), kStart + 10s);
  }
  history.note(Partition{0}, unowned(), led_by(2), kStart + 12s);
  history.note(Partition{5}, unowned(), led_by(2), kStart + 12s);
  history.note(Partition{1}, unowned(), led_by(3), kStart + 12s);
  const LocalTime now = kStart + 20s;
  EXPECT_EQ(moves(history, now),
            R"([[10000,0,-1,"0-2,5"],[8000,-1,1,"0,5"],[8000,-1,2,"1"]])");
  const auto all = told(history, now);
  EXPECT_EQ(all.at("reach_ms"), 20'000);
  EXPECT_EQ(all.at("processes").as_array()[2].as_object().at("name"), "p3");
}

TEST(MoveHistory, takes_another_epoch_of_the_same_owner_for_no_move) {
  MoveHistory history(1);
  history.note(Partition{0}, unknown(), led_by(1), kStart);
  history.note(Partition{0}, led_by(1), led_by(1), kStart + 1s);
  EXPECT_EQ(moves(history, kStart + 2s), "[]");
}

TEST(MoveHistory, tells_of_a_view_that_was_lost_and_came_back) {
  MoveHistory history(1);
  history.note(Partition{0}, unknown(), led_by(1), kStart);
  history.note(Partition{0}, led_by(1), unknown(), kStart + 1s);
  history.note(Partition{0}, unknown(), led_by(2), kStart + 2s);
  EXPECT_EQ(moves(history, kStart + 3s), R"([[2000,0,-2,"0"],[1000,-2,1,"0"]])");
}

TEST(MoveHistory, forgets_what_is_older_than_ten_minutes) {
  MoveHistory history(2);
  for (std::uint32_t p = 0; p < 2; ++p) history.note(Partition{p}, unknown(), led_by(1), kStart);
  history.note(Partition{0}, led_by(1), led_by(2), kStart + 1min);
  history.note(Partition{1}, led_by(1), led_by(2), kStart + 2min);
  EXPECT_EQ(moves(history, kStart + 11min + 1s), R"([[541000,0,1,"1"]])");
  EXPECT_EQ(told(history, kStart + 11min + 1s).at("reach_ms"), 600'000);
}

// Partitions that move to and fro for ever cost no more than these.
TEST(MoveHistory, is_bounded_and_says_how_far_back_it_reaches) {
  constexpr std::uint32_t kPartitions = 1000;
  MoveHistory history(kPartitions);
  for (std::uint32_t p = 0; p < kPartitions; ++p) {
    history.note(Partition{p}, unknown(), led_by(1), kStart);
  }
  LocalTime now = kStart;
  std::uint64_t owner = 1;
  for (int round = 0; round < 200; ++round) {
    now += 100ms;
    for (std::uint32_t p = 0; p < kPartitions; ++p) {
      history.note(Partition{p}, led_by(owner), led_by(3 - owner), now);
    }
    owner = 3 - owner;
  }
  const auto all = told(history, now);
  const auto kept = all.at("moves").as_array().size();
  EXPECT_LE(kept * kPartitions, MoveHistory::kPartitionsMax);
  EXPECT_GE(kept, MoveHistory::kPartitionsMax / kPartitions - 1);
  EXPECT_LT(all.at("reach_ms").to_number<std::int64_t>(), 20'000) << "not since the start";
  for (std::size_t i = 0; i < 2 * MoveHistory::kMovesMax; ++i) {
    now += 1ms;
    history.note(Partition{0}, led_by(owner), led_by(3 - owner), now);
    owner = 3 - owner;
  }
  EXPECT_EQ(told(history, now).at("moves").as_array().size(), MoveHistory::kMovesMax);
}

}  // namespace
}  // namespace neliroute::admin
