#include "tool/command_line/flags.h"

#include <gtest/gtest.h>
#include <neliroute/error.h>

#include "tool/exec/behind.h"

namespace neliroute::tool {
namespace {

/// What `run` and `gateway` have: their flags are in the rows of their options.
class Flags : public testing::Test {
 protected:
  void SetUp() override {
    add_owner_options(line_, owner_);
    add_behind_options(line_, behind_);
    add_wait_flag(line_, owner_.common);
    ASSERT_FALSE(line_.parse({}));
  }

 private:
  CommandLine line_{{"run", "", "", ""}};
  OwnerOptions owner_;
  BehindOptions behind_;
};

using FlagsTest = Flags;

TEST_F(FlagsTest, StandInPlaceOfOptionsNames) {
  EXPECT_EQ(with_flags("lower `timing.interval` or raise `timing.lease`"),
            "lower --interval or raise --lease");
  EXPECT_EQ(with_flags("`kafka.properties` ssl.key.location: cannot read it"),
            "-X ssl.key.location: cannot read it");
  EXPECT_EQ(with_flags("`tls.authorities` needs `tls.to_owners`"),
            "--upstream-ca needs --upstream-tls");
  EXPECT_EQ(with_flags("`application` and `trusted_peers`, or `missing_topic`"),
            "--upstream and --trust-peers, or --wait");
  EXPECT_EQ(with_flags("`ledger`, or `kafka.brokers`"), "--ledger, or --brokers");
}

TEST_F(FlagsTest, LeaveEverythingElse) {
  for (const char* text : {"", "`", "``", "a `b", "see `neliroute run --help`", "`no.option`"}) {
    EXPECT_EQ(with_flags(text), text);
  }
  EXPECT_EQ(with_flags("`who` is `slots`"), "`who` is --slots");
  EXPECT_EQ(with_flags("a ` and `slots`"), "a ` and --slots");
}

}  // namespace
}  // namespace neliroute::tool
