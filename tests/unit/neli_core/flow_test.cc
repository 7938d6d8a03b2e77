// The flow of a log: differences of stamps, gaps, and when somebody was silent for long enough.
#include "neli_core/log/flow.h"

#include <gtest/gtest.h>

#include <random>

namespace neliroute {
namespace {

using namespace std::chrono_literals;

constexpr milliseconds kSession{1000};

/// A log to which records come in a rhythm.
class FlowTest : public testing::Test {
 protected:
  void read_at(milliseconds stamp) {
    now = stamp;
    flow.read(stamp);
  }
  void read_after(milliseconds step) { read_at(now + step); }
  void run(milliseconds duration, milliseconds step = 200ms) {
    for (const milliseconds end = now + duration; now < end;) read_after(std::min(step, end - now));
  }
  [[nodiscard]] bool silent(const Flow::Mark& mark) const {
    return flow.until_silent(mark, kSession) == 0us;
  }

  Flow flow;
  milliseconds now{0};
};

TEST_F(FlowTest, is_the_difference_of_stamps) {
  read_at(5000ms);
  const Flow::Mark mark = flow.mark(kSession);
  EXPECT_EQ(flow.since(mark), 0us);
  EXPECT_EQ(flow.until_silent(mark, kSession), 1000ms);
  read_at(5200ms);
  read_at(5300ms);
  EXPECT_EQ(flow.since(mark), 300ms);
  EXPECT_EQ(flow.since_gap(mark), std::nullopt);
  EXPECT_EQ(flow.until_silent(mark, kSession), 700ms);
  EXPECT_EQ(flow.total(), 300ms);
}

TEST_F(FlowTest, never_runs_back_where_a_broker_s_clock_does) {
  read_at(5000ms);
  const Flow::Mark mark = flow.mark(kSession);
  read_at(4000ms);
  EXPECT_EQ(flow.since(mark), 0us);
  read_at(4300ms);
  EXPECT_EQ(flow.since(mark), 300ms);
}

TEST_F(FlowTest, half_of_the_silence_is_no_gap_and_more_is_one) {
  read_at(0ms);
  const Flow::Mark mark = flow.mark(kSession);
  read_after(500ms);
  EXPECT_EQ(flow.since_gap(mark), std::nullopt);
  read_after(501ms);
  EXPECT_EQ(flow.since(mark), 1000ms);
  EXPECT_EQ(flow.since_gap(mark), 0us);
  EXPECT_EQ(flow.total(), 1001ms);
}

TEST_F(FlowTest, without_a_gap_a_silence_is_over_at_its_length) {
  read_at(0ms);
  const Flow::Mark mark = flow.mark(kSession);
  run(800ms);
  EXPECT_FALSE(silent(mark));
  run(199ms);
  EXPECT_FALSE(silent(mark));
  run(1ms);
  EXPECT_TRUE(silent(mark));
}

TEST_F(FlowTest, after_a_gap_everybody_has_the_whole_length_again) {
  read_at(0ms);
  const Flow::Mark mark = flow.mark(kSession);
  run(900ms);
  read_after(10'000ms);
  EXPECT_EQ(flow.since(mark), 1400ms);
  EXPECT_EQ(flow.until_silent(mark, kSession), 1000ms);
  run(999ms);
  EXPECT_FALSE(silent(mark));
  run(1ms);
  EXPECT_TRUE(silent(mark));
}

TEST_F(FlowTest, a_gap_before_the_mark_says_nothing) {
  read_at(0ms);
  EXPECT_EQ(flow.mark(kSession).at, 0us);
  read_after(10'000ms);
  const Flow::Mark mark = flow.mark(kSession);
  EXPECT_EQ(flow.since_gap(mark), std::nullopt);
  run(1000ms);
  EXPECT_TRUE(silent(mark));
}

// Everybody's records come in bursts: each burst follows a gap.
TEST_F(FlowTest, gaps_without_end_give_nobody_more_than_three_times_its_length) {
  read_at(0ms);
  const Flow::Mark mark = flow.mark(kSession);
  for (int burst = 0; burst < 5; ++burst) {
    read_after(1600ms);
    read_after(0ms);
    EXPECT_FALSE(silent(mark)) << burst;
  }
  read_after(1600ms);
  EXPECT_TRUE(silent(mark));
}

TEST_F(FlowTest, what_may_have_been_missed_is_a_gap_however_short) {
  read_at(0ms);
  const Flow::Mark mark = flow.mark(kSession);
  run(900ms);
  flow.lost();
  read_after(100ms);
  EXPECT_EQ(flow.since(mark), 1000ms);
  EXPECT_EQ(flow.since_gap(mark), 0us);
  EXPECT_FALSE(silent(mark));
  run(1000ms);
  EXPECT_TRUE(silent(mark));
}

TEST_F(FlowTest, each_length_has_gaps_of_its_own) {
  read_at(0ms);
  const Flow::Mark one = flow.mark(1000ms);
  const Flow::Mark other = flow.mark(4000ms);
  read_after(1500ms);
  EXPECT_EQ(flow.since(one), 500ms);
  EXPECT_EQ(flow.since_gap(one), 0us);
  EXPECT_EQ(flow.since(other), 1500ms);
  EXPECT_EQ(flow.since_gap(other), std::nullopt);
  run(2500ms);
  EXPECT_EQ(flow.until_silent(one, 1000ms), 0us);
  EXPECT_EQ(flow.until_silent(other, 4000ms), 0us);
}

TEST_F(FlowTest, more_lengths_than_an_honest_lane_has_share_clocks) {
  read_at(0ms);
  for (int i = 1; i <= 1000; ++i) {
    const Flow::Mark mark = flow.mark(milliseconds{300 + 2 * i});
    EXPECT_LE(mark.cap, 300ms);
    EXPECT_GE(mark.cap, 151ms);
  }
  const Flow::Mark longest = flow.mark(kLeaseMax);
  EXPECT_EQ(longest.cap, 214ms);
  run(1000ms);
  EXPECT_EQ(flow.since(longest), 1000ms);
}

TEST_F(FlowTest, stamps_of_any_size_are_borne) {
  constexpr milliseconds kGreatest{(std::int64_t{1} << 53) - 1};
  read_at(0ms);
  const Flow::Mark mark = flow.mark(kSession);
  for (int i = 0; i < 1000; ++i) {
    flow.read(kGreatest);
    flow.read(0us);
  }
  EXPECT_EQ(flow.since(mark), 1000 * 500ms);
  EXPECT_EQ(flow.total(), 1000 * kLeaseMax);
}

// What is promised of it: never before the length is over, nor later than three lengths, what
// exceeds the cap in the gaps, and one cap.
TEST_F(FlowTest, keeps_its_bounds_whatever_the_gaps) {
  std::mt19937 random(1);
  const auto any = [&](int least, int most) {
    return milliseconds{std::uniform_int_distribution<int>(least, most)(random)};
  };
  for (int story = 0; story < 2000; ++story) {
    Flow one;
    milliseconds at{0};
    one.read(at);
    const Flow::Mark mark = one.mark(kSession);
    milliseconds excess{0};
    bool gap = false;
    const int chance = std::uniform_int_distribution<int>(0, 100)(random);
    while (one.until_silent(mark, kSession) > 0us) {
      const milliseconds step = any(0, 99).count() < chance ? any(100, 6000) : any(1, 333);
      at += step;
      one.read(at);
      gap = gap || step > kSession / 2;
      excess += std::max(step - kSession / 2, 0ms);
    }
    EXPECT_GE(at, kSession);
    EXPECT_LE(at, (gap ? 3 * kSession : kSession) + excess + kSession / 2) << story;
  }
}

}  // namespace
}  // namespace neliroute
