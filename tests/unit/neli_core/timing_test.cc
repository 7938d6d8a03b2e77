// Section 8's arithmetic of durations, checked by hand, and the refusals of options.
#include "neli_core/timing.h"

#include <gtest/gtest.h>

#include <functional>

#include "neli_core/claimed/claim_protocol.h"

namespace neliroute {
namespace {

using namespace std::chrono_literals;

SessionFacts consumer(std::optional<milliseconds> session, std::optional<milliseconds> heartbeat) {
  return {GroupProtocol::consumer, session, heartbeat, {}, {}};
}

SessionFacts classic(std::optional<milliseconds> least = {},
                     std::optional<milliseconds> most = {}) {
  return {GroupProtocol::classic, {}, {}, least, most};
}

TimingRequest request(Mode mode, Profile profile) {
  TimingRequest made;
  made.mode = mode;
  made.profile = profile;
  return made;
}

TimingRequest given(Mode mode, milliseconds session, milliseconds interval, milliseconds lease,
                    milliseconds clock_error) {
  TimingRequest made = request(mode, Profile::balanced);
  made.session = session;
  made.interval = interval;
  made.lease = lease;
  made.clock_error = clock_error;
  return made;
}

void expect_timing(const Result<Timing>& timing, milliseconds session, milliseconds heartbeat,
                   milliseconds interval, milliseconds lease, milliseconds clock_error) {
  ASSERT_TRUE(timing) << timing.error().message();
  EXPECT_EQ(timing->session, session);
  EXPECT_EQ(timing->heartbeat, heartbeat);
  EXPECT_EQ(timing->interval, interval);
  EXPECT_EQ(timing->lease, lease);
  EXPECT_EQ(timing->clock_error, clock_error);
}

TEST(Timing, profiles_with_the_consumer_protocol_non_exclusive) {
  // max(3 x session, session + session/10 + interval + 500)
  const auto of = [](Profile profile) {
    return derive_timing(request(Mode::non_exclusive, profile), consumer({}, {}));
  };
  expect_timing(of(Profile::fast), 500ms, 50ms, 100ms, 1500ms, 100ms);
  expect_timing(of(Profile::balanced), 3000ms, 300ms, 500ms, 9000ms, 150ms);
  expect_timing(of(Profile::steady), 10'000ms, 1000ms, 2000ms, 30'000ms, 500ms);
}

TEST(Timing, profiles_with_the_consumer_protocol_exclusive) {
  // min(0.75 x session, 0.95 x session - e); interval min(profile's, T/4)
  const auto of = [](Profile profile) {
    return derive_timing(request(Mode::exclusive, profile), consumer({}, {}));
  };
  expect_timing(of(Profile::fast), 500ms, 50ms, 93ms, 375ms, 100ms);
  expect_timing(of(Profile::balanced), 3000ms, 300ms, 500ms, 2250ms, 150ms);
  expect_timing(of(Profile::steady), 10'000ms, 1000ms, 1875ms, 7500ms, 500ms);
}

TEST(Timing, a_stock_broker_s_45_s_session_is_in_force_but_exclusive_keeps_the_profile_s_lease) {
  expect_timing(derive_timing(request(Mode::non_exclusive, Profile::balanced),
                              consumer(45'000ms, 5000ms)),
                45'000ms, 5000ms, 500ms, 135'000ms, 2250ms);
  expect_timing(
      derive_timing(request(Mode::exclusive, Profile::balanced), consumer(45'000ms, 5000ms)),
      45'000ms, 5000ms, 500ms, 2250ms, 2250ms);
}

TEST(Timing, exclusive_follows_the_session_in_force_where_the_profile_s_does_not_fit) {
  // e = max(1000/20, 100) = 100; the profile's 2250 + 100 >= 1000; min(750, 950 - 100) = 750.
  expect_timing(
      derive_timing(request(Mode::exclusive, Profile::balanced), consumer(1000ms, 100ms)), 1000ms,
      100ms, 187ms, 750ms, 100ms);
}

TEST(Timing, non_exclusive_follows_the_bound_where_it_is_greater_than_3_sessions) {
  // session 200 + heartbeat 50 + interval 500 + 500 = 1250 > 600; interval min(500, 1250/4 = 312)
  expect_timing(derive_timing(request(Mode::non_exclusive, Profile::balanced),
                              consumer(200ms, 50ms)),
                200ms, 50ms, 312ms, 1250ms, 100ms);
}

TEST(Timing, non_exclusive_mode_serves_on_for_15_minutes_unless_told_otherwise) {
  TimingRequest asked = request(Mode::non_exclusive, Profile::balanced);
  EXPECT_EQ(derive_timing(asked, classic())->serve_stale, 15min);
  asked.serve_stale = 0ms;
  EXPECT_EQ(derive_timing(asked, classic())->serve_stale, 0ms);
  asked.serve_stale = 86'400'001ms;
  EXPECT_FALSE(derive_timing(asked, classic()));
}

TEST(Timing, who_is_exclusive_or_of_variation_broadcast_serves_no_longer_than_its_lease) {
  TimingRequest exclusive = request(Mode::exclusive, Profile::balanced);
  TimingRequest broadcast = request(Mode::non_exclusive, Profile::balanced);
  broadcast.variation = Variation::broadcast;
  for (TimingRequest& asked : {std::ref(exclusive), std::ref(broadcast)}) {
    EXPECT_EQ(derive_timing(asked, classic())->serve_stale, 0ms);
    asked.serve_stale = 0ms;
    EXPECT_TRUE(derive_timing(asked, classic()));
    asked.serve_stale = 1ms;
    const auto refused = derive_timing(asked, classic());
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message().find("timing.serve_stale"), std::string::npos);
  }
}

TEST(Timing, profiles_with_the_classic_protocol) {
  // fast is raised to 2 s: max(6000, 2000 + 200 + 100 + 3500 = 5800)
  const auto fast = derive_timing(request(Mode::non_exclusive, Profile::fast), classic());
  expect_timing(fast, 2000ms, 200ms, 100ms, 6000ms, 100ms);
  ASSERT_EQ(fast->warnings.size(), 1u);
  EXPECT_NE(fast->warnings[0].find("2000 ms instead of the profile's 500 ms"), std::string::npos);
  const auto balanced = derive_timing(request(Mode::non_exclusive, Profile::balanced), classic());
  expect_timing(balanced, 3000ms, 300ms, 500ms, 9000ms, 150ms);
  EXPECT_TRUE(balanced->warnings.empty());
  expect_timing(derive_timing(request(Mode::exclusive, Profile::fast), classic()), 2000ms, 200ms,
                93ms, 375ms, 100ms);
  expect_timing(derive_timing(request(Mode::non_exclusive, Profile::fast), classic(6000ms)),
                6000ms, 600ms, 100ms, 18'000ms, 300ms);
}

TEST(Timing, a_classic_session_given_out_of_bounds_is_refused_with_both_numbers) {
  TimingRequest r = request(Mode::exclusive, Profile::fast);
  r.session = 1999ms;
  const auto low = derive_timing(r, classic());
  ASSERT_FALSE(low);
  EXPECT_NE(low.error().message().find("1999 ms is outside of 2000 ms"), std::string::npos);
  r.session = 5000ms;
  EXPECT_FALSE(derive_timing(r, classic(6000ms)));
  EXPECT_FALSE(derive_timing(r, classic({}, 4000ms)));
  EXPECT_TRUE(derive_timing(r, classic()));
  r.session.reset();
  EXPECT_FALSE(derive_timing(r, classic({}, 1500ms))) << "no session would do";
}

TEST(Timing, a_session_given_that_differs_from_the_broker_s_is_refused_and_named) {
  TimingRequest r = request(Mode::exclusive, Profile::balanced);
  r.session = 3000ms;
  const auto timing = derive_timing(r, consumer(45'000ms, {}));
  ASSERT_FALSE(timing);
  for (const char* part : {"3000 ms", "45000 ms", "consumer.session.timeout.ms"}) {
    EXPECT_NE(timing.error().message().find(part), std::string::npos) << part;
  }
  EXPECT_TRUE(derive_timing(r, consumer(3000ms, {})));
}

TEST(Timing, values_given_are_never_changed) {
  TimingRequest r = given(Mode::exclusive, 3000ms, 400ms, 1200ms, 1700ms);
  expect_timing(derive_timing(r, consumer(3000ms, {})), 3000ms, 300ms, 400ms, 1200ms, 1700ms);
  r = given(Mode::non_exclusive, 3000ms, 700ms, 4500ms, 0ms);
  expect_timing(derive_timing(r, consumer(3000ms, {})), 3000ms, 300ms, 700ms, 4500ms, 0ms);
}

void expect_refused(const TimingRequest& r, const SessionFacts& facts,
                    std::initializer_list<const char*> parts) {
  const auto timing = derive_timing(r, facts);
  ASSERT_FALSE(timing);
  EXPECT_EQ(timing.error().code(), Errc::bad_option);
  for (const char* part : parts) {
    EXPECT_NE(timing.error().message().find(part), std::string::npos)
        << part << " in: " << timing.error().message();
  }
}

TEST(Timing, exclusive_needs_lease_plus_clock_error_below_the_session) {
  TimingRequest r = request(Mode::exclusive, Profile::balanced);
  r.lease = 2850ms;  // + 150 = 3000
  expect_refused(r, consumer({}, {}), {"2850 ms + 150 ms >= 3000 ms"});
  r.lease = 2849ms;
  EXPECT_TRUE(derive_timing(r, consumer({}, {})));
  r.lease.reset();
  r.clock_error = 3000ms;
  expect_refused(r, consumer({}, {}), {"3000 ms leaves no lease"});
}

TEST(Timing, non_exclusive_needs_session_heartbeat_interval_and_a_rebalance) {
  TimingRequest r = request(Mode::non_exclusive, Profile::balanced);
  r.lease = 4299ms;  // 3000 + 300 + 500 + 500
  expect_refused(r, consumer({}, {}), {"4300 ms", "4299 ms"});
  r.lease = 4300ms;
  EXPECT_TRUE(derive_timing(r, consumer({}, {})));
  r.lease = 7299ms;  // 3000 + 300 + 500 + 3500
  expect_refused(r, classic(), {"7300 ms", "7299 ms"});
  r.lease = 7300ms;
  EXPECT_TRUE(derive_timing(r, classic()));
  r.lease = 1ms;  // its own interval is none; that of a lease that is long enough counts
  expect_refused(r, classic(), {"at least 7300 ms", "interval 500 ms", "1 ms"});
}

TEST(Timing, three_intervals_fit_a_lease) {
  TimingRequest r = request(Mode::exclusive, Profile::balanced);
  r.interval = 751ms;
  expect_refused(r, consumer({}, {}), {"3 x 751 ms = 2253 ms > 2250 ms"});
  r.interval = 750ms;
  EXPECT_TRUE(derive_timing(r, consumer({}, {})));
}

TEST(Timing, a_lease_without_room_for_an_interval_is_refused) {
  TimingRequest r = request(Mode::exclusive, Profile::balanced);
  r.lease = 3ms;
  expect_refused(r, consumer({}, {}), {"a lease of 3 ms", "raise `timing.lease`"});
}

TEST(Timing, no_lease_is_longer_than_10_minutes) {
  TimingRequest r = request(Mode::non_exclusive, Profile::steady);
  expect_refused(r, consumer(200'001ms, {}), {"600003 ms", "600000 ms"});
  EXPECT_TRUE(derive_timing(r, consumer(200'000ms, {})));
}

TEST(Timing, absurd_values_are_refused_and_overflow_nothing) {
  for (const milliseconds value : {milliseconds::min(), -1ms, milliseconds::max()}) {
    for (std::optional<milliseconds> TimingRequest::*field :
         {&TimingRequest::session, &TimingRequest::interval, &TimingRequest::lease,
          &TimingRequest::clock_error, &TimingRequest::hang_limit}) {
      for (const Mode mode : {Mode::exclusive, Mode::non_exclusive}) {
        TimingRequest r = request(mode, Profile::balanced);
        r.*field = value;
        expect_refused(r, consumer({}, {}), {std::to_string(value.count()).c_str()});
      }
    }
  }
}

TEST(Timing, who_hangs_for_half_a_session_leaves_with_the_consumer_protocol) {
  const auto of = [](milliseconds session) {
    return derive_timing(request(Mode::non_exclusive, Profile::fast), consumer(session, {}))
        ->hang_limit;
  };
  EXPECT_EQ(of(3000ms), 1500ms);
  EXPECT_EQ(of(45'000ms), 22'500ms);
  EXPECT_EQ(of(500ms), 1000ms) << "librdkafka looks every 500 ms";
}

TEST(Timing, with_classic_librdkafka_allows_no_hang_limit_below_the_session) {
  TimingRequest r = request(Mode::non_exclusive, Profile::balanced);
  EXPECT_EQ(derive_timing(r, classic())->hang_limit, 3000ms);
  r.session = 2000ms;
  EXPECT_EQ(derive_timing(r, classic())->hang_limit, 2000ms);
}

TEST(Timing, the_hang_limit_can_be_raised_but_not_lowered) {
  TimingRequest r = request(Mode::exclusive, Profile::balanced);
  r.hang_limit = 60'000ms;
  EXPECT_EQ(derive_timing(r, consumer(3000ms, {}))->hang_limit, 60'000ms);
  r.hang_limit = 1500ms;
  EXPECT_EQ(derive_timing(r, consumer(3000ms, {}))->hang_limit, 1500ms);
  r.hang_limit = 1499ms;
  expect_refused(r, consumer(3000ms, {}), {"`timing.hang_limit` 1499 ms", "1500 ms", "consumer"});
  r.hang_limit = 2999ms;
  expect_refused(r, classic(), {"`timing.hang_limit` 2999 ms", "3000 ms", "classic"});
}

TEST(Timing, a_watcher_takes_the_profile_s_lease) {
  EXPECT_EQ(watcher_timing(request(Mode::non_exclusive, Profile::fast)).lease, 1500ms);
  EXPECT_EQ(watcher_timing(request(Mode::exclusive, Profile::steady)).lease, 7500ms);
  TimingRequest r = request(Mode::exclusive, Profile::balanced);
  r.session = 45'000ms;
  r.lease = 60'000ms;  // breaks a bound that is not the watcher's
  EXPECT_EQ(watcher_timing(r).lease, 60'000ms);
  for (const milliseconds unfit : {kLeaseMax + 1ms, 99ms}) {
    r.lease = unfit;
    EXPECT_EQ(watcher_timing(r).lease, 2250ms);
  }
}

TimingRequest assigned(Mode mode, Profile profile, std::optional<milliseconds> session = {}) {
  TimingRequest made = request(mode, profile);
  made.assignment = Assignment::assigner;
  made.session = session;
  return made;
}

// Rule A10: max(3 x session, session + 2 x interval + 500); interval min(profile's, session / 5).
TEST(Timing, with_an_assigner_the_session_is_the_process_s_own) {
  const SessionFacts stock = consumer(45'000ms, 5000ms);
  const auto of = [&](Profile profile, std::optional<milliseconds> session = {}) {
    return derive_timing(assigned(Mode::non_exclusive, profile, session), stock);
  };
  expect_timing(of(Profile::fast), 500ms, 0ms, 100ms, 1500ms, 100ms);
  expect_timing(of(Profile::balanced), 3000ms, 0ms, 500ms, 9000ms, 150ms);
  expect_timing(of(Profile::steady), 10'000ms, 0ms, 2000ms, 30'000ms, 500ms);
  expect_timing(of(Profile::balanced, 500ms), 500ms, 0ms, 100ms, 1500ms, 100ms);
  expect_timing(of(Profile::fast, 300ms), 300ms, 0ms, 60ms, 920ms, 100ms);
  expect_timing(derive_timing(assigned(Mode::exclusive, Profile::fast), stock), 500ms, 0ms, 93ms,
                375ms, 100ms);
  EXPECT_EQ(of(Profile::fast)->hang_limit, 500ms) << "who hangs is silent";
}

TEST(Timing, with_an_assigner_what_breaks_a_bound_is_refused_with_both_numbers) {
  const SessionFacts none = consumer({}, {});
  expect_refused(assigned(Mode::non_exclusive, Profile::fast, 299ms), none,
                 {"`timing.session` is 299 ms", "at least 300 ms"});
  expect_refused(assigned(Mode::exclusive, Profile::fast, 601'000ms), none,
                 {"must not exceed 600000 ms", "`timing.session` is 601000 ms"});
  TimingRequest r = assigned(Mode::non_exclusive, Profile::fast);
  r.lease = 1149ms;
  expect_refused(r, none, {"at least 1150 ms", "`timing.lease` is 1149 ms", "2 x session 500 ms"});
  r.lease = 1150ms;
  expect_timing(derive_timing(r, none), 500ms, 0ms, 100ms, 1150ms, 100ms);
  r.interval = 167ms;
  expect_refused(r, none, {"3 x 167 ms = 501 ms > 500 ms", "`timing.interval`"});
  r.interval = 166ms;
  EXPECT_EQ(derive_timing(r, none)->interval, 166ms);
  r.hang_limit = 5000ms;
  expect_refused(r, none, {"`timing.hang_limit`", "leave it out"});
  r = assigned(Mode::exclusive, Profile::fast);
  r.lease = 400ms;
  expect_refused(r, none, {"400 ms + 100 ms >= 500 ms"});
}

// Rule A8: in that time a successor that does not lead is replaced by another.
TEST(Timing, with_an_assigner_a_planned_leave_takes_no_longer_because_leases_are_long) {
  const SessionFacts none = consumer({}, {});
  const auto of = [&](const TimingRequest& r) { return derive_timing(r, none)->drain; };
  EXPECT_EQ(of(assigned(Mode::non_exclusive, Profile::fast)), 3 * 500ms + 4 * 100ms);
  EXPECT_EQ(of(assigned(Mode::exclusive, Profile::fast)), 2 * 375ms + 500ms);
  EXPECT_EQ(of(assigned(Mode::non_exclusive, Profile::balanced)), 11'000ms);
  EXPECT_EQ(of(assigned(Mode::non_exclusive, Profile::steady)), 38'000ms);
  EXPECT_EQ(of(assigned(Mode::exclusive, Profile::steady)), 25'000ms);
  TimingRequest long_lease = assigned(Mode::non_exclusive, Profile::balanced);
  long_lease.lease = 60'000ms;
  EXPECT_EQ(of(long_lease), 11'000ms);
}

TEST(Timing, with_a_group_a_planned_leave_may_take_a_lease_and_a_session_and_ten_seconds_at_most) {
  const auto of = [](Mode mode, Profile profile) {
    return derive_timing(request(mode, profile), consumer({}, {}))->drain;
  };
  EXPECT_EQ(of(Mode::non_exclusive, Profile::fast), 1500ms + 500ms);
  EXPECT_EQ(of(Mode::exclusive, Profile::fast), 375ms + 500ms);
  EXPECT_EQ(of(Mode::non_exclusive, Profile::steady), 10'000ms) << "of 30 s and 10 s";
}

TEST(Timing, with_an_assigner_a_watcher_takes_its_lease) {
  EXPECT_EQ(watcher_timing(assigned(Mode::non_exclusive, Profile::fast, 200ms)).lease, 1500ms);
}

TEST(Timing, profiles_and_protocols_have_names) {
  for (const Profile profile : {Profile::fast, Profile::balanced, Profile::steady}) {
    EXPECT_EQ(parse_profile(to_string(profile)), profile);
  }
  EXPECT_FALSE(parse_profile("quick"));
  EXPECT_EQ(to_string(GroupProtocol::classic), "classic");
  EXPECT_EQ(to_string(GroupProtocol::consumer), "consumer");
}

CoreOptions good() {
  CoreOptions options;
  options.id = ProcessId{1};
  options.settings = {"group", 1024, 64, 4, "xxh3", ""};
  options.process = {"name", "host:1", {}};
  return options;
}

struct BadOption {
  const char* name;
  void (*change)(CoreOptions&);
  const char* says;
};

class BadOptions : public testing::TestWithParam<BadOption> {};

TEST_P(BadOptions, are_refused_and_named) {
  CoreOptions options = good();
  ASSERT_TRUE(ClaimProtocol::make(options));
  GetParam().change(options);
  const auto made = ClaimProtocol::make(options);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().code(), Errc::bad_option);
  EXPECT_NE(made.error().message().find(GetParam().says), std::string::npos)
      << made.error().message();
}

INSTANTIATE_TEST_SUITE_P(
    , BadOptions,
    testing::Values(
        BadOption{"id", [](CoreOptions& o) { o.id = kNobody; }, "id 0"},
        BadOption{"group", [](CoreOptions& o) { o.settings.group.clear(); }, "group"},
        BadOption{"hash", [](CoreOptions& o) { o.settings.hash.clear(); }, "hash"},
        BadOption{"slots", [](CoreOptions& o) { o.settings.slots = 0; }, "slots 0"},
        BadOption{"fewer_slots", [](CoreOptions& o) { o.settings.slots = 63; }, "slots 63"},
        BadOption{"no_partitions", [](CoreOptions& o) { o.settings.partitions = 0; },
                  "partitions 0"},
        BadOption{"partitions",
                  [](CoreOptions& o) { o.settings.slots = o.settings.partitions = 65537; },
                  "partitions 65537: expected 1 to 65536"},
        BadOption{"no_logs", [](CoreOptions& o) { o.settings.logs = 0; }, "logs 0"},
        BadOption{"logs", [](CoreOptions& o) { o.settings.logs = 65; },
                  "logs 65: expected 1 to 64"},
        BadOption{"lane", [](CoreOptions& o) { o.lane = Lane{1024}; }, "lane 1024"},
        BadOption{"interval", [](CoreOptions& o) { o.interval = 0ms; }, "interval"},
        BadOption{"lease", [](CoreOptions& o) { o.lease = 600'001ms; }, "600001 ms"},
        BadOption{"interval_and_lease", [](CoreOptions& o) { o.lease = 1499ms; }, "1499 ms"},
        BadOption{"huge_interval", [](CoreOptions& o) { o.interval = milliseconds::max(); },
                  "interval"},
        BadOption{"clock_error", [](CoreOptions& o) { o.clock_error = -1ms; }, "clock_error -1"},
        BadOption{"huge_clock_error", [](CoreOptions& o) { o.clock_error = milliseconds::max(); },
                  "clock_error"},
        BadOption{"tags",
                  [](CoreOptions& o) { o.process.tags = {{"t", std::string(32768, 'x')}}; },
                  "32768"},
        BadOption{"name", [](CoreOptions& o) { o.process.name = std::string(8000, '\x01'); },
                  "shorten"}),
    [](const auto& instance) { return std::string(instance.param.name); });

TEST(Options, the_greatest_that_are_allowed_are) {
  CoreOptions options = good();
  options.lane = Lane{1023};
  options.lease = 600'000ms;
  options.interval = 200'000ms;
  options.clock_error = 0ms;
  options.settings = {"g", 65536, 65536, 1024, "xxh3", "nonsense"};
  const auto made = ClaimProtocol::make(options);
  ASSERT_TRUE(made) << made.error().message();
  EXPECT_EQ(made->options().settings.mode, "non_exclusive") << "filled in from the mode";
}

}  // namespace
}  // namespace neliroute
