// Specs, traces, and what a simulation counts.
#include "bench/placements/simulation.h"

#include <gmock/gmock.h>

#include "bench/placements/trace.h"
#include "tests/bench/placements/rig.h"

namespace neliroute::placement {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

TEST(CatalogTest, SpecsAreReadAndWritten) {
  for (const std::string_view text : {"ring:1000", "bounded:1.05", "rendezvous", "maglev:65537",
                                      "uniform-4.0", "least:0.05", "anchor:64"}) {
    ASSERT_TRUE(parse_spec(text)) << text;
    EXPECT_EQ(parse_spec(text)->text(), text);
  }
  EXPECT_EQ(parse_spec("ring:160")->text(), "ring");
  for (const std::string_view text :
       {"", "rings", "ring:", "ring:0", "ring:1.5", "ring:10001", "ring:x", "ring:160x", "ring:-1",
        "rendezvous:3", "bounded:1", "bounded:1e1", "bounded:nan", "least:2", "range:1", ":"}) {
    EXPECT_FALSE(parse_spec(text)) << text;
  }
}

TEST(CatalogTest, WhatCannotServeIsNamed) {
  const std::vector<Member> roster = roster_of(20, 1);
  const auto problem = [](std::string_view spec, const std::vector<Member>& who) {
    return unfit(*parse_spec(spec), {64, 1, who, static_cast<std::uint32_t>(who.size())})
        .value_or("");
  };
  for (const Kind& kind : kinds()) EXPECT_EQ(problem(kind.name, roster), "");
  EXPECT_THAT(problem("anchor:16", roster), HasSubstr("20 members"));
  EXPECT_THAT(problem("dx:16", roster), HasSubstr("20 members"));
  EXPECT_THAT(problem("dx:33", roster), HasSubstr("choose 64"));
  EXPECT_THAT(problem("jump", {{"a", 2}}), HasSubstr("weights"));
  EXPECT_THAT(problem("ring:10000", {{"a", 1000}, {"b", 1000}, {"c"}, {"d"}, {"e"}, {"f"}, {"g"},
                                     {"h"}, {"i"}, {"j"}, {"k"}}),
              HasSubstr("100 million"));
}

/// The sizes of the steps: leaving, crashing, joining.
std::vector<std::string> shape_of(const Trace& trace) {
  std::vector<std::string> shape;
  for (const Step& step : trace.steps) {
    shape.push_back("-" + std::to_string(step.leaving.size()) + "!" +
                    std::to_string(step.crashing.size()) + "+" +
                    std::to_string(step.joining.size()));
  }
  return shape;
}

TEST(TraceTest, BuiltInShapes) {
  const auto shape = [](std::string_view spec) {
    return shape_of(*make_trace(spec, 3, Names::shuffled, 1));
  };
  EXPECT_THAT(shape("join"), ElementsAre("-0!0+3", "-0!0+1"));
  EXPECT_THAT(shape("join:4"), ElementsAre("-0!0+3", "-0!0+4"));
  EXPECT_THAT(shape("leave:2"), ElementsAre("-0!0+3", "-2!0+0"));
  EXPECT_THAT(shape("crash"), ElementsAre("-0!0+3", "-0!1+0"));
  EXPECT_THAT(shape("replace"), ElementsAre("-0!0+3", "-1!0+1"));
  EXPECT_THAT(shape("rolling-aligned"), ElementsAre("-0!0+3", "-1!0+1", "-1!0+1", "-1!0+1"));
  EXPECT_THAT(shape("rolling"), ElementsAre("-0!0+3", "-1!0+0", "-0!0+1", "-1!0+0", "-0!0+1",
                                            "-1!0+0", "-0!0+1"));
  EXPECT_EQ(shape("rolling-named"), shape("rolling"));
  EXPECT_THAT(shape("flap:2"),
              ElementsAre("-0!0+3", "-0!1+0", "-0!0+1", "-0!1+0", "-0!0+1"));
  EXPECT_THAT(shape("zone"), ElementsAre("-0!0+3", "-0!1+0", "-0!0+1"));
  EXPECT_THAT(shape("double"), ElementsAre("-0!0+3", "-0!0+3"));
  EXPECT_EQ(make_trace("rolling", 3, Names::shuffled, 1)->roster.size(), 6U);
  EXPECT_EQ(make_trace("rolling-named", 3, Names::shuffled, 1)->roster.size(), 3U);
}

TEST(TraceTest, EveryBuiltInOneCanBePlayed) {
  for (const TraceKind& kind : trace_kinds()) {
    for (const std::uint32_t members : {1U, 2U, 30U}) {
      for (std::uint64_t seed = 1; seed < 6; ++seed) {
        const Trace trace = *make_trace(kind.name, members, Names::ordered, seed);
        const auto placement = make_placement(
            *parse_spec("rendezvous"), {16, seed, trace.roster, trace.most_members()});
        Simulation simulation(*placement, trace, 1, {});
        std::size_t steps = 0;
        for (; !simulation.done(); ++steps) static_cast<void>(simulation.advance());
        EXPECT_EQ(steps, trace.steps.size());
      }
    }
  }
}

TEST(TraceTest, SeedsAndNames) {
  const auto one = *make_trace("walk", 10, Names::shuffled, 1);
  EXPECT_EQ(one.steps, make_trace("walk", 10, Names::shuffled, 1)->steps);
  EXPECT_NE(one.steps, make_trace("walk", 10, Names::shuffled, 2)->steps);
  EXPECT_EQ(make_trace("join", 1, Names::ordered, 1)->roster[1].name, "node-0000002");
}

TEST(TraceTest, WhatIsNoTrace) {
  for (const std::string_view text : {"", "jon", "join:", "join:0", "join:x", "join:1x", "zone:2",
                                      "leave:11", "replace:11", "crash:11", "join:10001"}) {
    EXPECT_FALSE(make_trace(text, 10, Names::shuffled, 1)) << text;
  }
  EXPECT_TRUE(make_trace("leave:10", 10, Names::shuffled, 1));
}

TEST(TraceFileTest, EventsAtOneTimeAreOneStep) {
  const ParsedTrace parsed = parse_trace(
      "# comment\n0 join a\n0 join b 3  # heavy\r\n\n 1.5\tleave a\n1.5 crash b\n1.5 join c\n"
      "2 join a");
  ASSERT_FALSE(parsed.error) << parsed.error->what;
  EXPECT_THAT(parsed.trace.steps,
              ElementsAre(Step{0, {}, {}, {0, 1}}, Step{1500, {0}, {1}, {2}},
                          Step{2000, {}, {}, {0}}));
  EXPECT_EQ(parsed.trace.roster[1].weight, 3U);
  EXPECT_EQ(parsed.trace.most_members(), 2U);
}

TEST(TraceFileTest, MistakesNameTheirLine) {
  const auto mistake = [](std::string_view text) {
    const ParsedTrace parsed = parse_trace(text);
    return parsed.error ? std::to_string(parsed.error->line) + ": " + parsed.error->what : "none";
  };
  EXPECT_THAT(mistake("0 join a\n\n1 joins b\n"), HasSubstr("3: \"joins\" is no event"));
  EXPECT_THAT(mistake("0 join a\n1s join b\n"), HasSubstr("2: \"1s\" is no time"));
  EXPECT_THAT(mistake("-1 join a\n"), HasSubstr("1: \"-1\" is no time"));
  EXPECT_THAT(mistake("99999999 join a\n"), HasSubstr("is no time"));
  EXPECT_THAT(mistake("5 join a\n4 join b\n"), HasSubstr("2: \"4\" is before"));
  EXPECT_THAT(mistake("0 join\n"), HasSubstr("1: it has 2 words"));
  EXPECT_THAT(mistake("0 join a 1 2\n"), HasSubstr("5 words"));
  EXPECT_THAT(mistake("0 join a 0\n"), HasSubstr("\"0\" is no weight"));
  EXPECT_THAT(mistake("0 join a\n1 leave a 3\n"), HasSubstr("2: only a join"));
  EXPECT_THAT(mistake("0 join a\n1 join a\n"), HasSubstr("2: \"a\" is a member already"));
  EXPECT_THAT(mistake("0 join a\n1 leave b\n"), HasSubstr("2: \"b\" is no member"));
  EXPECT_THAT(mistake("0 join a\n1 leave a\n1 join a\n"), HasSubstr("3: \"a\" comes and goes"));
  EXPECT_THAT(mistake("0 join a\n1 leave a\n2 join a 2\n"), HasSubstr("3: \"a\" had another"));
  EXPECT_THAT(mistake("# nothing\n"), HasSubstr("no event"));
  EXPECT_THAT(mistake(""), HasSubstr("no event"));
}

TEST(SimulationTest, BalanceByWeight) {
  const Balance even = balance_of(std::vector<std::uint64_t>{10, 30},
                                  std::vector<std::uint32_t>{1, 3});
  EXPECT_DOUBLE_EQ(even.peak, 1);
  EXPECT_DOUBLE_EQ(even.cv, 0);
  const Balance odd = balance_of(std::vector<std::uint64_t>{30, 10},
                                 std::vector<std::uint32_t>{1, 1});
  EXPECT_DOUBLE_EQ(odd.peak, 1.5);
  EXPECT_DOUBLE_EQ(odd.cv, .5);
  EXPECT_EQ(balance_of({}, {}).peak, 0);
}

/// The reports of a trace file, 12 partitions of 10 slots each.
std::vector<Report> reports_of(std::string_view spec, std::string_view text, Timing timing) {
  const Trace trace = parse_trace(text).trace;
  const auto placement =
      make_placement(*parse_spec(spec), {12, 1, trace.roster, trace.most_members()});
  std::vector<Report> reports;
  for (Simulation simulation(*placement, trace, 10, timing); !simulation.done();) {
    reports.push_back(simulation.advance());
  }
  return reports;
}

TEST(SimulationTest, CountsInSlots) {
  // Range over B, D, F; then A joins, which moves 6 partitions (hashing.md 4.3), and D crashes.
  const std::string_view text = "0 join B\n0 join D\n0 join F\n1 join A\n2 crash D\n";
  const auto reports = reports_of("range", text, {1.0, 0.1, false});
  ASSERT_EQ(reports.size(), 3U);
  EXPECT_EQ(reports[0].moved, 0U);
  EXPECT_EQ(reports[0].unowned_s, 0);
  EXPECT_DOUBLE_EQ(reports[0].after.peak, 1);
  EXPECT_EQ(reports[1].moved, 60U);
  EXPECT_EQ(reports[1].least, 30U);
  EXPECT_EQ(reports[1].unavoidable, 0U);
  EXPECT_EQ(reports[1].excess, 30U);  // A gets 3 partitions; the other 3 only change places
  EXPECT_EQ(reports[1].gain, 30U);
  EXPECT_EQ(reports[1].members, 4U);
  EXPECT_DOUBLE_EQ(reports[1].unowned_s, 6.0);
  EXPECT_EQ(reports[2].unavoidable, 30U);
  EXPECT_EQ(reports[2].least, 30U);
  EXPECT_DOUBLE_EQ(reports[2].unowned_s,
                   30 * 1.0 + static_cast<double>(reports[2].moved) * 0.1);
  const auto eager = reports_of("range", text, {1.0, 0.1, true});
  EXPECT_DOUBLE_EQ(eager[1].unowned_s, 12.0);
  EXPECT_DOUBLE_EQ(eager[2].unowned_s, 30 + 12.0);
}

TEST(SimulationTest, EverybodyGoesAndSomebodyComes) {
  const auto reports =
      reports_of("rendezvous", "0 join a\n1 leave a\n2 join b\n", {0.5, 0.05, false});
  EXPECT_EQ(reports[1].moved, 120U);
  EXPECT_EQ(reports[1].unavoidable, 120U);
  EXPECT_EQ(reports[1].least, 120U);
  EXPECT_EQ(reports[1].members, 0U);
  EXPECT_EQ(reports[1].after.peak, 0);
  EXPECT_EQ(reports[2].moved, 0U);
  EXPECT_EQ(reports[2].least, 0U);
  EXPECT_EQ(reports[2].gain, 120U);
}

}  // namespace
}  // namespace neliroute::placement
