// The runner of stories: what it must not let pass.
#include <gtest/gtest.h>

#include "tests/scenarios/director.h"
#include "tests/scenarios/script.h"

namespace neliroute::scenario {
namespace {

constexpr const char* kStory = R"(# Prose.

ledger non_exclusive
start a
----
  interval 500 ms, lease 9000 ms, clock error 150 ms, session 3000 ms
       0     a   joins the group

# More prose.

run 1s
----
(nothing happens)
# A last word.
)";

Result<std::vector<Difference>> run(Script& script) {
  Director director;
  return perform(script, [&](const std::string& command) { return director.perform(command); });
}

std::string error_of(const std::string& commands) {
  auto script = Script::parse(commands + "\n----\n");
  if (!script) return script.error().message();
  const auto differences = run(*script);
  return differences ? "" : differences.error().message();
}

TEST(Script, stays_as_it_is_where_all_is_as_expected) {
  const std::string story = std::string(kStory).substr(0, std::string(kStory).rfind("# A last"));
  auto script = Script::parse(story + "\n# A last word.\n");
  ASSERT_TRUE(script);
  const auto differences = run(*script);
  ASSERT_TRUE(differences);
  EXPECT_TRUE(differences->empty());
  EXPECT_EQ(script->to_string(), story + "\n# A last word.\n");
}

TEST(Script, takes_what_follows_a_result_up_to_a_blank_line_for_expected) {
  auto script = Script::parse(kStory);
  ASSERT_TRUE(script);
  const auto differences = run(*script);
  ASSERT_TRUE(differences);
  ASSERT_EQ(differences->size(), 1u);
  EXPECT_EQ(differences->front().line, 11u);
}

TEST(Script, tells_and_rewrites_what_went_otherwise) {
  std::string story = kStory;
  story.replace(story.find("joins"), 5, "skips");
  auto script = Script::parse(story);
  ASSERT_TRUE(script);
  const auto differences = run(*script);
  ASSERT_TRUE(differences);
  ASSERT_EQ(differences->size(), 2u);
  EXPECT_EQ(differences->front().line, 3u);
  EXPECT_NE(differences->front().text.find("a   skips the group"), std::string::npos);
  EXPECT_NE(differences->front().text.find("a   joins the group"), std::string::npos);
  EXPECT_NE(script->to_string().find("a   joins the group\n\n# More prose."), std::string::npos);
  auto again = run(*script);
  ASSERT_TRUE(again);
  EXPECT_TRUE(again->empty());
}

TEST(Script, refuses_what_is_no_story) {
  EXPECT_FALSE(Script::parse(""));
  EXPECT_FALSE(Script::parse("# prose alone\n"));
  EXPECT_FALSE(Script::parse("run 1s\n"));
  EXPECT_FALSE(Script::parse("run 1s\n\n----\n"));
}

TEST(Director, names_the_line_of_a_command_that_makes_no_sense) {
  EXPECT_EQ(error_of("ledger non_exclusive\nstart a\nassing a 0"),
            "line 3: assing a 0: unknown command");
}

TEST(Director, refuses_what_makes_no_sense) {
  const std::string begin = "ledger exclusive\nstart a\n";
  EXPECT_NE(error_of("run 1s"), "");
  EXPECT_NE(error_of("ledger shared"), "");
  EXPECT_NE(error_of("ledger exclusive color=red"), "");
  for (const char* command :
       {"start a", "assign b 0", "assign a 0..1", "run 0s", "run 5", "resume a", "heal b",
        "finish-barrier a 0", "arrive a", "topic created", "log 1", "route a 16", "cut a all",
        "run 1s 2s", "start c mode=both"}) {
    EXPECT_NE(error_of(begin + command), "") << command;
  }
  EXPECT_NE(error_of(begin + "pause a\nassign a 0"), "");
  EXPECT_NE(error_of(begin + "crash a\ncrash a"), "");
  EXPECT_NE(error_of(begin + "cut a coordinator\nrevoke a 0"), "");
  EXPECT_EQ(error_of(begin + "cut a coordinator\nlost a 0"), "");
}

TEST(Director, refuses_of_an_assigner_what_is_the_groups_and_the_reverse) {
  const std::string begin = "ledger exclusive assignment=assigner logs=2\nstart a\n";
  EXPECT_EQ(error_of(begin + "start b weight=2\nstart c cut=log1\ncut a log0\nheal everyone"), "");
  for (const char* command : {"assign a 0", "revoke a 0", "lost a 0", "cut a log2",
                              "cut everyone logs", "start b cut=log2", "start b weight=-1"}) {
    EXPECT_NE(error_of(begin + command), "") << command;
  }
  EXPECT_NE(error_of("ledger exclusive assignment=quorum"), "");
  EXPECT_NE(error_of("ledger exclusive\nstart a weight=2"), "");
}

TEST(Director, names_the_process_that_assigns) {
  Director director;
  ASSERT_TRUE(director.perform("ledger non_exclusive assignment=assigner"));
  ASSERT_TRUE(director.perform("start a"));
  auto lines = director.perform("who");
  ASSERT_TRUE(lines);
  EXPECT_EQ(lines->back(), "  assigner: a");
  ASSERT_TRUE(director.perform("pause a"));
  lines = director.perform("who");
  ASSERT_TRUE(lines);
  EXPECT_EQ(lines->back(), "  assigner: nobody");
}

// The assumption on clocks broken: the one way to two leaders that a story can take.
TEST(Director, an_overlap_in_exclusive_mode_is_an_error_whatever_was_expected) {
  for (const std::string how : {"", " overlap=expected"}) {
    Director director;
    for (const std::string& command :
         {"ledger exclusive" + how, std::string("start a"), std::string("assign a 0"),
          std::string("run 3s"), std::string("cut a log"), std::string("broker-clock +1h"),
          std::string("start c"), std::string("assign c 0"), std::string("run 1s")}) {
      ASSERT_TRUE(director.perform(command)) << command;
    }
    EXPECT_EQ(director.verdict().has_value(), how.empty());
    ASSERT_TRUE(director.perform("ledger exclusive"));
    EXPECT_EQ(director.verdict().has_value(), how.empty()) << "a new ledger makes it no better";
  }
}

}  // namespace
}  // namespace neliroute::scenario
