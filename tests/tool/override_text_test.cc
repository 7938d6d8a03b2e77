#include "tool/operate/override_text.h"

#include <gtest/gtest.h>

#include <boost/json/serialize.hpp>

namespace neliroute::tool {
namespace {

using boost::json::serialize;

std::string name_of(ProcessId id) { return id == kNobody ? "" : "p" + std::to_string(id.value()); }

OverrideOutcome cordoned() {
  OverrideOutcome outcome;
  outcome.override = {OverrideVerb::cordon, "p2", {}, 0};
  outcome.id = "00000000000000ab";
  outcome.offset = 41;
  outcome.taken_in = outcome.stands = outcome.carried_out = true;
  outcome.took = milliseconds{350};
  outcome.moves = moves_between({ProcessId{1}, ProcessId{2}, ProcessId{2}, kNobody},
                                {ProcessId{1}, ProcessId{1}, ProcessId{1}, ProcessId{3}}, name_of);
  return outcome;
}

TEST(OverrideTextTest, WhatMovedAndHowLongNobodyLed) {
  OverrideOutcome outcome = cordoned();
  EXPECT_EQ(text_of(outcome),
            "cordon p2: carried out in 350 ms\n"
            "  2 partitions from p2 to p1: 1-2\n"
            "  1 partition from nobody to p3: 3\n"
            "  nobody led them for 0.0 ms at most after it was ordered");
  outcome.unowned = microseconds{12'340};
  EXPECT_NE(text_of(outcome).find("nobody led them for 12.3 ms"), std::string::npos);
  EXPECT_EQ(
      serialize(json_of(outcome)),
      R"({"override":"cordon","name":"p2","id":"00000000000000ab","offset":41,"taken_in":true,)"
      R"("stands":true,"carried_out":true,"moves_paused":false,"took_ms":350,"moved":[)"
      R"({"from":"p2","to":"p1","partitions":"1-2"},{"from":null,"to":"p3","partitions":"3"}])"
      R"(,"unowned_ms":13})")
      << "rounded up";
  outcome.unowned = microseconds{0};
  EXPECT_TRUE(serialize(json_of(outcome)).ends_with(R"(,"unowned_ms":0})"));
}

TEST(OverrideTextTest, NothingHadToMove) {
  OverrideOutcome outcome = cordoned();
  outcome.moves.clear();
  EXPECT_EQ(text_of(outcome), "cordon p2: in force in 350 ms; nothing had to move");
  outcome.moves_paused = true;
  EXPECT_NE(text_of(outcome).find("moves are paused"), std::string::npos);
  outcome.carried_out = false;
  EXPECT_EQ(text_of(outcome), "cordon p2: not carried out yet");
}

TEST(OverrideTextTest, WhatWouldMoveAndWhy) {
  OverrideOutcome outcome;
  outcome.override = {OverrideVerb::pin, "p1", *PartitionRanges::parse("0-1"), 0};
  outcome.dry_run = true;
  EXPECT_EQ(text_of(outcome), "pin partitions 0-1 to p1 would move nothing");
  outcome.moves = moves_of({{Partition{0}, ProcessId{2}, ProcessId{1}, placement::Reason::pin},
                            {Partition{1}, ProcessId{2}, ProcessId{1}, placement::Reason::pin},
                            {Partition{5}, ProcessId{1}, ProcessId{2}, placement::Reason::weight}},
                           name_of);
  EXPECT_EQ(text_of(outcome),
            "pin partitions 0-1 to p1 would move 3 partitions\n"
            "  2 partitions from p2 to p1: 0-1 (pin)\n"
            "  1 partition from p1 to p2: 5 (weight)");
  EXPECT_EQ(serialize(json_of(outcome)),
            R"({"override":"pin","name":"p1","partitions":"0-1","dry_run":true,"moves":[)"
            R"({"from":"p2","to":"p1","partitions":"0-1","why":"pin"},)"
            R"({"from":"p1","to":"p2","partitions":"5","why":"weight"}]})");
}

TEST(OverrideTextTest, EachOverrideInWords) {
  EXPECT_EQ(text_of(Override{OverrideVerb::weight, "p1", {}, 3}), "weight p1 3");
  EXPECT_EQ(text_of(Override{OverrideVerb::unweight, "p1", {}, 0}), "weight p1 own");
  EXPECT_EQ(text_of(Override{OverrideVerb::unpin, "", *PartitionRanges::parse("4"), 0}),
            "unpin partitions 4");
  EXPECT_EQ(text_of(Override{OverrideVerb::pause_moves, "", {}, 0}), "pause-moves");
  EXPECT_EQ(text_of(Override{OverrideVerb::cordon, "\x1b[2J", {}, 0}).find('\x1b'),
            std::string::npos);
}

TEST(OverrideTextTest, WhyItIsNotCarriedOut) {
  OverrideOutcome outcome = cordoned();
  outcome.carried_out = false;
  EXPECT_EQ(undone_text(outcome, 3),
            "cordon p2 was written, and stands, but is not carried out after 350 ms: the assigner "
            "has taken it in, but 3 partitions are not where they should be. It goes on by itself; "
            "`neliroute watch` shows how far it is");
  outcome.taken_in = false;
  EXPECT_NE(undone_text(outcome, 0).find("after 350 ms: no assigner has taken it in."),
            std::string::npos);
  outcome.stands = false;
  EXPECT_NE(undone_text(outcome, 0).find("does not stand: another override was written meanwhile"),
            std::string::npos);
}

TEST(OverrideTextTest, TheListOfThoseThatStand) {
  ShownLane lane;
  lane.members.resize(3);
  lane.members[0].process.name = "p1";
  lane.members[1].process.name = lane.members[2].process.name = "twin";
  lane.overrides.cordoned = {"gone", "p1"};
  lane.overrides.weights = {{"twin", 4}};
  lane.overrides.pins = {{"p1", *PartitionRanges::parse("0-1")}};
  lane.overrides.moves_paused = true;
  std::vector<std::string> lines;
  const SlotPlan plan{8, 4};
  for (const StandingOverride& override : list_of(lane)) lines.push_back(text_of(override, plan));
  EXPECT_EQ(lines,
            (std::vector<std::string>{"cordon  gone  (no process has this name now)", "cordon  p1",
                                      "weight  twin  4  (2 processes)",
                                      "pin  p1  partitions 0-1, slots 0-1,4-5", "pause-moves"}));
  EXPECT_EQ(serialize(json_of(list_of(lane)[3], plan)),
            R"({"override":"pin","name":"p1","processes":1,"partitions":"0-1","slots":"0-1,4-5"})");
  EXPECT_EQ(serialize(json_of(list_of(lane)[4], plan)), R"({"override":"pause-moves"})");
  EXPECT_TRUE(list_of({}).empty());
  std::vector<Partition> even;
  for (std::uint32_t p = 0; p < 8192; p += 2) even.push_back(Partition{p});
  const StandingOverride pin{"pin", "p1", std::nullopt, PartitionRanges::of(even), 1};
  const SlotPlan big{16'384, 8192};
  EXPECT_LT(text_of(pin, big).size(), 500u);
  EXPECT_EQ(json_of(pin, big).at("slots").as_string(), slots_text(pin.partitions, big))
      << "all, for `unpin`";
  EXPECT_LT(text_of(Override{OverrideVerb::pin, "p1", pin.partitions, 0}).size(), 250u);
}

}  // namespace
}  // namespace neliroute::tool
