#include <gtest/gtest.h>

#include <neliroute/hash.h>

#include <string_view>

namespace neliroute {
namespace {

struct TagCase {
  std::string_view key;
  std::string_view hashed;
};

// The first nine are those of Redis's cluster specification.
constexpr TagCase kCases[] = {
    {"{user1000}.following", "user1000"},
    {"{user1000}.followers", "user1000"},
    {"foo{}{bar}", "foo{}{bar}"},
    {"foo{{bar}}zap", "{bar"},
    {"foo{bar}{zap}", "bar"},
    {"{}x", "{}x"},
    {"{x", "{x"},
    {"foo{{bar}}", "{bar"},
    {"foo{a}{b}", "a"},
    {"", ""},
    {"plain", "plain"},
    {"{", "{"},
    {"}", "}"},
    {"{}", "{}"},
    {"}{", "}{"},
    {"}a{b}c", "b"},
    {"a}b{c", "a}b{c"},
    {"{a}", "a"},
    {"x{a}", "a"},
    {"{{}}", "{"},
    {"{ }", " "},
    {std::string_view("a\0{b\0c}d", 8), std::string_view("b\0c", 3)},
};

TEST(HashTagTest, FollowsTheRulesOfRedis) {
  for (const TagCase& tag_case : kCases) {
    EXPECT_EQ(hash_tag(tag_case.key), tag_case.hashed) << tag_case.key;
  }
}

TEST(HashTagTest, PointsIntoTheKey) {
  constexpr std::string_view kKey = "x{tag}y";
  EXPECT_EQ(hash_tag(kKey).data(), kKey.data() + 2);
}

TEST(HashTagTest, TakesAViewOfNothing) { EXPECT_TRUE(hash_tag(std::string_view{}).empty()); }

}  // namespace
}  // namespace neliroute
