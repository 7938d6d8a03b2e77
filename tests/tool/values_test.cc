#include "tool/command_line/values.h"

#include <gtest/gtest.h>

#include "tool/command_line/command_line.h"

namespace neliroute::tool {
namespace {

TEST(ValuesTest, DurationsHaveUnits) {
  EXPECT_EQ(parse_duration("250ms").value(), milliseconds{250});
  EXPECT_EQ(parse_duration("3s").value(), milliseconds{3000});
  EXPECT_EQ(parse_duration("1m").value(), milliseconds{60'000});
  EXPECT_EQ(parse_duration("0ms").value(), milliseconds{0});
  EXPECT_EQ(parse_duration("1440m").value(), milliseconds{86'400'000});
  for (const char* text : {"", "3", "ms", "-1s", "1.5s", "1 s", " 1s", "1S", "1h", "1sm", "0x1s",
                           "1441m", "18446744073709551616ms", "18446744073709551615m"}) {
    const auto refused = parse_duration(text);
    ASSERT_FALSE(refused) << text;
    EXPECT_EQ(refused.error().code(), Errc::bad_option);
  }
  EXPECT_EQ(parse_duration("3").error().message(), "3 has no unit; write 3ms, 3s or 3m");
}

TEST(ValuesTest, TimesAreAgoOrWhen) {
  constexpr milliseconds kNow{1'800'000'000'000};  // 2027-01-15T08:00:00Z
  EXPECT_EQ(parse_since("10m", kNow).value(), kNow - milliseconds{600'000});
  EXPECT_EQ(parse_since("0ms", kNow).value(), kNow);
  EXPECT_EQ(parse_since("2027-01-15T08:00:00Z", kNow).value(), kNow);
  EXPECT_EQ(parse_since("2027-01-15 07:59:59.9876Z", kNow).value(), kNow - milliseconds{13});
  EXPECT_EQ(parse_since("2027-01-15T09:30:00+02:00", kNow).value(), kNow - milliseconds{1'800'000});
  EXPECT_EQ(parse_since("2027-01-15T06:00:00.5-01:59", kNow).value(),
            kNow - milliseconds{59'500});
  EXPECT_EQ(parse_since("1970-01-01T00:00:00Z", kNow).value(), milliseconds{0});
  for (const char* text :
       {"", "10", "1h", "2027-01-15", "2027-01-15T08:00:00", "2027-01-15T08:00Z",
        "2027-02-29T00:00:00Z", "2026-13-01T00:00:00Z", "2026-01-01T24:00:00Z",
        "2026-01-01T00:00:00.Z", "2026-01-01T00:00:00+0200", "2026-01-01T00:00:00Zx",
        "2027-01-15T08:00:00.001Z"}) {
    const auto refused = parse_since(text, kNow);
    ASSERT_FALSE(refused) << text;
    EXPECT_EQ(refused.error().code(), Errc::bad_option);
  }
}

TEST(ValuesTest, NumbersAreWholeAndBounded) {
  EXPECT_EQ(parse_number("7", 7, 7).value(), 7u);
  for (const char* text : {"", "6", "8", "+7", "7 ", "7.0", "seven", "18446744073709551623"}) {
    EXPECT_FALSE(parse_number(text, 7, 7)) << text;
  }
}

TEST(ValuesTest, NamesOfTopicsAreKafkas) {
  for (const std::string& good : {std::string("neliroute"), std::string("a.B_c-9"),
                                  std::string("..."), std::string(249, 'x')}) {
    EXPECT_EQ(parse_topic(good).value(), good);
  }
  for (const std::string& bad : {std::string(), std::string("."), std::string(".."),
                                 std::string("a b"), std::string("a/b"), std::string("ключ"),
                                 std::string("a\0b", 3), std::string(250, 'x')}) {
    const auto refused = parse_topic(bad);
    ASSERT_FALSE(refused) << bad;
    EXPECT_EQ(refused.error().code(), Errc::bad_option);
  }
}

TEST(ValuesTest, PropertiesKeepTheirValues) {
  EXPECT_EQ(parse_property("a=b=c").value(), std::pair(std::string("a"), std::string("b=c")));
  EXPECT_EQ(parse_property("a=").value().second, "");
  for (const char* text : {"", "=hunter2", "hunter2"}) {
    const auto refused = parse_property(text);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().message().find("hunter2"), std::string::npos);
  }
}

TEST(ValuesTest, SlotsFitPartitions) {
  EXPECT_TRUE(check_even(SlotCount{1024}, 64, false));
  EXPECT_TRUE(check_even(SlotCount{1000}, 64, true));
  EXPECT_FALSE(check_even(SlotCount{1000}, 64, false));
  EXPECT_FALSE(check_even(SlotCount{63}, 64, true)) << "a partition would carry nothing";
}

TEST(ValuesTest, TextsForPeople) {
  EXPECT_EQ(text_of(milliseconds{0}), "0 ms");
  EXPECT_EQ(text_of(milliseconds{999}), "999 ms");
  EXPECT_EQ(text_of(milliseconds{1500}), "1.5 s");
  EXPECT_EQ(text_of(milliseconds{135'000}), "135 s");
  EXPECT_EQ(text_of(milliseconds{120'000}), "2 min");
  EXPECT_EQ(text_of(std::uint64_t{0}), "0");
  EXPECT_EQ(text_of(std::uint64_t{999}), "999");
  EXPECT_EQ(text_of(std::uint64_t{1'048'576}), "1,048,576");
}

TEST(CommandLineTest, NearestIsNearOrNothing) {
  const std::vector<std::string> names = {"--slots", "--session", "-X"};
  EXPECT_EQ(nearest("--slotz", names), "--slots");
  EXPECT_EQ(nearest("--slot", names), "--slots");
  EXPECT_EQ(nearest("--sesion", names), "--session");
  EXPECT_EQ(nearest("--frobnicate", names), std::nullopt);
  EXPECT_EQ(nearest("rum", {"run", "route"}), "run");
  EXPECT_EQ(nearest("xyz", {"run", "route"}), std::nullopt);
  EXPECT_EQ(nearest("-Y", names), std::nullopt) << "one letter of two is half the word";
}

}  // namespace
}  // namespace neliroute::tool
