#include "forward/byte_budget.h"

#include <gtest/gtest.h>

namespace neliroute::forward {
namespace {

struct Budgeted : testing::Test {
  ByteBudget budget{100};
  int closed_first = 0;
  int closed_second = 0;
  ByteBudget::Share first{budget, [this] { ++closed_first; }};
  ByteBudget::Share second{budget, [this] { ++closed_second; }};
  ByteBudget::Share third{budget, [] {}};
};

TEST_F(Budgeted, who_has_sent_nothing_for_longest_goes) {
  EXPECT_TRUE(first.take(40, true));
  EXPECT_TRUE(second.take(40, true));
  EXPECT_TRUE(first.take(50, true)) << "it has sent more";
  EXPECT_TRUE(third.take(30, true));
  EXPECT_EQ(closed_first, 0);
  EXPECT_EQ(closed_second, 1);
  EXPECT_EQ(budget.used(), 80u);
}

TEST_F(Budgeted, whose_request_has_come_stays) {
  EXPECT_TRUE(first.take(60, false));
  EXPECT_TRUE(second.take(40, true));
  EXPECT_FALSE(third.take(50, true));
  EXPECT_EQ(closed_first, 0);
  EXPECT_EQ(closed_second, 1);
  EXPECT_EQ(budget.used(), 60u);
  first.release();
  EXPECT_TRUE(third.take(100, true));
}

TEST_F(Budgeted, who_ends_gives_back_what_it_had) {
  {
    ByteBudget::Share ends(budget, [] {});
    EXPECT_TRUE(ends.take(100, true));
  }
  EXPECT_EQ(budget.used(), 0u);
  EXPECT_TRUE(first.take(100, true));
  EXPECT_FALSE(second.take(101, true));
  EXPECT_EQ(closed_first, 1) << "there would have been room for less";
}

}  // namespace
}  // namespace neliroute::forward
