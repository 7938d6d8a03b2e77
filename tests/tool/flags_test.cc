#include "tool/command_line/flags.h"

#include <gtest/gtest.h>
#include <neliroute/error.h>

namespace neliroute::tool {
namespace {

TEST(FlagsTest, StandInPlaceOfOptionsNames) {
  EXPECT_EQ(with_flags("lower `timing.interval` or raise `timing.lease`"),
            "lower --interval or raise --lease");
  EXPECT_EQ(with_flags("`kafka.properties` ssl.key.location: cannot read it"),
            "-X ssl.key.location: cannot read it");
  EXPECT_EQ(with_flags("`tls.authorities` needs `tls.to_owners`"),
            "--upstream-ca needs --upstream-tls");
  EXPECT_EQ(with_flags(Error{Errc::ledger_unreachable}.message()),
            "no broker answered in time; check --brokers, and that Kafka runs");
}

TEST(FlagsTest, LeaveEverythingElse) {
  for (const char* text : {"", "`", "``", "a `b", "see `neliroute run --help`", "`no.option`"}) {
    EXPECT_EQ(with_flags(text), text);
  }
  EXPECT_EQ(with_flags("`who` is `slots`"), "`who` is --slots");
  EXPECT_EQ(with_flags("a ` and `slots`"), "a ` and --slots");
}

}  // namespace
}  // namespace neliroute::tool
