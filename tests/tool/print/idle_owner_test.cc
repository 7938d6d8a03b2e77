// What an owner that leads nothing says it waits for.

#include "tool/print/idle_owner.h"

#include <gmock/gmock.h>

namespace neliroute::tool {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(WhyIdle, TheLeaseOfAPredecessor) {
  EXPECT_THAT(why_idle({64, 16, {{"a", 48}}, false, milliseconds{2250}}),
              AllOf(HasSubstr("the lease of who led 16 partitions before"), HasSubstr("2.25 s")));
}

TEST(WhyIdle, MoreProcessesThanPartitions) {
  const std::string line = why_idle({2, 0, {{"a", 1}, {"b", 1}}, true, milliseconds{9000}});
  EXPECT_THAT(line, AllOf(HasSubstr("each of the 2 partitions"), HasSubstr("stands by")));
  EXPECT_THAT(why_idle({3, 0, {{"a", 1}, {"b", 1}}, true, milliseconds{9000}}),
              Not(HasSubstr("stands by")))
      << "one is led by nobody";
}

TEST(WhyIdle, OthersThatLeadOrAreGone) {
  EXPECT_THAT(why_idle({64, 0, {{"a\nb", 64}}, true, milliseconds{9000}}),
              HasSubstr("a\\x0ab leads 64 of 64 partitions"));
  EXPECT_THAT(why_idle({64, 0, {{"a", 1}, {"b", 2}, {"c", 3}, {"d", 4}, {"e", 5}}, true, {}}),
              HasSubstr("a leads 1, b leads 2, c leads 3, 2 more lead the rest of 64 partitions"));
}

TEST(WhyIdle, NobodyYet) {
  EXPECT_THAT(why_idle({64, 0, {}, true, {}}), HasSubstr("waits for an assigner to give"));
  EXPECT_THAT(why_idle({64, 0, {}, false, {}}), HasSubstr("waits for the group"));
}

}  // namespace
}  // namespace neliroute::tool
