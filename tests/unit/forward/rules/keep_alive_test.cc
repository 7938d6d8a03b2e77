#include "forward/rules/keep_alive.h"

#include <gtest/gtest.h>

#include <chrono>
#include <string>

namespace neliroute::forward {
namespace {

using namespace std::chrono_literals;

std::optional<milliseconds> by(const std::string& value) {
  boost::beast::http::fields answer;
  answer.set(boost::beast::http::field::keep_alive, value);
  return kept_by(answer);
}

TEST(KeptBy, is_a_second_less_than_the_timeout) {
  EXPECT_EQ(by("timeout=5"), 4s);
  EXPECT_EQ(by("max=100 , Timeout = 75"), 74s);
  EXPECT_EQ(by("timeout=2"), 1s);
}

TEST(KeptBy, is_half_of_a_timeout_that_is_short) {
  EXPECT_EQ(by("timeout=1"), 500ms);
  EXPECT_EQ(by("timeout=0"), 0ms);
}

TEST(KeptBy, is_bounded) { EXPECT_EQ(by("timeout=4294967295"), 24h - 1s); }

TEST(KeptBy, is_unknown_if_nothing_says_so) {
  EXPECT_EQ(kept_by({}), std::nullopt);
  for (const char* value : {"", "max=5", "timeout", "timeout=", "timeout=-1", "timeout=5s",
                            "timeout=99999999999", "xtimeout=5"}) {
    EXPECT_EQ(by(value), std::nullopt) << value;
  }
}

}  // namespace
}  // namespace neliroute::forward
