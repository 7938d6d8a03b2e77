// What a process does about its group's session, by what it was asked for and what it found.
#include "ledgers/kafka/group/group_session.h"

#include <gtest/gtest.h>

namespace neliroute {
namespace {

using namespace std::chrono_literals;
using Step = GroupSessionPlan::Step;

// A broker whose floors were lowered, and a group that nobody has touched.
GroupSession lowered() {
  GroupSession found;
  found.brokers = "kafka:9092";
  found.group = "g";
  found.wanted = 3000ms;
  found.session = 45'000ms;
  found.session_floor = 1000ms;
  found.heartbeat_floor = 100ms;
  found.classic_floor = 6000ms;
  found.empty = true;
  return found;
}

GroupSession stock() {
  GroupSession found = lowered();
  found.session_floor = 45'000ms;
  found.heartbeat_floor = 5000ms;
  return found;
}

void expect_says(const std::string& text, std::initializer_list<const char*> words) {
  for (const char* word : words) {
    EXPECT_NE(text.find(word), std::string::npos) << word << " in: " << text;
  }
}

TEST(GroupSession, sets_what_the_floors_allow_for_an_empty_group_without_settings) {
  const auto plan = plan_group_session(lowered());
  EXPECT_EQ(plan.step, Step::set);
  EXPECT_EQ(plan.session, 3000ms);
  EXPECT_EQ(plan.heartbeat, 300ms);
  EXPECT_TRUE(plan.why_not.empty());
}

TEST(GroupSession, asks_for_members_only_when_all_the_rest_allows_it) {
  GroupSession found = lowered();
  found.empty.reset();
  EXPECT_EQ(plan_group_session(found).step, Step::ask_empty);
  found.own_settings = true;
  EXPECT_EQ(plan_group_session(found).step, Step::leave);
}

TEST(GroupSession, the_heartbeat_keeps_to_its_floor_as_long_as_two_may_get_lost) {
  GroupSession found = lowered();
  found.heartbeat_floor = 1000ms;
  EXPECT_EQ(plan_group_session(found).heartbeat, 1000ms);
  found.heartbeat_floor = 1001ms;
  const auto plan = plan_group_session(found);
  EXPECT_EQ(plan.step, Step::leave);
  expect_says(plan.why_not, {"1001 ms", "group.consumer.min.heartbeat.interval.ms=300"});
}

TEST(GroupSession, the_floors_of_a_stock_broker_are_named_with_the_lines_and_the_restart) {
  const auto plan = plan_group_session(stock());
  EXPECT_EQ(plan.step, Step::leave);
  expect_says(plan.why_not,
              {"45000 ms", "5000 ms", "group.consumer.min.session.timeout.ms=3000",
               "group.consumer.min.heartbeat.interval.ms=300", "server.properties", "restart",
               "`group_protocol` classic `timing.session` 6000ms"});
}

TEST(GroupSession, somebodys_choice_and_members_stay_as_they_are) {
  GroupSession own = lowered();
  own.own_settings = true;
  expect_says(plan_group_session(own).why_not, {"of its own", "kafka-configs.sh", "kafka:9092"});
  GroupSession members = lowered();
  members.empty = false;
  EXPECT_EQ(plan_group_session(members).step, Step::leave);
  expect_says(plan_group_session(members).why_not, {"has members", "kafka-configs.sh"});
}

TEST(GroupSession, does_nothing_where_nothing_less_is_wanted_or_nobody_can_tell) {
  GroupSession found = lowered();
  found.wanted.reset();
  EXPECT_EQ(plan_group_session(found).step, Step::leave);
  found.wanted = 45'000ms;
  EXPECT_EQ(plan_group_session(found).step, Step::leave);
  found.wanted = 50'000ms;
  EXPECT_EQ(plan_group_session(found).step, Step::leave);
  EXPECT_TRUE(plan_group_session(found).why_not.empty());
  found = lowered();
  found.session_floor.reset();
  EXPECT_EQ(plan_group_session(found).step, Step::leave);
  found = lowered();
  found.session.reset();
  EXPECT_EQ(plan_group_session(found).step, Step::leave);
}

TEST(GroupSession, a_right_that_is_missing_is_named_with_the_command) {
  expect_says(cannot_set(lowered(), "GROUP_AUTHORIZATION_FAILED"),
              {"GROUP_AUTHORIZATION_FAILED", "ALTER_CONFIGS", "group g",
               "--entity-type groups --entity-name g",
               "consumer.session.timeout.ms=3000,consumer.heartbeat.interval.ms=300"});
}

TEST(GroupSession, a_long_session_that_nobody_asked_for_is_told_with_both_ways_out) {
  GroupSession found = stock();
  found.wanted.reset();
  const auto line = long_session_warning(found);
  ASSERT_TRUE(line);
  expect_says(*line, {"45000 ms", "server.properties", "kafka-configs.sh",
                      "`group_protocol` classic `timing.session` 6000ms",
                      "or `assignment` assigner"});
  EXPECT_EQ(line->find('\n'), std::string::npos);
  found.session_floor = 1000ms;
  found.heartbeat_floor = 100ms;
  const auto allowed = long_session_warning(found);
  ASSERT_TRUE(allowed);
  EXPECT_EQ(allowed->find("server.properties"), std::string::npos) << "the command is enough";
  found.session = 10'000ms;
  EXPECT_FALSE(long_session_warning(found));
  found.session = 45'000ms;
  found.wanted = 45'000ms;
  EXPECT_FALSE(long_session_warning(found)) << "asked for";
}

}  // namespace
}  // namespace neliroute
