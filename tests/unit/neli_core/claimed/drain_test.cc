// Rules 4 and 7 of docs/protocol.md: superseded and revoked, barriers and draining.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/world/rig.h"

namespace neliroute {
namespace {

using rig::claim_of;
using rig::exclusive;
using rig::kLog;
using rig::kP0;
using rig::leader_of_0;
using rig::renewal_of;
using rig::Rig;
using rig::RigOptions;
using namespace std::chrono_literals;

TEST(Rule4, exclusive_stops_at_once_then_the_barrier_then_the_release) {
  Rig rig(exclusive());
  auto& a = leader_of_0(rig);
  a.keep_barriers = true;
  const Epoch epoch = *a.core.epoch(kP0);
  const LocalTime lease_end = a.core.leases()->get(kP0).until;
  rig.append(kLog, claim_of(9, "0"));
  a.written.clear();
  rig.settle();
  EXPECT_FALSE(a.leads(0, rig.now()));
  const Transition* stopped = a.last(TransitionKind::stopped, 0);
  ASSERT_NE(stopped, nullptr);
  EXPECT_EQ(stopped->reason, StopReason::superseded);
  EXPECT_EQ(stopped->at, rig.now());
  EXPECT_LT(stopped->barrier_deadline - lease_end, rig::kGrain);
  rig.run_for(300ms);
  EXPECT_TRUE(a.written.empty()) << "no renewal and no release during the barrier";
  rig.step(a, BarrierDone{kP0, epoch});
  ASSERT_EQ(a.written.size(), 1u);
  EXPECT_EQ(a.records()[0].type, RecordType::release);
  EXPECT_EQ(a.records()[0].epochs[0].claim_offset, epoch.offset);
  EXPECT_EQ(a.last(TransitionKind::released, 0)->epoch, epoch);
}

TEST(Rule4, a_barrier_still_running_when_the_lease_ends_is_told_so) {
  Rig rig(exclusive());
  auto& a = leader_of_0(rig);
  a.keep_barriers = true;
  rig.append(kLog, claim_of(9, "0"));
  rig.settle();
  const LocalTime deadline = a.last(TransitionKind::stopped, 0)->barrier_deadline;
  rig.run_to(deadline - 1us);
  EXPECT_EQ(a.last(TransitionKind::barrier_overdue, 0), nullptr);
  rig.run_to(deadline);
  ASSERT_NE(a.last(TransitionKind::barrier_overdue, 0), nullptr);
  EXPECT_EQ(a.records(RecordType::release).size(), 0u);
  rig.step(a, BarrierDone{kP0, a.last(TransitionKind::stopped, 0)->epoch});
  EXPECT_EQ(a.records(RecordType::release).size(), 1u) << "written when it ends";
  EXPECT_EQ(a.count(TransitionKind::barrier_overdue), 1u);
}

TEST(Rule4, the_end_of_another_epoch_s_barrier_means_nothing) {
  Rig rig(exclusive());
  auto& a = leader_of_0(rig);
  a.keep_barriers = true;
  rig.append(kLog, claim_of(9, "0"));
  rig.settle();
  rig.step(a, BarrierDone{kP0, {1, 1}});
  EXPECT_EQ(a.records(RecordType::release).size(), 0u);
}

TEST(Rule4, non_exclusive_drains_until_a_newer_epoch_s_renewal_says_leading_or_draining) {
  for (const bool draining : {false, true}) {
    Rig rig;
    auto& a = leader_of_0(rig);
    rig.revoke(a, "0");
    const Epoch successor =
        rig.append_claim(kLog, claim_of(9, "0", a.core.epoch(kP0)->incarnation));
    rig.settle();
    rig.run_for(200ms);
    EXPECT_EQ(a.core.role_state(kP0), RoleState::draining);
    rig.append(kLog, renewal_of(9, successor, "0"));
    rig.settle();
    EXPECT_TRUE(a.leads(0, rig.now())) << "it is only looking yet";
    rig.append(kLog, renewal_of(9, successor, "0", draining ? "" : "0", draining ? "0" : ""));
    rig.settle();
    EXPECT_FALSE(a.leads(0, rig.now()));
    EXPECT_EQ(a.last(TransitionKind::stopped, 0)->reason, StopReason::superseded);
    EXPECT_EQ(a.records(RecordType::release).size(), 1u);
  }
}

TEST(Rule4, non_exclusive_drains_on_when_an_older_epoch_s_renewal_says_leading) {
  Rig rig;
  const Epoch older = rig.append_claim(kLog, claim_of(9, "0"));
  auto& a = leader_of_0(rig);
  rig.revoke(a, "0");
  rig.append(kLog, claim_of(8, "0", a.core.epoch(kP0)->incarnation));
  rig.append(kLog, renewal_of(9, older, "0", "0"));
  rig.settle();
  EXPECT_TRUE(a.leads(0, rig.now()));
}

TEST(Rule4, a_successor_that_dies_before_it_leads_costs_nothing) {
  Rig rig;
  auto& a = leader_of_0(rig);
  rig.revoke(a, "0");
  rig.append(kLog, claim_of(9, "0", a.core.epoch(kP0)->incarnation));
  rig.run_for(20s);
  EXPECT_TRUE(a.leads(0, rig.now()));
}

TEST(Rule4, non_exclusive_drain_ends_with_the_lease) {
  Rig rig;
  auto& a = leader_of_0(rig);
  rig.append(kLog, claim_of(9, "0", a.core.epoch(kP0)->incarnation));
  rig.settle();
  const LocalTime end = a.core.leases()->get(kP0).until;
  a.drop_writes = true;
  rig.run_to(end + rig::kGrain);
  EXPECT_FALSE(a.leads(0, rig.now()));
  EXPECT_EQ(a.last(TransitionKind::stopped, 0)->reason, StopReason::lapsed);
  EXPECT_FALSE(a.core.epoch(kP0));
}

// Found by the simulator (non-exclusive, seed 905).
TEST(Rule4, an_own_claim_that_comes_late_ends_no_drain) {
  Rig rig;
  auto& a = leader_of_0(rig);
  const Epoch epoch = *a.core.epoch(kP0);
  rig.append(kLog, claim_of(9, "0", epoch.incarnation));
  rig.settle();
  ASSERT_EQ(a.last(TransitionKind::draining, 0)->epoch, epoch);
  rig.append(kLog, claim_of(1, "0", epoch.incarnation));  // nobody knows any more when it was sent
  rig.settle();
  EXPECT_TRUE(a.leads(0, rig.now()));
  EXPECT_GT(*a.core.epoch(kP0), epoch);
  EXPECT_EQ(a.count(TransitionKind::stopped), 0u);
  rig.run_for(3s);
  EXPECT_TRUE(a.leads(0, rig.now())) << "its renewals count again";
  EXPECT_EQ(a.count(TransitionKind::stopped), 0u);
}

TEST(Rule4, in_exclusive_mode_an_own_claim_that_comes_late_brings_no_lease_back) {
  Rig rig(exclusive());
  auto& a = leader_of_0(rig);
  ASSERT_TRUE(a.leads(0, rig.now()));
  a.drop_writes = true;
  rig.append(kLog, claim_of(9, "0"));
  rig.append(kLog, a.written.front().value);
  rig.settle();
  EXPECT_FALSE(a.leads(0, rig.now()));
}

TEST(Rule4, superseded_while_looking_releases_at_once) {
  Rig rig(exclusive());
  auto& a = rig.start(1, "a");
  rig.assign(a, "0");
  const Epoch epoch = *a.core.epoch(kP0);
  rig.append(kLog, claim_of(9, "0"));
  rig.settle();
  EXPECT_FALSE(a.core.epoch(kP0));
  const auto releases = a.records(RecordType::release);
  ASSERT_EQ(releases.size(), 1u);
  EXPECT_EQ(releases[0].epochs[0].claim_offset, epoch.offset);
  EXPECT_EQ(a.count(TransitionKind::stopped), 0u);
}

TEST(Rule4, non_exclusive_too_releases_at_once_what_it_does_not_lead) {
  Rig rig;
  auto& a = leader_of_0(rig);
  a.fail_writes = true;
  rig.run_for(1100ms);  // lapsed
  a.fail_writes = false;
  rig.append(kLog, claim_of(9, "0", a.core.epoch(kP0)->incarnation));
  rig.settle();
  EXPECT_FALSE(a.core.epoch(kP0));
  EXPECT_EQ(a.records(RecordType::release).size(), 1u);
}

TEST(Rule4, superseded_while_the_barrier_of_a_lapse_runs_releases_when_it_ends) {
  Rig rig(exclusive());
  auto& a = leader_of_0(rig);
  const Epoch epoch = *a.core.epoch(kP0);
  a.keep_barriers = true;
  a.fail_writes = true;
  rig.run_for(1100ms);
  ASSERT_EQ(a.last(TransitionKind::stopped, 0)->reason, StopReason::lapsed);
  a.fail_writes = false;
  rig.append(kLog, claim_of(9, "0"));
  rig.settle();
  EXPECT_FALSE(a.core.epoch(kP0));
  EXPECT_EQ(a.records(RecordType::release).size(), 0u);
  EXPECT_EQ(a.count(TransitionKind::stopped), 1u) << "one barrier, not two";
  rig.step(a, BarrierDone{kP0, epoch});
  EXPECT_EQ(a.records(RecordType::release).size(), 1u);
}

TEST(Rule4, non_exclusive_says_that_it_leads_with_the_new_epoch_before_it_releases_its_old_one) {
  Rig rig;
  auto& a = rig.start(1, "a");
  rig.assign(a, "0");
  rig.revoke(a, "0");
  rig.append(kLog, claim_of(9, "0"));
  rig.settle();
  const Epoch old = *a.core.epoch(kP0);
  rig.run_for(100ms);
  const std::size_t before = a.records(RecordType::release).size();
  rig.assign(a, "0");
  rig.settle();
  const Epoch now = *a.core.epoch(kP0);
  ASSERT_GT(now, old);
  const auto releases = a.records(RecordType::release);
  ASSERT_EQ(releases.size(), before + 1);
  EXPECT_EQ(releases.back().epochs[0].claim_offset, old.offset);
  const auto renewals = a.records(RecordType::renewal);
  const auto leads = std::find_if(renewals.begin(), renewals.end(), [&](const Record& renewal) {
    return renewal.epochs[0].claim_offset == now.offset && renewal.leading.contains(kP0, 1);
  });
  ASSERT_NE(leads, renewals.end());
  EXPECT_LT(leads->seq, releases.back().seq);
}

TEST(Rule7, revoked_lets_the_group_proceed_at_once_in_both_modes) {
  for (const Mode mode : {Mode::exclusive, Mode::non_exclusive}) {
    for (const bool lost : {false, true}) {
      RigOptions options;
      options.mode = mode;
      Rig rig(options);
      auto& a = leader_of_0(rig);
      a.keep_barriers = true;
      const auto done = a.rebalances_done;
      a.core.step(GroupRevoked{PartitionRanges::of({kP0}), lost}, rig.now());
      const Ready ready = a.core.take_ready();
      EXPECT_EQ(ready.rebalances_done, 1u);
      EXPECT_EQ(a.rebalances_done, done);
      ASSERT_EQ(ready.transitions.size(), 1u) << "which stands before rebalances_done";
      EXPECT_EQ(ready.transitions[0].kind, TransitionKind::draining);
      ASSERT_EQ(ready.writes.size(), 1u);
      const auto record = std::get<Record>(decode_record(ready.writes[0].value));
      EXPECT_EQ(record.type, RecordType::renewal);
      EXPECT_EQ(record.draining.to_string(), "0");
      EXPECT_TRUE(a.leads(0, rig.now()));
    }
  }
}

TEST(Rule7, every_rebalance_event_is_let_proceed_in_whatever_state) {
  Rig rig;
  auto& a = rig.start(1, "a");
  a.keep_barriers = true;
  rig.assign(a, "0-1");
  rig.assign(a, "");
  rig.revoke(a, "0");
  rig.revoke(a, "3");
  rig.step(a, CloseRequested{rig.now()});
  rig.assign(a, "2");
  rig.revoke(a, "0-3", true);
  EXPECT_EQ(a.rebalances_done, 6u);
}

TEST(Rule7, who_drains_leads_and_renews_on_until_somebody_claims) {
  Rig rig(exclusive());
  auto& a = leader_of_0(rig);
  rig.revoke(a, "0");
  rig.run_for(10s);
  EXPECT_EQ(a.core.role_state(kP0), RoleState::draining);
  rig.append(kLog, claim_of(9, "0"));
  rig.settle();
  EXPECT_FALSE(a.leads(0, rig.now()));
}

TEST(Rule7, who_holds_an_epoch_but_does_not_lead_yet_releases_it_at_once) {
  Rig rig(exclusive());
  auto& a = rig.start(1, "a");
  rig.assign(a, "0");  // looking: the horizon
  const Epoch epoch = *a.core.epoch(kP0);
  rig.revoke(a, "0");
  EXPECT_FALSE(a.core.epoch(kP0));
  ASSERT_EQ(a.records(RecordType::release).size(), 1u);
  EXPECT_EQ(a.records(RecordType::release)[0].epochs[0].claim_offset, epoch.offset);
}

TEST(Rule7, a_new_claim_waits_for_the_barrier_of_the_old_epoch) {
  Rig rig(exclusive());
  auto& a = leader_of_0(rig);
  a.keep_barriers = true;
  rig.revoke(a, "0");
  rig.append(kLog, claim_of(9, "0"));
  rig.settle();
  rig.assign(a, "0");
  rig.run_for(300ms);
  EXPECT_EQ(a.records(RecordType::claim).size(), 1u);
  rig.step(a, BarrierDone{kP0, a.last(TransitionKind::stopped, 0)->epoch});
  rig.settle();
  EXPECT_EQ(a.records(RecordType::claim).size(), 2u);
}

TEST(Rule7, a_barrier_T_past_the_lease_s_end_is_stuck_and_the_process_leaves) {
  Rig rig(exclusive());
  auto& a = leader_of_0(rig);
  a.keep_barriers = true;
  rig.append(kLog, claim_of(9, "0"));
  rig.settle();
  const LocalTime lease_end = a.last(TransitionKind::stopped, 0)->barrier_deadline;
  rig.run_to(lease_end + 1s - 1us);
  EXPECT_FALSE(a.refused);
  rig.run_to(lease_end + 1s);
  ASSERT_TRUE(a.refused);
  EXPECT_EQ(a.refused->code(), Errc::barrier_stuck);
  EXPECT_NE(a.refused->message().find("partition 0"), std::string::npos);
  EXPECT_TRUE(a.left_group);
}

TEST(Rule7, a_stuck_barrier_matters_only_where_the_partition_waits_for_it) {
  Rig rig(exclusive());
  auto& a = leader_of_0(rig);
  a.keep_barriers = true;
  rig.revoke(a, "0");
  rig.append(kLog, claim_of(9, "0"));
  rig.run_for(10s);
  EXPECT_FALSE(a.refused);
  rig.assign(a, "0");
  EXPECT_TRUE(a.refused) << "and then at once";
}

TEST(Rule7, who_was_stopped_has_T_from_waking_up_for_its_barrier) {
  Rig rig(exclusive());
  auto& a = leader_of_0(rig);
  a.keep_barriers = true;
  a.stopped = true;
  rig.run_for(30s);
  a.stopped = false;
  const LocalTime woke = rig.now();
  rig.run_to(woke + 1s - 1us);
  EXPECT_FALSE(a.refused);
  EXPECT_EQ(a.count(TransitionKind::barrier_overdue), 0u) << "its deadline was over from the start";
  rig.run_for(10ms);
  EXPECT_TRUE(a.refused);
}

TEST(Rule7, nothing_rests_on_lost_being_delivered) {
  Rig rig(exclusive());
  auto& a = leader_of_0(rig);
  auto& b = rig.start(2, "b");
  rig.assign(b, "0");  // the group gave it away; a was told nothing
  EXPECT_FALSE(a.leads(0, rig.now()));
  EXPECT_TRUE(b.leads(0, rig.now()));
  rig.run_for(10s);
  EXPECT_EQ(rig.leaders(0), 1u);
  EXPECT_TRUE(b.leads(0, rig.now()));
}

}  // namespace
}  // namespace neliroute
