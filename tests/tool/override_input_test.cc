#include "tool/operate/override_input.h"

#include <gtest/gtest.h>

namespace neliroute::tool {
namespace {

constexpr SlotPlan kPlan64{1024, 64};

bool says(const Error& error, const std::string& part) {
  return error.message().find(part) != std::string::npos;
}

PartitionRanges whole(const std::string& slots, const SlotPlan& plan, bool widen = false) {
  return whole_partitions(parse_slot_ranges(slots).value(), plan, widen).value();
}

Error refused(const std::string& slots, const SlotPlan& plan) {
  return whole_partitions(parse_slot_ranges(slots).value(), plan, false).error();
}

TEST(OverrideInputTest, SlotsAreRangesInAnyOrder) {
  using Ranges = std::vector<SlotRange>;
  EXPECT_EQ(parse_slot_ranges("7").value(), (Ranges{{7, 7}}));
  EXPECT_EQ(parse_slot_ranges("12,0-9").value(), (Ranges{{0, 9}, {12, 12}}));
  EXPECT_EQ(parse_slot_ranges("5-8,0-4,7").value(), (Ranges{{0, 8}})) << "neighbours are one";
  EXPECT_EQ(parse_slot_ranges("1048575").value(), (Ranges{{1048575, 1048575}}));
}

TEST(OverrideInputTest, WhatIsNoSlotIsNamed) {
  for (const char* text : {"", ",", "1,", "a", "-1", "1-", "0-9;12", "1 2", "4294967296"}) {
    const auto parsed = parse_slot_ranges(text);
    ASSERT_FALSE(parsed) << text;
    EXPECT_TRUE(says(parsed.error(), std::string("SLOTS \"") + text + "\"")) << text;
    EXPECT_TRUE(says(parsed.error(), "as in 0-9,12"));
  }
  EXPECT_TRUE(says(parse_slot_ranges("9-0").error(), "0 is less than 9"));
}

TEST(OverrideInputTest, APartitionIsAllOfItsSlots) {
  EXPECT_EQ(whole("0-7", {8, 8}).to_string(), "0-7") << "a slot each";
  EXPECT_EQ(whole("0,4,1,5", {8, 4}).to_string(), "0-1");
  EXPECT_EQ(whole("0-1023", kPlan64).to_string(), "0-63");
  EXPECT_EQ(whole("5", kPlan64, /*widen=*/true).to_string(), "5");
  EXPECT_EQ(whole("63-65", kPlan64, /*widen=*/true).to_string(), "0-1,63");
  EXPECT_EQ(whole("0,3,6,9", {10, 3}).to_string(), "0") << "partition 0 has one more";
}

TEST(OverrideInputTest, PartOfAPartitionIsRefusedWithWhatIsMissing) {
  const Error error = refused("0,4,1", {8, 4});
  EXPECT_EQ(error.code(), Errc::bad_option);
  EXPECT_TRUE(says(error, "only some of the slots of partition 1,")) << error.message();
  EXPECT_TRUE(says(error, "partition 1 has the slots 1, 5.")) << error.message();
  EXPECT_TRUE(says(error, "--whole for every slot of the partitions 0-1"));
  EXPECT_TRUE(says(refused("0-1", kPlan64), "0, 64, 128, 192, 256, 320, 384, 448, 512, 576, …"));
  EXPECT_TRUE(says(refused("0-6", {10, 3}), "partitions 0-2")) << "9 is missing of partition 0";
}

TEST(OverrideInputTest, ASlotThatDoesNotExistIsRefused) {
  EXPECT_TRUE(says(refused("1000-1024", kPlan64), "slot 1024 does not exist"));
  EXPECT_TRUE(says(refused("1024", kPlan64), "1,024 slots, 0 to 1023"));
  EXPECT_TRUE(says(refused("4294967295", kPlan64), "does not exist"));
}

TEST(OverrideInputTest, PartitionsAsSlots) {
  EXPECT_EQ(slots_text(*PartitionRanges::parse("0-1,3"), {8, 4}), "0-1,3-5,7");
  EXPECT_EQ(slots_text(*PartitionRanges::parse("0-7"), {8, 8}), "0-7");
  EXPECT_EQ(slots_text(*PartitionRanges::parse("2-9"), {4, 4}), "2-3") << "there are 4";
  EXPECT_EQ(slots_text(*PartitionRanges::parse("0"), {10, 3}), "0,3,6,9");
  const SlotPlan big{1 << 16, 64};
  const std::string all = slots_text(*PartitionRanges::parse("0,5"), big);
  EXPECT_EQ(whole(all, big).to_string(), "0,5") << "SLOTS takes it back";
}

TEST(OverrideInputTest, LongRangesAreShortenedForPeople) {
  EXPECT_EQ(shortened("0-9,12"), "0-9,12");
  std::string all = "0";
  for (int i = 2; i < 10'000; i += 2) all += "," + std::to_string(i);
  const std::string text = shortened(all);
  EXPECT_TRUE(text.starts_with("0,2,4,6,")) << text;
  EXPECT_TRUE(text.ends_with(",…")) << text;
  EXPECT_LT(text.size(), 210u);
  EXPECT_LT(parse_slot_ranges(all + ",x").error().message().size(), 300u);
  EXPECT_LT(refused(all, {16'384, 8192}).message().size(), 800u);
  const std::string digits(1000, '7');
  EXPECT_LT(shortened(digits).size(), 210u) << "without a comma";
}

TEST(OverrideInputTest, ANameIsOneThatIsThere) {
  const std::set<std::string> there{"orders-0", "orders-1"};
  EXPECT_TRUE(check_name("orders-1", there, false));
  EXPECT_TRUE(check_name("orders-7", there, /*absent=*/true));
  const Error error = check_name("order-1", there, false).error();
  EXPECT_TRUE(says(error, "no process named order-1 lives; did you mean orders-1?"))
      << error.message();
  EXPECT_TRUE(says(error, "There are: orders-0, orders-1."));
  EXPECT_TRUE(says(error, "--absent"));
  EXPECT_FALSE(check_name("", there, true));
  EXPECT_FALSE(check_name(std::string(256, 'x'), there, true));
  std::set<std::string> many;
  for (int i = 100; i < 130; ++i) many.insert("p" + std::to_string(i));
  EXPECT_TRUE(says(check_name("unlike", many, false).error(), "p109 and 20 more"));
}

TEST(OverrideInputTest, NobodyTakesWhereEachIsCordonedOrOfNoWeight) {
  ShownLane lane;
  EXPECT_FALSE(nobody_takes(lane, {})) << "nobody is there";
  lane.members.resize(3);
  for (const std::size_t i : {0u, 1u, 2u}) lane.members[i].process.name = "p" + std::to_string(i);
  lane.members[2].leaving = true;
  EXPECT_FALSE(nobody_takes(lane, {}));
  StandingOverrides standing;
  standing.cordoned = {"p0"};
  EXPECT_FALSE(nobody_takes(lane, standing));
  standing.weights = {{"p1", 0}};
  EXPECT_TRUE(nobody_takes(lane, standing)) << "a leaver takes nothing";
  standing.weights = {{"p0", 5}};
  lane.members[1].fields.weight = 0;
  EXPECT_TRUE(nobody_takes(lane, standing)) << "a cordon wins; its own weight is 0";
  lane.members[1].fields.weight = 1;
  EXPECT_FALSE(nobody_takes(lane, standing));
}

TEST(OverrideInputTest, ADefaultNameEndsWithItsProcess) {
  EXPECT_TRUE(is_default_name("host-7_4711_00c0ffee12345678"));
  EXPECT_TRUE(is_default_name("a_b_1_fedcba9876543210"));
  for (const char* name : {"orders-0", "host_4711", "_1_fedcba9876543210",
                           "host_x_fedcba9876543210", "host_1_fedcba987654321",
                           "fedcba9876543210", "", "host__fedcba9876543210",
                           "host_1_fedcba987654321g"}) {
    EXPECT_FALSE(is_default_name(name)) << name;
  }
}

}  // namespace
}  // namespace neliroute::tool
