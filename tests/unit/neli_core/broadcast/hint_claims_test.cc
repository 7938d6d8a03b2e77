// Claims that travel beside the records of `broadcast`: found by others, needed by nobody.
#include "neli_core/broadcast/hint_claims.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/neli_core/broadcast/broadcast_rig.h"

namespace neliroute {
namespace {

using broadcast_rig::kP0;
using broadcast_rig::options_of;
using broadcast_rig::Process;
using broadcast_rig::with_hints;
using broadcast_rig::World;
using testing::HasSubstr;
using namespace std::chrono_literals;

TEST(HintClaims, who_leads_claims_and_then_renews_at_every_beat) {
  World world;
  Process& a = world.add(with_hints());
  world.pass(5s);
  EXPECT_TRUE(world.beside(RecordType::claim).empty()) << "it leads nothing";
  world.assign(a, "0-2");
  world.pass(549ms);
  EXPECT_TRUE(world.beside(RecordType::claim).empty()) << "others may come with it";
  world.pass(1ms);
  ASSERT_EQ(world.beside(RecordType::claim).size(), 1u) << "one for all of them";
  const Record claim = world.beside(RecordType::claim)[0];
  EXPECT_EQ(claim.parts->to_string(), "0-2");
  EXPECT_EQ(claim.process.name, "alpha");
  EXPECT_EQ(claim.lease, 9s);
  ASSERT_TRUE(claim.settings);
  EXPECT_EQ(claim.settings->variation, "broadcast");
  const std::size_t before = world.beside(RecordType::renewal).size();
  EXPECT_GE(before, 1u) << "by it others learn who leads: at once";
  world.pass(10s);
  const auto renewals = world.beside(RecordType::renewal);
  EXPECT_EQ(renewals.size(), before + 20);
  EXPECT_EQ(renewals.back().leading.to_string(), "0-2");
  ASSERT_EQ(renewals.back().epochs.size(), 1u);
  EXPECT_EQ(renewals.back().epochs[0].parts.to_string(), "0-2");
  EXPECT_EQ(world.beside(RecordType::claim).size(), 1u);
}

TEST(HintClaims, who_drains_says_so_and_who_stopped_releases) {
  World world;
  Process& a = world.add(with_hints());
  world.assign(a, "0");
  world.pass(1s);
  world.revoke(a, "0");
  world.pass(1s);
  EXPECT_EQ(world.beside(RecordType::renewal).back().draining.to_string(), "0");
  EXPECT_TRUE(world.beside(RecordType::release).empty());
  world.pass(9s);
  ASSERT_EQ(world.beside(RecordType::release).size(), 1u);
  const Record release = world.beside(RecordType::release)[0];
  EXPECT_EQ(release.epochs, world.beside(RecordType::renewal).back().epochs);
}

TEST(HintClaims, nobody_leads_less_because_claims_are_lost) {
  World world;
  Process& a = world.add(with_hints());
  a.fail_writes = true;
  world.assign(a, "0");
  world.pass(30s);
  EXPECT_TRUE(world.leads(a));
  EXPECT_EQ(a.core.counters().lapses, 0u);
  EXPECT_TRUE(world.beside(RecordType::claim).empty());
  a.fail_writes = false;
  world.pass(1s);
  EXPECT_EQ(world.beside(RecordType::claim).size(), 1u) << "written again";
  EXPECT_FALSE(world.beside(RecordType::renewal).empty());
}

TEST(HintClaims, a_claim_that_never_comes_back_is_written_again_after_two_leases) {
  World world;
  Process& a = world.add(with_hints());
  a.lose_writes = true;
  world.assign(a, "0");
  world.pass(1s);
  a.lose_writes = false;
  world.pass(16s);
  EXPECT_TRUE(world.beside(RecordType::claim).empty());
  world.pass(2s);
  EXPECT_EQ(world.beside(RecordType::claim).size(), 1u);
}

TEST(HintClaims, a_claim_that_comes_back_when_it_is_over_is_released) {
  World world;
  Process& a = world.add(with_hints(Mode::exclusive));
  world.assign(a, "0");
  world.pass(1900ms);
  a.lose_writes = true;
  world.pass(500ms);
  ASSERT_TRUE(world.leads(a));
  a.lose_writes = false;
  world.revoke(a, "0");
  Record claim;
  claim.id = a.core.options().core.id;
  claim.seq = 1;
  claim.parts = LogParts::parse("0");
  claim.lease = 2s;
  world.append(kP0, world.broker_now(), encode_record(claim));
  world.pass(1s);
  ASSERT_EQ(world.beside(RecordType::release).size(), 1u);
  EXPECT_TRUE(world.beside(RecordType::renewal).empty());
}

TEST(HintClaims, non_exclusive_who_leaves_stops_when_the_successor_says_that_it_leads) {
  World world;
  Process& a = world.add(with_hints());
  Process& b = world.add(with_hints());
  world.assign(a, "0");
  world.pass(1s);
  world.step(a, CloseRequested{world.now() + 20s});
  EXPECT_TRUE(world.leads(a));
  world.assign(b, "0");
  world.pass(600ms);
  EXPECT_TRUE(world.leads(b));
  EXPECT_FALSE(world.leads(a)) << "not T later";
  EXPECT_TRUE(a.closed);
  EXPECT_EQ(a.transitions.back().reason, StopReason::closed);
  EXPECT_EQ(world.beside(RecordType::release).size(), 1u);
}

// Found by the simulator: the one that led for a moment, long ago, was taken for a successor.
TEST(HintClaims, who_leaves_waits_for_a_successor_that_still_leads) {
  World world;
  Process& a = world.add(with_hints());
  Process& b = world.add(with_hints());
  world.assign(a, "0");
  world.pass(1s);
  world.revoke(a, "0");
  world.assign(b, "0");
  world.pass(1s);
  ASSERT_TRUE(world.leads(b));
  world.revoke(b, "0");
  world.assign(a, "0");
  world.pass(20s);
  ASSERT_FALSE(world.leads(b));
  world.step(a, CloseRequested{world.now() + 20s});
  world.pass(1s);
  EXPECT_TRUE(world.leads(a)) << "nobody else does";
  world.assign(b, "0");
  world.pass(600ms);
  EXPECT_TRUE(world.leads(b));
  EXPECT_FALSE(world.leads(a));
}

TEST(HintClaims, the_last_release_comes_with_the_goodbye) {
  World world;
  Process& a = world.add(with_hints(Mode::exclusive));
  world.assign(a, "0");
  world.pass(3s);
  ASSERT_TRUE(world.leads(a));
  world.step(a, CloseRequested{world.now()});
  EXPECT_TRUE(a.closed);
  EXPECT_EQ(world.beside(RecordType::release).size(), 1u);
}

// Others believe the newest claim only; without this the old owner would never be found again.
TEST(HintClaims, who_gets_a_partition_back_while_it_drains_claims_anew) {
  World world;
  Process& a = world.add(with_hints());
  Process& b = world.add(with_hints());
  world.assign(a, "0");
  world.pass(1s);
  world.revoke(a, "0");
  world.assign(b, "0");
  world.pass(1s);
  ASSERT_TRUE(world.leads(b));
  world.revoke(b, "0");
  world.assign(a, "0");
  world.pass(5s);
  EXPECT_EQ(world.beside(RecordType::claim).size(), 2u) << "the other one still drains";
  world.pass(9s);
  const auto claims = world.beside(RecordType::claim);
  ASSERT_EQ(claims.size(), 3u);
  EXPECT_EQ(claims[2].id, a.core.options().core.id);
  EXPECT_EQ(a.count(TransitionKind::stopped), 0u);
}

TEST(HintClaims, after_a_gap_it_claims_anew_and_above_what_it_knew) {
  World world;
  Process& a = world.add(with_hints());
  world.assign(a, "0");
  world.pass(1s);
  const std::int64_t incarnation = world.beside(RecordType::renewal).back().incarnation;
  world.step(a, GapFound{Log{0}, GapReason::replaced});
  EXPECT_TRUE(world.leads(a));
  world.pass(2s);
  EXPECT_EQ(world.beside(RecordType::claim).size(), 1u) << "the log is not read yet";
  // The topic was made again: what is read back stands at an offset below the old one.
  World anew;
  Process& b = anew.add(with_hints());
  anew.assign(b, "0");
  Record foreign;
  foreign.id = ProcessId{77};
  foreign.incarnation = incarnation + 1'000'000;
  foreign.epochs = {{5000, *LogParts::parse("0")}};
  foreign.type = RecordType::renewal;
  foreign.lease = 9s;
  anew.append(kP0, anew.broker_now(), encode_record(foreign));
  anew.pass(3s);
  const auto renewals = anew.beside(RecordType::renewal);
  EXPECT_EQ(renewals.back().incarnation, foreign.incarnation + 1);
  EXPECT_EQ(renewals.back().id, b.core.options().core.id);
}

// "Records carry nothing, so settings cannot be compared unless claims travel beside them."
TEST(HintClaims, settings_are_compared_with_the_records_beside) {
  for (const bool hints : {true, false}) {
    World world;
    Process& a = world.add(with_hints());
    world.assign(a, "0-3");
    world.pass(2s);
    BroadcastOptions other = options_of();
    other.hints = hints;
    other.core.settings.slots = 128;
    Process& b = world.add(other);
    world.pass(2s);
    EXPECT_EQ(b.refused.has_value(), hints);
    EXPECT_EQ(b.subscribed, !hints) << "compared before it takes part";
    if (!hints) continue;
    EXPECT_EQ(b.refused->code(), Errc::settings_conflict);
    EXPECT_THAT(b.refused->message(), HasSubstr("slots is 128 here, but 64 in the running group"));
    EXPECT_TRUE(world.leads(a));
    EXPECT_FALSE(a.refused) << "the senior stays";
  }
}

TEST(HintClaims, a_process_of_the_other_variation_is_refused) {
  World world;
  Process& a = world.add(with_hints());
  world.assign(a, "0");
  world.pass(1s);
  ASSERT_EQ(world.beside(RecordType::renewal).back().settings->variation, "broadcast");
  SettingsAgreement claimed([&] {
    Settings settings = a.core.options().core.settings;
    settings.variation = "claimed";
    return settings;
  }(), Lane{0});
  claimed.note(world.beside(RecordType::renewal).back(), BrokerTime{1s}, 9s, world.now(), true);
  const auto error = claimed.conflict(std::nullopt, world.now());
  ASSERT_TRUE(error);
  EXPECT_THAT(error->message(), HasSubstr("variation is claimed here, but broadcast"));
}

TEST(HintClaims, who_cannot_read_the_log_joins_after_3_s_all_the_same) {
  auto core = Broadcast::make(with_hints()).value();
  core.tick(LocalTime{1s});
  EXPECT_FALSE(core.take_ready().subscribe);
  EXPECT_LE(core.next_deadline(), LocalTime{4s});
  core.tick(LocalTime{4s} - 1us);
  EXPECT_FALSE(core.take_ready().subscribe);
  core.tick(LocalTime{4s});
  EXPECT_TRUE(core.take_ready().subscribe);
}

TEST(HintClaims, the_variation_stands_in_a_record_only_where_it_is_not_claimed) {
  Record record;
  record.parts = LogParts::parse("0");
  record.settings = options_of().core.settings;
  record.settings->mode = "exclusive";
  EXPECT_EQ(encode_record(record).find("variation"), std::string::npos);
  EXPECT_EQ(std::get<Record>(decode_record(encode_record(record))).settings->variation, "claimed");
  record.settings->variation = "broadcast";
  EXPECT_EQ(std::get<Record>(decode_record(encode_record(record))), record);
}

// A lane of `claimed` in the same topic relies on every record to repeat what others rely on.
TEST(HintClaims, records_carry_the_longest_lease_and_the_greatest_incarnation_of_every_lane) {
  World world;
  Process& a = world.add(with_hints());
  Record other;
  other.type = RecordType::renewal;
  other.lane = Lane{1};
  other.id = ProcessId{77};
  other.incarnation = other.max_incarnation = world.broker_now().time_since_epoch().count() + 5'000;
  other.lease = 20s;
  other.max_lease = 60s;
  world.append(kP0, world.broker_now(), encode_record(other));
  world.assign(a, "0");
  world.pass(2s);
  ASSERT_FALSE(world.beside(RecordType::claim).empty());
  const Record claim = world.beside(RecordType::claim).back();
  ASSERT_EQ(claim.id, a.core.options().core.id);
  EXPECT_EQ(claim.lease, 9s) << "its own";
  EXPECT_EQ(claim.max_lease, 60s);
  EXPECT_EQ(claim.max_incarnation, other.max_incarnation);
  const Record renewal = world.beside(RecordType::renewal).back();
  ASSERT_EQ(renewal.id, a.core.options().core.id);
  EXPECT_EQ(renewal.max_lease, 60s);
  EXPECT_EQ(renewal.max_incarnation, other.max_incarnation);
  world.append(kP0, world.broker_now(), R"({"t":"claim","lane":1,"inc":1790000000000})");
  world.pass(1s);
  EXPECT_EQ(world.beside(RecordType::renewal).back().max_incarnation, other.max_incarnation)
      << "who says no max_inc is a stranger";
}

// `derive_timing()` leaves `clock_error` at 0 in this variation; a lane of `claimed` must still be
// able to rely on a lease until every broker's clock is past it.
TEST(HintClaims, a_longer_lease_counts_until_the_clocks_of_two_brokers_are_past_it) {
  World world;
  BroadcastOptions options = with_hints();
  options.core.clock_error = 0ms;
  world.assign(world.add(options), "0");
  world.pass(2s);
  const auto renewals = [&world] { return world.beside(RecordType::renewal); };
  const std::size_t before = renewals().size();
  while (renewals().size() == before) world.pass(1ms);
  world.pass(400ms);
  Record other;
  other.type = RecordType::renewal;
  other.lane = Lane{1};
  other.id = ProcessId{77};
  other.incarnation = other.max_incarnation = world.broker_now().time_since_epoch().count();
  other.lease = 10s;
  world.append(kP0, world.broker_now(), encode_record(other));
  world.pass(10'200ms);
  EXPECT_EQ(renewals().back().max_lease, 10s);
  world.pass(500ms);
  EXPECT_EQ(renewals().back().max_lease, 10s) << "89 ms past it, which is less than 2 e";
  world.pass(500ms);
  EXPECT_EQ(renewals().back().max_lease, 9s);
}

}  // namespace
}  // namespace neliroute
