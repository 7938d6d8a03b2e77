// When an application counts as unhealthy, and as healthy again.
#include "tool/upstream/health_rule.h"

#include <gtest/gtest.h>

namespace neliroute::tool {
namespace {

using namespace std::chrono_literals;

constexpr LocalTime at(milliseconds since) { return LocalTime{since}; }

TEST(HealthRule, is_unhealthy_once_nothing_went_well_for_so_long) {
  HealthRule rule(3s, at(0s));
  EXPECT_FALSE(rule.note(true, at(1s)));
  EXPECT_FALSE(rule.note(false, at(2s)));
  EXPECT_FALSE(rule.note(false, at(3999ms)));
  EXPECT_TRUE(rule.healthy());
  EXPECT_TRUE(rule.note(false, at(4s))) << "3 s after the last good answer";
  EXPECT_FALSE(rule.healthy());
  EXPECT_FALSE(rule.note(false, at(5s))) << "said once";
}

TEST(HealthRule, one_good_answer_begins_it_anew) {
  HealthRule rule(3s, at(0s));
  for (int second = 1; second < 60; ++second) {
    EXPECT_FALSE(rule.note(second % 3 == 0, at(second * 1s)));
    EXPECT_TRUE(rule.healthy());
  }
}

TEST(HealthRule, one_bad_answer_after_a_pause_is_not_enough) {
  HealthRule rule(3s, at(0s));
  EXPECT_FALSE(rule.note(true, at(1s)));
  EXPECT_FALSE(rule.note(false, at(100s))) << "this process slept while it waited";
  EXPECT_FALSE(rule.note(true, at(101s)));
  EXPECT_FALSE(rule.note(false, at(200s)));
  EXPECT_TRUE(rule.note(false, at(201s)));
}

TEST(HealthRule, is_healthy_again_after_three_good_answers_in_a_row) {
  HealthRule rule(1s, at(0s));
  EXPECT_FALSE(rule.note(false, at(1s)));
  EXPECT_TRUE(rule.note(false, at(2s)));
  for (int n = 0; n < 5; ++n) {  // it flaps
    EXPECT_FALSE(rule.note(true, at(3s)));
    EXPECT_FALSE(rule.note(true, at(4s)));
    EXPECT_FALSE(rule.note(false, at(5s)));
  }
  EXPECT_FALSE(rule.note(true, at(6s)));
  EXPECT_FALSE(rule.note(true, at(7s)));
  EXPECT_TRUE(rule.note(true, at(8s)));
  EXPECT_TRUE(rule.healthy());
}

TEST(HealthRule, an_answer_is_waited_for_no_longer_than_the_bound) {
  HealthRule rule(3s, at(0s));
  EXPECT_EQ(rule.within(at(0s)), 1500ms);
  EXPECT_EQ(rule.within(at(2s)), 1s) << "what is left";
  EXPECT_EQ(rule.within(at(60s)), 375ms) << "a busy machine answers, too";
  EXPECT_FALSE(rule.note(false, at(60s)));
  EXPECT_TRUE(rule.note(false, at(61s)));
  EXPECT_EQ(rule.within(at(62s)), 1500ms);
}

TEST(HealthRule, asks_a_few_times_within_the_bound) {
  EXPECT_EQ(HealthRule(3s, at(0s)).every(), 500ms);
  EXPECT_EQ(HealthRule(100ms, at(0s)).every(), HealthRule::kEveryLeast);
  EXPECT_EQ(HealthRule(1h, at(0s)).every(), HealthRule::kEveryMost);
}

}  // namespace
}  // namespace neliroute::tool
