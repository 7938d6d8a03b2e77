// When a request may connect to an owner that others could not reach.
#include "forward/upstream/caution.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace neliroute::forward {
namespace {

using namespace std::chrono_literals;

struct Cautious : testing::Test {
  static constexpr auto kProbe = Caution::kProbe;
  [[nodiscard]] bool may_connect(bool suspected = true) {
    return caution.may_connect("a:1", suspected, now);
  }
  Caution caution;
  Caution::Clock::time_point now{1h};
};

TEST_F(Cautious, nobody_is_kept_from_an_owner_that_was_reached) {
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(may_connect());
  EXPECT_EQ(caution.size(), 0u);
}

TEST_F(Cautious, one_now_and_then_tries_an_owner_that_was_not) {
  caution.note_failed("a:1", now);
  EXPECT_FALSE(may_connect());
  EXPECT_TRUE(caution.may_connect("b:1", true, now));
  for (int probe = 0; probe < 3; ++probe) {
    now += kProbe - 1ms;
    EXPECT_FALSE(may_connect());
    now += 1ms;
    EXPECT_TRUE(may_connect());
    EXPECT_FALSE(may_connect()) << "one";
  }
}

// At a machine that is gone they take a second each, and those of before end all through it.
TEST_F(Cautious, attempts_that_fail_late_put_the_next_one_off_no_further) {
  caution.note_failed("a:1", now);
  now += kProbe / 2;
  caution.note_failed("a:1", now);
  now += kProbe / 2;
  EXPECT_TRUE(may_connect());
}

TEST_F(Cautious, it_ends_when_one_reaches_the_owner) {
  caution.note_failed("a:1", now);
  now += kProbe;
  EXPECT_TRUE(may_connect());
  caution.note_reached("a:1");
  EXPECT_TRUE(may_connect());
  EXPECT_TRUE(may_connect()) << "although the router has read nothing of it yet";
}

TEST_F(Cautious, it_ends_when_the_owner_has_written_since) {
  caution.note_failed("a:1", now);
  EXPECT_FALSE(may_connect(/*suspected=*/false)) << "the router may not have marked it yet";
  now += Caution::kMarked;
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(may_connect(/*suspected=*/false));
  EXPECT_EQ(caution.size(), 0u);
}

TEST_F(Cautious, it_lasts_as_long_as_the_owner_is_suspected) {
  caution.note_failed("a:1", now);
  now += 30min;
  EXPECT_TRUE(may_connect());
  EXPECT_FALSE(may_connect());
}

TEST_F(Cautious, owners_that_are_gone_for_good_are_forgotten) {
  for (int i = 0; i < 1000; ++i) {
    caution.note_failed("gone:" + std::to_string(i), now);
    now += 1s;
  }
  EXPECT_LE(caution.size(), 61u);
  EXPECT_GE(caution.size(), 59u);
}

}  // namespace
}  // namespace neliroute::forward
