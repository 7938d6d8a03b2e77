#include "slots/slot_set.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <string_view>

namespace neliroute {
namespace {

using ::testing::ElementsAre;

constexpr SlotCount kCount{1024};

SlotSet parsed(std::string_view text) {
  const std::optional<SlotSet> set = parse_slot_set(text, SlotCount{kSlotCountMax});
  EXPECT_TRUE(set) << text;
  return set.value_or(SlotSet{});
}

TEST(SlotSetTest, AnEmptySetIsTheEmptyString) {
  EXPECT_TRUE(SlotSet{}.empty());
  EXPECT_EQ(SlotSet{}.size(), 0U);
  EXPECT_EQ(to_string(SlotSet{}), "");
  EXPECT_EQ(parse_slot_set("", kCount), SlotSet{});
  EXPECT_FALSE(SlotSet{}.contains(Slot{0}));
  EXPECT_THAT(SlotSet{}.ranges(), ElementsAre());
}

TEST(SlotSetTest, NeighboursBecomeRanges) {
  SlotSet set;
  for (const std::uint32_t slot : {12U, 3U, 1U, 2U, 0U, 2U}) {
    set.insert(Slot{slot});
  }
  EXPECT_EQ(to_string(set), "0-3,12");
  EXPECT_EQ(set.size(), 5U);
  EXPECT_TRUE(set.contains(Slot{12}));
  EXPECT_FALSE(set.contains(Slot{4}));
  EXPECT_FALSE(set.contains(Slot{100000}));
  EXPECT_THAT(set.ranges(),
              ElementsAre(SlotRange{Slot{0}, Slot{3}}, SlotRange{Slot{12}, Slot{12}}));
}

TEST(SlotSetTest, CanonicalTextGoesBothWays) {
  for (const std::string_view text :
       {"0", "63", "64", "0-1", "63-64", "0-63", "64-127", "62-65,127-128", "0-9,12", "5-1000",
        "0-1048575", "1048575", "0,2,4,6"}) {
    EXPECT_EQ(to_string(parsed(text)), text);
  }
}

TEST(SlotSetTest, OtherSpellingsOfTheSameSetAreTaken) {
  EXPECT_EQ(to_string(parsed("12,0-9")), "0-9,12");
  EXPECT_EQ(to_string(parsed("0-5,3-9")), "0-9");
  EXPECT_EQ(to_string(parsed("0-4,5-9")), "0-9");
  EXPECT_EQ(to_string(parsed("7-7,7")), "7");
  EXPECT_EQ(to_string(parsed("007")), "7");
}

TEST(SlotSetTest, MalformedTextIsRefused) {
  for (const std::string_view text :
       {",",    "1,",    ",1",   "1,,2", "-",     "1-",  "-1",  "1--2", "1-2-3", "9-0",
        " 1",   "1 ",    "1, 2", "1 -2", "a",     "1a",  "0x1", "+1",   "1.0",   "1;2",
        "1024", "0-1024", "4294967296", "4294967297", "99999999999999999999", "1-4294967298"}) {
    EXPECT_FALSE(parse_slot_set(text, kCount)) << '"' << text << '"';
  }
  EXPECT_FALSE(parse_slot_set(std::string_view("1\0", 2), kCount));
  EXPECT_TRUE(parse_slot_set("0-1023", kCount));
}

TEST(SlotSetTest, RandomSetsGoBothWaysAndDifferAsStdSetsDo) {
  std::mt19937_64 random{20240604};
  for (int round = 0; round < 200; ++round) {
    SlotSet sets[2];
    std::set<std::uint32_t> models[2];
    const std::uint64_t limit = 1 + random() % 400;
    for (std::size_t which = 0; which < 2; ++which) {
      const std::uint64_t inserts = random() % 200;
      for (std::uint64_t insert = 0; insert < inserts; ++insert) {
        const auto slot = static_cast<std::uint32_t>(random() % limit);
        sets[which].insert(Slot{slot});
        models[which].insert(slot);
      }
      ASSERT_EQ(sets[which].size(), models[which].size());
      ASSERT_EQ(parsed(to_string(sets[which])), sets[which]);
    }
    const SlotDiff difference = diff(sets[0], sets[1]);
    for (std::uint32_t slot = 0; slot < limit; ++slot) {
      const bool before = models[0].count(slot) != 0;
      const bool after = models[1].count(slot) != 0;
      ASSERT_EQ(sets[0].contains(Slot{slot}), before);
      ASSERT_EQ(difference.gained.contains(Slot{slot}), !before && after);
      ASSERT_EQ(difference.lost.contains(Slot{slot}), before && !after);
    }
    ASSERT_EQ(sets[0] == sets[1], models[0] == models[1]);
  }
}

TEST(SlotSetTest, DiffSaysWhatIsGainedAndWhatIsLost) {
  const SlotDiff difference = diff(parsed("0-9,500"), parsed("5-12"));
  EXPECT_EQ(to_string(difference.gained), "10-12");
  EXPECT_EQ(to_string(difference.lost), "0-4,500");
  EXPECT_EQ(diff(parsed("1-3"), parsed("1-3")), SlotDiff{});
}

TEST(SlotSetTest, ADifferenceEqualsTheSameSetBuiltOtherwise) {
  // Nothing may remain of the words that became empty.
  EXPECT_EQ(parsed("1,1000").minus(parsed("1000")), parsed("1"));
  EXPECT_TRUE(parsed("1,1000").minus(parsed("0-1023")).empty());
  EXPECT_EQ(parsed("1").minus(parsed("1000")), parsed("1"));
}

TEST(SlotSetDeathTest, ARangeThatCannotBeAborts) {
  SlotSet set;
  EXPECT_DEATH(set.insert(SlotRange{Slot{2}, Slot{1}}), "must not run backwards");
  EXPECT_DEATH(set.insert(Slot{kSlotCountMax}), "below 1048576");
}

}  // namespace
}  // namespace neliroute
