#include "admin/page/slot_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>

namespace neliroute {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::string built(const std::string& name) {
  std::ifstream file(PAGE_FOLDER "/" + name, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(SlotPage, is_what_the_browser_tests_see) {
  EXPECT_EQ(slot_page(), built("slot_page.html"));
  EXPECT_EQ(slot_page_policy(), built("slot_page.csp"));
}

TEST(SlotPage, is_one_page_without_outside_resources) {
  const std::string page(slot_page());
  EXPECT_THAT(page, StartsWith("<!doctype html>"));
  EXPECT_THAT(page, Not(HasSubstr(" src=")));
  EXPECT_THAT(page, Not(HasSubstr("@import")));
  EXPECT_THAT(page, Not(HasSubstr("\nimport ")));
  EXPECT_THAT(page, Not(HasSubstr("\nexport ")));
}

TEST(SlotPage, its_policy_lets_nothing_else_run) {
  const std::string policy(slot_page_policy());
  EXPECT_THAT(policy, StartsWith("default-src 'none'; script-src 'sha256-"));
  EXPECT_THAT(policy, Not(HasSubstr("unsafe")));
}

}  // namespace
}  // namespace neliroute
