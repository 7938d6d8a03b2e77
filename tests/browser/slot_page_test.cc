#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <string>

#include "admin/embedded.h"

namespace neliroute::admin {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

/// By name: what is embedded of the page.
std::map<std::string, std::string> embedded() {
  std::map<std::string, std::string> made;
  for (const EmbeddedFile& file : embedded_files()) {
    if (file.name.starts_with("page/")) made.emplace(file.name.substr(5), file.text);
  }
  return made;
}

TEST(SlotPage, is_what_the_browser_tests_see) {
  std::map<std::string, std::string> sources;
  for (const auto& entry : std::filesystem::directory_iterator(PAGE_FOLDER)) {
    std::ifstream file(entry.path(), std::ios::binary);
    sources[entry.path().filename()] = {std::istreambuf_iterator<char>(file), {}};
  }
  EXPECT_EQ(embedded(), sources) << "no module is forgotten, and each is there byte by byte";
}

TEST(SlotPage, has_no_outside_resources) {
  for (const auto& [name, text] : embedded()) {
    EXPECT_THAT(text, Not(HasSubstr(" src=\"http"))) << name;
    EXPECT_THAT(text, Not(HasSubstr("@import"))) << name;
    EXPECT_THAT(text, Not(HasSubstr(" from \"http"))) << name;
  }
  EXPECT_THAT(embedded()["index.html"], StartsWith("<!doctype html>"));
}

TEST(SlotPage, its_policy_lets_nothing_else_run) {
  const std::string policy = embedded()["policy.txt"];
  EXPECT_THAT(policy, StartsWith("default-src 'none'; script-src 'self'; style-src 'self';"));
  EXPECT_THAT(policy, Not(HasSubstr("unsafe")));
}

}  // namespace
}  // namespace neliroute::admin
