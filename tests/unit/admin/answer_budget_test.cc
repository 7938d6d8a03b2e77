// What counts against the answers that wait for their clients, and for how long.
#include "admin/answer_budget.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "tests/unit/router/view/allocations.h"

namespace neliroute::admin {
namespace {

Text text(std::size_t bytes) { return std::make_shared<const std::string>(bytes, 'x'); }

TEST(AnswerBudget, counts_each_text_once_and_for_as_long_as_any_holds_it) {
  AnswerBudget budget(100);
  const Text shared = text(60);
  AnswerBudget::Held one = budget.hold(shared);
  AnswerBudget::Held other = budget.hold(shared);
  EXPECT_TRUE(one && other);
  EXPECT_EQ(budget.bytes(), 60u);
  EXPECT_FALSE(budget.hold(text(41)));
  EXPECT_TRUE(budget.hold(text(40))) << "and is let go of at once";
  one.reset();
  EXPECT_EQ(budget.bytes(), 60u);
  other.reset();
  EXPECT_EQ(budget.bytes(), 0u);
  EXPECT_TRUE(budget.hold(shared)) << "again";
}

TEST(AnswerBudget, remembers_nothing_of_what_is_not_held) {
  AnswerBudget budget(100);
  std::vector<Text> texts;  // at as many addresses
  for (int i = 0; i < 2000; ++i) texts.push_back(text(i % 2 == 0 ? 100 : 101));
  EXPECT_TRUE(budget.hold(texts[0]));
  const std::uint64_t before = testing_allocations::live_bytes();
  int held = 0;
  for (const Text& one : texts) held += budget.hold(one) != nullptr;
  EXPECT_EQ(held, 1000);
  EXPECT_LT(testing_allocations::live_bytes(), before + 4096);
}

}  // namespace
}  // namespace neliroute::admin
