// What durations of variation `broadcast` follow from each other, and which options are refused.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "neli_core/timing.h"

namespace neliroute {
namespace {

using testing::HasSubstr;
using namespace std::chrono_literals;

Result<Timing> derive(const TimingRequest& request, milliseconds session = 3s) {
  return derive_timing(request, {GroupProtocol::consumer, session, session / 10, {}, {}});
}

TimingRequest broadcast(Mode mode, Profile profile = Profile::balanced) {
  TimingRequest request;
  request.mode = mode;
  request.profile = profile;
  request.variation = Variation::broadcast;
  return request;
}

std::string refusal(const TimingRequest& request, milliseconds session = 3s) {
  const auto timing = derive(request, session);
  return timing ? "" : timing.error().message();
}

TEST(BroadcastTiming, non_exclusive_T_is_three_sessions) {
  const Timing timing = derive(broadcast(Mode::non_exclusive)).value();
  EXPECT_EQ(timing.lease, 9s);
  EXPECT_EQ(timing.interval, 500ms);
  EXPECT_EQ(timing.local_clock_error, 150ms);
  EXPECT_EQ(timing.clock_error, 0ms);
}

TEST(BroadcastTiming, exclusive_T_leaves_room_for_e) {
  const Timing timing = derive(broadcast(Mode::exclusive)).value();
  EXPECT_EQ(timing.lease, 2250ms);
  TimingRequest request = broadcast(Mode::exclusive);
  request.local_clock_error = 1s;
  EXPECT_EQ(derive(request)->lease, 1850ms);
  // A session in force that is longer than the profile's: the profile's gives a shorter grace.
  EXPECT_EQ(derive(broadcast(Mode::exclusive), 45s)->lease, 600ms)
      << "e is 2.25 s: 0.95 x 3 s - 2.25 s";
}

TEST(BroadcastTiming, groups_that_share_the_topic_have_longer_leases_or_shorter_intervals) {
  TimingRequest request = broadcast(Mode::non_exclusive);
  request.groups = 10;
  EXPECT_EQ(derive(request)->lease, 20s);
  EXPECT_EQ(derive(request)->interval, 500ms);
  request.mode = Mode::exclusive;
  EXPECT_EQ(derive(request)->interval, 56ms) << "2250 / 40";
}

TEST(BroadcastTiming, given_values_are_refused_with_both_numbers) {
  TimingRequest request = broadcast(Mode::non_exclusive);
  request.lease = 3s;
  EXPECT_THAT(refusal(request), HasSubstr("lease > session, but 3000 ms <= 3000 ms"));
  request.mode = Mode::exclusive;
  request.lease = 2900ms;
  EXPECT_THAT(refusal(request), HasSubstr("2900 ms + 150 ms >= 3000 ms"));
  request.lease.reset();
  request.local_clock_error = 2900ms;
  EXPECT_THAT(refusal(request), HasSubstr("leaves no lease beside a local clock error of 2900 ms"));
  request = broadcast(Mode::non_exclusive);
  request.lease = 4s;
  request.interval = 1s;
  request.groups = 2;
  EXPECT_THAT(refusal(request), HasSubstr("3 x 1000 ms x 2 = 6000 ms > 4000 ms"));
  request.lease = 11min;
  EXPECT_THAT(refusal(request), HasSubstr("above the limit of 600000 ms"));
}

TEST(BroadcastTiming, options_of_the_other_variation_are_refused) {
  TimingRequest request = broadcast(Mode::exclusive);
  request.clock_error = 100ms;
  EXPECT_THAT(refusal(request), HasSubstr("say `timing.local_clock_error`"));
  request = {};
  request.local_clock_error = 100ms;
  EXPECT_THAT(refusal(request),
              HasSubstr("`timing.local_clock_error` is of `variation` broadcast only"));
  request = {};
  request.groups = 2;
  EXPECT_THAT(refusal(request), HasSubstr("`timing.groups` is of `variation` broadcast only"));
}

TEST(BroadcastTiming, a_watcher_has_a_lease_whatever_it_is_told) {
  TimingRequest request = broadcast(Mode::exclusive);
  request.clock_error = 100ms;
  request.groups = 0;
  EXPECT_GT(watcher_timing(request).lease, 0ms);
  request.variation = Variation::claimed;
  EXPECT_GT(watcher_timing(request).lease, 0ms);
}

}  // namespace
}  // namespace neliroute
