// Rules 3, 5 and 10 of docs/protocol.md: renewals, what they extend, and what ends by itself.
#include <gtest/gtest.h>

#include "tests/world/rig.h"

namespace neliroute {
namespace {

using rig::kLog;
using rig::kP0;
using rig::claim_of;
using rig::release_of;
using rig::renewal_of;
using rig::Rig;
using rig::RigOptions;
using rig::exclusive;
using namespace std::chrono_literals;

TEST(Rule3, a_renewal_is_written_every_interval_and_names_all_epochs_and_their_states) {
  Rig rig;
  auto& a = rig.start(1, "a");
  rig.assign(a, "0-1");
  rig.run_for(10ms);
  rig.assign(a, "2");
  rig.revoke(a, "1");
  a.written.clear();
  rig.run_for(1s);
  const auto renewals = a.records(RecordType::renewal);
  ASSERT_EQ(renewals.size(), 10u);
  for (const Record& renewal : renewals) {
    ASSERT_EQ(renewal.epochs.size(), 2u);
    EXPECT_EQ(renewal.epochs[0].claim_offset, 0);
    EXPECT_EQ(renewal.epochs[0].parts.to_string(), "0-1");
    EXPECT_EQ(renewal.epochs[1].parts.to_string(), "2");
    EXPECT_EQ(renewal.leading.to_string(), "0,2");
    EXPECT_EQ(renewal.draining.to_string(), "1");
    EXPECT_EQ(renewal.lease, 1000ms);
    EXPECT_EQ(renewal.since, 1'700'000'010'000);
  }
}

TEST(Rule3, who_is_looking_renews_too_and_says_neither_leading_nor_draining) {
  Rig rig(exclusive());
  auto& a = rig.start(1, "a");
  rig.assign(a, "0");  // looking: the horizon
  EXPECT_EQ(a.records(RecordType::renewal).size(), 0u) << "its claim says as much";
  rig.run_for(200ms);
  const auto renewals = a.records(RecordType::renewal);
  ASSERT_GE(renewals.size(), 2u);
  EXPECT_EQ(renewals.back().epochs[0].parts.to_string(), "0");
  EXPECT_TRUE(renewals.back().leading.empty());
  EXPECT_TRUE(renewals.back().draining.empty());
}

TEST(Rule3, a_renewal_is_written_at_once_when_a_state_changes) {
  Rig rig;
  auto& a = rig.start(1, "a");
  rig.assign(a, "0");
  ASSERT_EQ(a.records(RecordType::renewal).size(), 1u) << "it leads: at the same instant";
  EXPECT_EQ(a.records(RecordType::renewal)[0].leading.to_string(), "0");
  rig.run_for(30ms);
  rig.revoke(a, "0");
  ASSERT_EQ(a.records(RecordType::renewal).size(), 2u);
  EXPECT_EQ(a.records(RecordType::renewal)[1].draining.to_string(), "0");
}

TEST(Rule3, at_most_two_renewals_are_unacknowledged_and_one_more_for_a_change_of_state) {
  Rig rig;
  auto& a = rig.start(1, "a");
  rig.assign(a, "0-1");
  rig.run_for(50ms);
  a.keep_acks = true;
  a.written.clear();
  rig.run_for(700ms);
  EXPECT_EQ(a.written.size(), 2u);
  rig.revoke(a, "0");
  EXPECT_EQ(a.written.size(), 3u) << "apart from the two";
  rig.revoke(a, "1");
  EXPECT_EQ(a.written.size(), 3u);
  rig.step(a, WriteAcknowledged{a.unanswered[0]});
  EXPECT_EQ(a.written.size(), 4u);
  EXPECT_EQ(a.records().back().draining.to_string(), "0-1");
}

TEST(Rule3, renewals_that_failed_make_room_like_those_that_were_stored) {
  Rig rig;
  auto& a = rig.start(1, "a");
  rig.assign(a, "0");
  rig.run_for(50ms);
  a.fail_writes = true;
  a.written.clear();
  rig.run_for(500ms);
  EXPECT_EQ(a.written.size(), 5u);
  a.fail_writes = false;
  rig.run_for(2s);
  EXPECT_TRUE(a.leads(0, rig.now()));
}

TEST(Rule3, an_own_renewal_extends_the_lease_to_sent_plus_T) {
  Rig rig;
  auto& a = rig.start(1, "a");
  rig.assign(a, "0");
  const LocalTime sent = rig.now() + 100ms;
  rig.run_to(sent - 1ms);
  a.hold = true;
  rig.run_to(sent + 50ms);  // one renewal was written
  a.drop_writes = true;
  a.hold = false;
  rig.settle();
  EXPECT_TRUE(a.leads(0, sent + 1s - rig::kGrain));
  EXPECT_FALSE(a.leads(0, sent + 1s));
}

TEST(Rule3, a_renewal_of_an_older_epoch_is_counted_and_extends_nothing) {
  Rig rig(exclusive());
  auto& a = rig.start(1, "a");
  rig.assign(a, "0");
  ASSERT_TRUE(rig.run_until([&] { return a.leads(0, rig.now()); }, 2s));
  a.drop_writes = true;
  rig.append(kLog, claim_of(9, "0"));
  rig.append(kLog, a.written.back().value);
  const auto stale = a.claims.counters().renewals_stale;
  rig.settle();
  EXPECT_EQ(a.claims.counters().renewals_stale, stale + 1);
  EXPECT_FALSE(a.leads(0, rig.now()));
}

TEST(Rule3, an_own_renewal_behind_a_foreign_claim_extends_a_non_exclusive_drainer_s_own_lease) {
  Rig rig;
  auto& a = rig.start(1, "a");
  rig.assign(a, "0");
  rig.revoke(a, "0");
  rig.append(kLog, claim_of(9, "0"));
  rig.settle();
  rig.run_for(3s);
  EXPECT_EQ(a.core.role_state(kP0), RoleState::draining);
  EXPECT_TRUE(a.leads(0, rig.now())) << "no successor led: it costs nothing";
}

TEST(Rule3, a_release_counts_only_from_the_epoch_s_own_id) {
  Rig rig(exclusive());
  auto& a = rig.start(1, "a");
  const Epoch epoch = rig.append_claim(kLog, claim_of(9, "0"));
  rig.run_for(950ms);
  rig.append(kLog, renewal_of(9, epoch, "0", "0"));
  rig.append(kLog, release_of(8, epoch, "0"));
  rig.run_for(60ms);  // the horizon is over, the renewal's lease is not
  rig.assign(a, "0");
  EXPECT_FALSE(a.leads(0, rig.now()));
  EXPECT_EQ(a.claims.counters().releases_refused, 1u);
  rig.append(kLog, release_of(9, epoch, "0"));
  rig.settle();
  EXPECT_TRUE(a.leads(0, rig.now()));
}

TEST(Rule3, a_release_is_final_wherever_it_stands) {
  Rig rig(exclusive());
  auto& a = rig.start(1, "a");
  const Epoch epoch = rig.append_claim(kLog, claim_of(9, "0"));
  rig.run_for(1500ms);
  rig.append(kLog, release_of(9, epoch, "0"));
  rig.append(kLog, renewal_of(9, epoch, "0", "0"));  // a copy that lands late
  rig.settle();
  rig.assign(a, "0");
  EXPECT_TRUE(a.leads(0, rig.now()));
}

TEST(Rule3, a_release_of_a_claim_never_read_outlives_its_late_renewals) {
  Rig rig(exclusive());
  const Epoch epoch = rig.append_claim(kLog, claim_of(9, "0"));
  rig.append(kLog, claim_of(9, "3"));
  auto& a = rig.start(1, "a", 1);  // its tail starts behind the first claim
  rig.run_for(1500ms);
  rig.append(kLog, release_of(9, epoch, "0"));
  rig.append(kLog, renewal_of(9, epoch, "0", "0"));
  rig.settle();
  rig.assign(a, "0");
  EXPECT_TRUE(a.leads(0, rig.now()));
}

TEST(Rule3, who_renews_for_long_remembers_only_what_may_still_extend_a_lease) {
  Rig rig;
  auto& a = rig.start(1, "a");
  rig.assign(a, "0");
  rig.run_for(5s);
  const std::size_t kept = a.claims.sent_count();
  EXPECT_LE(kept, 12u) << "a T of renewals, ten a T, and what a change of state adds";
  rig.run_for(100s);
  EXPECT_GT(a.records(RecordType::renewal).size(), 1000u);
  EXPECT_LE(a.claims.sent_count(), 12u);
}

TEST(Rule5, leads_compares_at_the_time_of_asking) {
  Rig rig;
  auto& a = rig.start(1, "a");
  rig.assign(a, "0");
  const LocalTime sent = rig.now();
  EXPECT_TRUE(a.leads(0, sent + 1s - rig::kGrain));
  EXPECT_FALSE(a.leads(0, sent + 1s)) << "nobody told it that time went by";
  EXPECT_FALSE(a.leads(1, sent));
}

TEST(Rule10, a_lapse_stops_at_the_end_of_the_lease_however_late_it_is_noticed) {
  Rig rig;
  auto& a = rig.start(1, "a");
  rig.assign(a, "0");
  const LocalTime end = rig.now() + 1s;
  rig.skip(30s);
  a.core.tick(rig.now());
  const Ready ready = a.core.take_ready();
  ASSERT_FALSE(ready.transitions.empty());
  EXPECT_EQ(ready.transitions[0].kind, TransitionKind::stopped);
  EXPECT_EQ(ready.transitions[0].reason, StopReason::lapsed);
  EXPECT_EQ(ready.transitions[0].at, end);
  EXPECT_EQ(ready.transitions[0].barrier_deadline, end);
  EXPECT_EQ(a.claims.counters().lapses, 1u);
}

TEST(Rule10, an_own_renewal_read_after_a_lapse_leads_again_with_the_same_epoch) {
  for (const Mode mode : {Mode::exclusive, Mode::non_exclusive}) {
    RigOptions options;
    options.mode = mode;
    Rig rig(options);
    auto& a = rig.start(1, "a");
    rig.assign(a, "0");
    ASSERT_TRUE(rig.run_until([&] { return a.leads(0, rig.now()); }, 2s));
    const Epoch epoch = *a.core.epoch(kP0);
    const auto generation = a.core.generation(kP0);
    a.fail_writes = true;
    rig.run_for(1500ms);
    EXPECT_FALSE(a.leads(0, rig.now()));
    EXPECT_EQ(a.core.role_state(kP0), RoleState::looking);
    a.fail_writes = false;
    rig.run_for(100ms);
    EXPECT_TRUE(a.leads(0, rig.now()));
    EXPECT_EQ(a.core.epoch(kP0), epoch);
    EXPECT_NE(a.core.generation(kP0), generation);
    EXPECT_EQ(a.count(TransitionKind::acquired), 2u);
    EXPECT_EQ(a.records(RecordType::claim).size(), 1u);
  }
}

TEST(Rule10, a_drainer_that_read_no_foreign_claim_resumes_as_a_drainer) {
  Rig rig;
  auto& a = rig.start(1, "a");
  rig.assign(a, "0");
  rig.revoke(a, "0");
  a.fail_writes = true;
  rig.run_for(1500ms);
  EXPECT_FALSE(a.leads(0, rig.now()));
  a.fail_writes = false;
  rig.run_for(100ms);
  EXPECT_EQ(a.core.role_state(kP0), RoleState::draining);
}

TEST(Rule10, a_drainer_that_read_a_foreign_claim_drops_its_epoch_when_it_lapses) {
  Rig rig;
  auto& a = rig.start(1, "a");
  rig.assign(a, "0");
  rig.revoke(a, "0");
  rig.append(kLog, claim_of(9, "0"));
  rig.settle();
  const Epoch epoch = *a.core.epoch(kP0);
  a.fail_writes = true;
  rig.run_for(1500ms);
  EXPECT_FALSE(a.core.epoch(kP0));
  a.fail_writes = false;
  rig.run_for(500ms);
  EXPECT_FALSE(a.leads(0, rig.now()));
  EXPECT_EQ(a.count(TransitionKind::acquired), 1u);
  const auto releases = a.records(RecordType::release);
  ASSERT_FALSE(releases.empty());
  EXPECT_EQ(releases[0].epochs[0].claim_offset, epoch.offset);
}

TEST(Rule10, nobody_leads_again_while_the_barrier_of_the_lapse_runs) {
  Rig rig;
  auto& a = rig.start(1, "a");
  a.keep_barriers = true;
  rig.assign(a, "0");
  a.fail_writes = true;
  rig.run_for(1200ms);
  a.fail_writes = false;
  rig.run_for(500ms);
  EXPECT_FALSE(a.leads(0, rig.now()));
  for (const Record& record : a.records(RecordType::renewal)) {
    EXPECT_FALSE(record.epochs.empty());
  }
  rig.step(a, BarrierDone{kP0, *a.core.epoch(kP0)});
  rig.run_for(100ms);
  EXPECT_TRUE(a.leads(0, rig.now()));
}

TEST(Rule10, a_renewal_read_during_the_barrier_of_the_lapse_leads_again_only_after_it) {
  Rig rig;
  auto& a = rig.start(1, "a");
  rig.assign(a, "0");
  a.keep_barriers = true;
  a.hold = true;
  rig.run_for(900ms);
  rig.step(a, LogPosition{kLog, a.next[0]});  // the leader of the log answers
  rig.run_for(200ms);
  ASSERT_FALSE(a.leads(0, rig.now()));
  a.hold = false;
  rig.settle();  // renewals of less than T ago
  EXPECT_FALSE(a.leads(0, rig.now()));
  rig.step(a, BarrierDone{kP0, *a.core.epoch(kP0)});
  EXPECT_TRUE(a.leads(0, rig.now()));
}

TEST(Rule10, an_epoch_is_dropped_before_its_release_is_sent_and_never_resumed) {
  Rig rig(exclusive());
  auto& a = rig.start(1, "a");
  rig.assign(a, "0");
  ASSERT_TRUE(rig.run_until([&] { return a.leads(0, rig.now()); }, 2s));
  const std::string renewal = a.written.back().value;
  rig.append(kLog, release_of(9, rig.append_claim(kLog, claim_of(9, "0")), "0"));
  rig.settle();
  EXPECT_EQ(a.records(RecordType::release).size(), 1u);
  const Epoch dropped = a.last(TransitionKind::stopped, 0)->epoch;
  for (int i = 0; i < 20; ++i) {
    rig.append(kLog, renewal);
    rig.run_for(100ms);
  }
  ASSERT_TRUE(a.leads(0, rig.now())) << "by a new claim";
  EXPECT_GT(a.last(TransitionKind::acquired, 0)->epoch, dropped);
}

TEST(Rule10, after_a_long_stop_two_renewals_do_not_follow_at_once) {
  Rig rig;
  auto& a = rig.start(1, "a");
  rig.assign(a, "0");
  a.stopped = true;
  rig.run_for(10s);
  a.stopped = false;
  a.written.clear();
  rig.run_for(50ms);
  EXPECT_EQ(a.records(RecordType::renewal).size(), 2u) << "one in time, one as it leads again";
}

}  // namespace
}  // namespace neliroute
