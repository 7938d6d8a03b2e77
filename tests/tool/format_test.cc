// The library's values in fmt's texts.
#include <gtest/gtest.h>
#include <neliroute/format.h>

namespace neliroute {
namespace {

TEST(FormatTest, ValuesAreFormattedAsTheyPrint) {
  EXPECT_EQ(fmt::format("{} {} {} {} {}", Verdict::local, Epoch{5, 7}, Slot{9}, Partition{3},
                        ProcessId{0xabcd}),
            "local 5:7 9 3 000000000000abcd");
  EXPECT_EQ(fmt::format("{}", Error{Errc::closed, "gone"}), "gone");
}

TEST(FormatTest, TakesTheOptionsOfTextAndOfNumbers) {
  EXPECT_EQ(fmt::format("[{:>8}] [{:<4}] [{:04}]", Verdict::local, Slot{9}, Partition{3}),
            "[   local] [9   ] [0003]");
}

}  // namespace
}  // namespace neliroute
