// Members that die again and again, by name and endpoint (rule A1).
#include "neli_core/assigner/flapping.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "tests/unit/neli_core/assigner/told.h"

namespace neliroute {
namespace {

using namespace std::chrono_literals;
using told::at_ms;
using told::kInterval;
using told::kOwn;
using told::renewal;

/// Process `id` of the same name and endpoint starts, lives for a while, and dies.
class FlappingTest : public testing::Test {
 protected:
  void read(const Record& record) {
    members.read(record, told::seen(now));
    members.tick(now);
  }
  /// The log flows by the records of this process.
  void live_for(milliseconds duration) {
    for (const LocalTime end = now + duration; now < end;) {
      now = std::min(end, now + kInterval);
      read(renewal(1, 60'000ms));
    }
  }
  Record next(const std::string& name = "p") {
    Record record = renewal(++id, 500ms);
    record.process = {name, name + ":1", {}};
    return record;
  }
  void die() { live_for(501ms); }
  const Member& newest() { return *members.find(ProcessId{id}); }

  Members members{{kOwn, kInterval}};
  LocalTime now = at_ms(10'000);
  std::uint64_t id = 100;
};

TEST_F(FlappingTest, from_the_second_death_on_a_newcomer_waits_twice_as_long_each_time) {
  read(next());
  die();
  read(next());
  EXPECT_FALSE(members.on_probation(newest()));  // the first death costs nothing
  milliseconds expected = 500ms;
  for (int death = 2; death <= 12; ++death) {
    die();
    ASSERT_FALSE(members.lives(ProcessId{id}));
    const std::uint64_t version = members.version();
    read(next());
    EXPECT_GT(members.version(), version);
    EXPECT_TRUE(members.on_probation(newest()));
    EXPECT_EQ(newest().probation_until, now + expected) << death;
    expected = std::min<milliseconds>(2 * expected, 10min);
  }
  EXPECT_EQ(expected, 10min);
}

TEST_F(FlappingTest, one_that_renews_again_starts_another_life) {
  const Record renewal = next();
  read(renewal);
  for (int death = 1; death <= 2; ++death) {
    die();
    read(renewal);
    EXPECT_EQ(members.on_probation(newest()), death == 2);
  }
  EXPECT_EQ(members.false_deaths(), 2u);
}

TEST_F(FlappingTest, lasts_ten_minutes_at_most) {
  for (int death = 0; death < 20; ++death) {
    read(next());
    die();
  }
  read(next());
  EXPECT_EQ(newest().probation_until, now + 10min);
}

TEST_F(FlappingTest, ends_and_changes_the_plan) {
  for (int death = 0; death < 4; ++death) {
    read(next());
    die();
  }
  Record record = next();
  read(record);
  const LocalTime until = newest().probation_until;
  ASSERT_EQ(until, now + 2000ms);
  while (now + kInterval < until) {
    live_for(kInterval);
    read(record);
  }
  const std::uint64_t version = members.version();
  EXPECT_LE(members.next_deadline(), until);
  now = until;
  members.tick(now);
  EXPECT_FALSE(members.on_probation(newest()));
  EXPECT_GT(members.version(), version);
}

TEST_F(FlappingTest, is_forgotten_after_ten_minutes_without_a_death) {
  for (int death = 0; death < 3; ++death) {
    read(next());
    die();
  }
  now += 10min - 2ms;
  read(next());
  EXPECT_TRUE(members.on_probation(newest()));
  now += 2ms;
  read(next());
  EXPECT_FALSE(members.on_probation(newest()));
}

TEST_F(FlappingTest, is_forgotten_once_it_leaves) {
  for (int death = 0; death < 3; ++death) {
    read(next());
    die();
  }
  read(next());
  members.leave(ProcessId{id}, told::seen(now));
  die();
  read(next());
  EXPECT_FALSE(members.on_probation(newest()));
}

TEST_F(FlappingTest, is_of_one_name_and_endpoint) {
  for (int death = 0; death < 3; ++death) {
    read(next());
    die();
  }
  read(next("q"));
  EXPECT_FALSE(members.on_probation(newest()));
  Record elsewhere = next();
  elsewhere.process.endpoint = "p:2";
  read(elsewhere);
  EXPECT_FALSE(members.on_probation(newest()));
}

// Two with one name: each would pay for the other's deaths.
TEST_F(FlappingTest, is_off_while_two_of_that_name_and_endpoint_live) {
  for (int death = 0; death < 3; ++death) {
    read(next());
    die();
  }
  read(next());
  ASSERT_TRUE(members.on_probation(newest()));
  read(next());
  EXPECT_FALSE(members.on_probation(newest()));
  EXPECT_FALSE(members.on_probation(*members.find(ProcessId{id - 1})));
}

TEST_F(FlappingTest, deaths_from_the_second_on_are_none_of_many) {
  for (int death = 0; death < 3; ++death) {
    read(next());
    die();
  }
  EXPECT_EQ(members.take_deaths().size(), 3u);
  EXPECT_EQ(members.deaths_after(kLongAgo, kNobody), 1u);
}

// A default name is HOST_PID_ID: another one at each start.
TEST_F(FlappingTest, knows_who_has_a_default_name_by_its_host) {
  const auto start = [this](const std::string& pid) {
    Record record = renewal(++id, 500ms);
    record.process = {"box_" + pid + "_" + to_string(ProcessId{id}), "box:1", {}};
    read(record);
  };
  for (const char* const pid : {"10", "11", "12"}) {
    start(pid);
    EXPECT_EQ(members.on_probation(newest()), std::string(pid) == "12");
    die();
  }
  EXPECT_EQ(lasting_name({"box_10_0", "", {}}, ProcessId{7}), "box_10_0");
}

// More likely this process was cut off than that all of one name died.
TEST_F(FlappingTest, deaths_of_members_that_share_a_name_count_as_many) {
  for (int i = 0; i < 3; ++i) read(next());
  live_for(501ms);
  EXPECT_EQ(members.deaths_after(at_ms(0), kNobody), 2u);  // all but the last one
}

}  // namespace
}  // namespace neliroute
