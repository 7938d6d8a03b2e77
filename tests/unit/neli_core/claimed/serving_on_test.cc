// "Serving on" of docs/protocol.md: what an owner does in non-exclusive mode while its log is
// silent.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/world/rig.h"

namespace neliroute {
namespace {

using rig::kLog;
using rig::kP0;
using rig::claim_of;
using rig::leader_of_0;
using rig::release_of;
using rig::renewal_of;
using rig::Rig;
using rig::RigOptions;
using namespace std::chrono_literals;

// T is 1 s, an interval 100 ms.
RigOptions serving_on(milliseconds serve_stale = 60s) {
  RigOptions options;
  options.serve_stale = serve_stale;
  return options;
}

// Appends hang, and reads stand still.
void fall_silent(rig::Process& process) { process.cut_off.insert(kLog); }

void come_back(Rig& rig, rig::Process& process) {
  process.cut_off.clear();
  for (const RereadRequest& request : std::exchange(process.owed_rereads, {})) {
    rig.step(process, rig.log(0).answer(request));
  }
  rig.arrive(process);
}

TEST(ServingOn, an_owner_whose_log_falls_silent_serves_on_under_its_epoch_and_says_so) {
  Rig rig(serving_on());
  auto& a = leader_of_0(rig);
  const Epoch epoch = *a.core.epoch(kP0);
  const auto generation = a.core.generation(kP0);
  fall_silent(a);
  for (int i = 0; i < 300; ++i) {
    rig.run_for(100ms);
    ASSERT_TRUE(a.leads(0, rig.now())) << i;
  }
  EXPECT_TRUE(a.core.leases()->get(kP0).stale);
  EXPECT_EQ(a.core.role_state(kP0), RoleState::leading);
  come_back(rig, a);
  ASSERT_TRUE(rig.run_until([&] { return !a.core.leases()->get(kP0).stale; }, 1s));
  EXPECT_EQ(*a.core.epoch(kP0), epoch);
  EXPECT_EQ(a.core.generation(kP0), generation);
  EXPECT_EQ(a.count(TransitionKind::acquired), 1u);
  EXPECT_EQ(a.count(TransitionKind::stopped), 0u);
  EXPECT_EQ(a.claims.counters().lapses, 0u);
  EXPECT_EQ(a.records(RecordType::claim).size(), 1u);
  EXPECT_EQ(a.records(RecordType::release).size(), 0u);
  rig.run_for(200ms);
  ASSERT_EQ(a.notices.size(), 2u) << "one as it begins, one as it ends";
  EXPECT_NE(a.notices[0].text.find("1 partition"), std::string::npos) << a.notices[0].text;
}

TEST(ServingOn, the_word_is_never_more_than_T_ahead_and_its_stale_bit_begins_with_the_lease_s_end) {
  Rig rig(serving_on());
  auto& a = leader_of_0(rig);
  fall_silent(a);
  const LocalTime end = a.core.lease_until(kP0);
  while (rig.now() < end + 3s) {
    const auto word = a.core.leases()->get(kP0);
    ASSERT_LE(word.until, rig.now() + 1s);
    ASSERT_GT(word.until, rig.now() + 700ms);
    ASSERT_EQ(word.stale, rig.now() >= end);
    rig.run_for(50ms);
  }
}

TEST(ServingOn, a_pause_is_no_silence_who_slept_stops_and_only_a_read_renewal_brings_it_back) {
  for (const bool stale_before : {false, true}) {
    Rig rig(serving_on());
    auto& a = leader_of_0(rig);
    fall_silent(a);
    if (stale_before) rig.run_for(5s);
    a.stopped = true;
    rig.skip(1001ms);
    EXPECT_FALSE(a.leads(0, rig.now())) << "nobody told it that time went by";
    rig.wake(a);
    EXPECT_EQ(a.count(TransitionKind::stopped), 1u);
    rig.run_for(5s);
    EXPECT_FALSE(a.leads(0, rig.now()));
    come_back(rig, a);
    ASSERT_TRUE(rig.run_until([&] { return a.leads(0, rig.now()); }, 1s));
    EXPECT_FALSE(a.core.leases()->get(kP0).stale);
  }
}

TEST(ServingOn, who_slept_for_less_than_T_serves_on) {
  Rig rig(serving_on());
  auto& a = leader_of_0(rig);
  fall_silent(a);
  rig.run_for(5s);
  a.stopped = true;
  rig.skip(800ms);
  EXPECT_TRUE(a.leads(0, rig.now()));
  rig.wake(a);
  EXPECT_TRUE(a.leads(0, rig.now()));
  EXPECT_EQ(a.count(TransitionKind::stopped), 0u);
}

TEST(ServingOn, it_ends_serve_stale_after_the_newest_own_record_read_was_sent) {
  Rig rig(serving_on(10s));
  auto& a = leader_of_0(rig);
  const LocalTime sent = a.core.lease_until(kP0) - 1s;
  a.keep_barriers = true;
  fall_silent(a);
  rig.run_to(sent + 10s - 1ms);
  // A stuck watermark: the log's leader answers for ever.
  rig.step(a, LogPosition{kLog, a.next[0]});
  EXPECT_TRUE(a.leads(0, rig.now()));
  rig.run_to(sent + 10s);
  EXPECT_FALSE(a.leads(0, rig.now()));
  const Transition* stopped = a.last(TransitionKind::stopped, 0);
  ASSERT_NE(stopped, nullptr);
  EXPECT_EQ(stopped->reason, StopReason::lapsed);
  EXPECT_EQ(stopped->barrier_deadline, sent + 11s) << "T from then, not the lease's old end";
}

TEST(ServingOn, zero_stops_at_the_end_of_the_lease) {
  Rig rig(serving_on(0s));
  auto& a = leader_of_0(rig);
  fall_silent(a);
  rig.run_for(1s);
  EXPECT_FALSE(a.leads(0, rig.now()));
  EXPECT_FALSE(a.core.leases()->get(kP0).stale);
}

TEST(ServingOn, no_more_than_two_renewals_are_on_their_way_and_later_ones_name_what_is_stale) {
  Rig rig(serving_on());
  auto& a = leader_of_0(rig);
  a.keep_acks = true;  // they are stored, and what is stored is not read
  a.hold = true;
  a.written.clear();
  rig.run_for(3s);
  ASSERT_EQ(a.written.size(), 2u);
  rig.step(a, WriteAcknowledged{a.unanswered[0]});
  rig.run_for(100ms);
  const Record renewal = a.records().back();
  EXPECT_EQ(renewal.leading.to_string(), "0");
  EXPECT_EQ(renewal.stale.to_string(), "0");
  EXPECT_EQ(renewal.serve_stale, 60s);
}

TEST(ServingOn, a_claim_alone_does_not_end_it_a_renewal_that_leads_does) {
  Rig rig(serving_on());
  auto& a = leader_of_0(rig);
  a.drop_writes = true;  // it reads, and nothing of what it writes comes back
  rig.run_for(3s);
  ASSERT_TRUE(a.core.leases()->get(kP0).stale);
  const Epoch successor = rig.append_claim(kLog, claim_of(9, "0"));
  rig.settle();
  rig.append(kLog, renewal_of(9, successor, "0"));
  rig.settle();
  EXPECT_TRUE(a.leads(0, rig.now()));
  EXPECT_EQ(a.core.role_state(kP0), RoleState::draining);
  rig.append(kLog, renewal_of(9, successor, "0", "0"));
  rig.settle();
  EXPECT_FALSE(a.leads(0, rig.now()));
  EXPECT_EQ(a.last(TransitionKind::stopped, 0)->reason, StopReason::superseded);
  EXPECT_EQ(a.last(TransitionKind::stopped, 0)->barrier_deadline, rig.now() + 1s);
}

TEST(ServingOn, the_claim_of_a_process_in_exclusive_mode_ends_it_at_once) {
  Rig rig(serving_on());
  auto& a = leader_of_0(rig);
  a.drop_writes = true;
  rig.run_for(3s);
  Record claim = claim_of(9, "0");
  claim.settings = rig.core_options(9, "x").settings;
  claim.settings->mode = "exclusive";
  rig.append(kLog, claim);
  rig.settle();
  EXPECT_FALSE(a.leads(0, rig.now()));
}

TEST(ServingOn, who_drains_beside_an_exclusive_claim_does_so_for_its_lease_alone) {
  Rig rig(serving_on());
  auto& a = leader_of_0(rig);
  a.drop_writes = true;
  const LocalTime end = a.core.lease_until(kP0);
  Record claim = claim_of(9, "0");
  claim.settings = rig.core_options(9, "x").settings;
  claim.settings->mode = "exclusive";
  rig.append(kLog, claim);
  rig.settle();
  EXPECT_TRUE(a.leads(0, rig.now()));
  rig.run_to(end);
  EXPECT_FALSE(a.leads(0, rig.now()));
}

TEST(ServingOn, a_record_of_an_epoch_whose_claim_was_never_read_ends_it) {
  for (const bool renews : {true, false}) {
    Rig rig(serving_on());
    auto& a = leader_of_0(rig);
    a.drop_writes = true;
    rig.run_for(3s);
    const Epoch epoch = *a.core.epoch(kP0);
    const Epoch unread{epoch.incarnation + 1, epoch.offset + 1};
    rig.append(kLog, renews ? renewal_of(9, unread, "0", "0") : release_of(9, unread, "0"));
    rig.settle();
    EXPECT_FALSE(a.leads(0, rig.now()));
    EXPECT_EQ(a.last(TransitionKind::stopped, 0)->reason, StopReason::gap);
  }
}

TEST(ServingOn, a_store_that_refuses_the_epoch_ends_it) {
  Rig rig(serving_on());
  auto& a = leader_of_0(rig);
  fall_silent(a);
  rig.run_for(3s);
  Epoch greater = *a.core.epoch(kP0);
  ++greater.incarnation;
  rig.step(a, EpochRefused{kP0, greater});
  EXPECT_FALSE(a.leads(0, rig.now()));
  come_back(rig, a);
  ASSERT_TRUE(rig.run_until([&] { return a.leads(0, rig.now()); }, 2s));
  EXPECT_GT(*a.core.epoch(kP0), greater);
}

// Its log may have lost the claim of a successor that lives.
TEST(ServingOn, after_a_gap_a_store_that_refuses_the_epoch_ends_a_drainer) {
  Rig rig(serving_on());
  auto& a = leader_of_0(rig);
  rig.revoke(a, "0");
  rig.step(a, GapFound{kLog, GapReason::truncated});
  rig.restart_tail(a, kLog, 0);
  rig.run_for(3s);
  EXPECT_TRUE(a.leads(0, rig.now()));
  Epoch greater = *a.core.epoch(kP0);
  ++greater.incarnation;
  rig.step(a, EpochRefused{kP0, greater});
  EXPECT_FALSE(a.leads(0, rig.now()));
  EXPECT_EQ(a.last(TransitionKind::stopped, 0)->reason, StopReason::superseded);
  rig.assign(a, "0");
  ASSERT_TRUE(rig.run_until([&] { return a.leads(0, rig.now()); }, 2s));
  EXPECT_GT(*a.core.epoch(kP0), greater);
}

TEST(ServingOn, a_gap_stops_nobody_and_the_partition_is_claimed_anew) {
  for (const bool silent : {false, true}) {
    Rig rig(serving_on());
    auto& a = leader_of_0(rig);
    const Epoch before = *a.core.epoch(kP0);
    if (silent) {
      fall_silent(a);
      rig.run_for(3s);
      come_back(rig, a);
    }
    rig.step(a, GapFound{kLog, GapReason::replaced});
    EXPECT_TRUE(a.leads(0, rig.now()));
    EXPECT_TRUE(a.core.leases()->get(kP0).stale);
    a.written.clear();
    rig.run_for(3s);
    EXPECT_TRUE(a.leads(0, rig.now())) << "the log is not there yet";
    for (const Record& record : a.records(RecordType::renewal)) EXPECT_TRUE(record.epochs.empty());
    rig.restart_tail(a, kLog, 0);
    ASSERT_TRUE(rig.run_until([&] { return !a.core.leases()->get(kP0).stale; }, 3s));
    EXPECT_GT(*a.core.epoch(kP0), before);
    EXPECT_EQ(a.count(TransitionKind::stopped), 0u);
    EXPECT_EQ(a.count(TransitionKind::acquired), 2u);
  }
}

TEST(ServingOn, after_a_gap_another_that_leads_ends_it) {
  Rig rig(serving_on());
  auto& a = leader_of_0(rig);
  rig.revoke(a, "0");
  rig.step(a, GapFound{kLog, GapReason::truncated});
  rig.restart_tail(a, kLog, 0);
  rig.run_for(3s);
  EXPECT_TRUE(a.leads(0, rig.now()));
  EXPECT_EQ(a.records(RecordType::claim).size(), 1u) << "it is not assigned";
  const Epoch successor = rig.append_claim(kLog, claim_of(9, "0"));
  rig.append(kLog, renewal_of(9, successor, "0", "0"));
  rig.settle();
  EXPECT_FALSE(a.leads(0, rig.now()));
}

TEST(ServingOn, what_a_log_shows_again_after_a_gap_supersedes_nobody) {
  Rig rig(serving_on());
  rig.append(kLog, claim_of(9, "0"));
  auto& a = leader_of_0(rig);
  rig.step(a, GapFound{kLog, GapReason::restarted});
  a.drop_writes = true;
  rig.restart_tail(a, kLog, 0);
  rig.run_for(500ms);
  EXPECT_EQ(a.core.role_state(kP0), RoleState::leading);
  EXPECT_TRUE(a.records(RecordType::release).empty());
}

// An incarnation that is ahead of time, and a log that lost the claim, may make an epoch twice.
TEST(ServingOn, after_a_gap_another_that_leads_by_the_same_epoch_ends_it) {
  Rig rig(serving_on());
  auto& a = leader_of_0(rig);
  rig.step(a, EpochRefused{kP0, {a.core.epoch(kP0)->incarnation + 3'600'000, 0}});
  rig.run_for(500ms);
  const Epoch lost = *a.core.epoch(kP0);
  rig.revoke(a, "0");
  a.drop_writes = true;
  rig.log(0).records.resize(static_cast<std::size_t>(lost.offset));
  rig.step(a, GapFound{kLog, GapReason::truncated});
  rig.restart_tail(a, kLog, 0);
  rig.settle();
  ASSERT_TRUE(a.leads(0, rig.now()));
  a.written.clear();
  const Epoch same = rig.append_claim(kLog, claim_of(9, "0", lost.incarnation));
  ASSERT_EQ(same, lost);
  rig.settle();
  EXPECT_TRUE(a.leads(0, rig.now())) << "a claim alone ends nothing";
  rig.append(kLog, renewal_of(9, same, "0", "0"));
  rig.settle();
  EXPECT_FALSE(a.leads(0, rig.now()));
  rig.run_for(500ms);
  EXPECT_TRUE(a.records(RecordType::release).empty()) << "it would release the other's epoch";
}

TEST(ServingOn, no_claim_is_written_to_a_log_that_has_not_stored_an_own_record_for_two_intervals) {
  Rig rig(serving_on());
  auto& a = leader_of_0(rig);
  a.hold_writes = true;
  rig.run_for(310ms);
  const auto claims = a.records(RecordType::claim).size();
  rig.assign(a, "1");
  rig.run_for(400ms);
  EXPECT_EQ(a.records(RecordType::claim).size(), claims);
  a.hold_writes = false;
  rig.arrive(a);
  ASSERT_TRUE(rig.run_until([&] { return a.leads(1, rig.now()); }, 1s));
}

TEST(ServingOn, what_did_not_serve_when_the_silence_began_does_not_begin_to) {
  RigOptions options = serving_on();
  options.prepare_timeout = 3s;
  Rig rig(options);
  auto& a = rig.start(1, "a");
  a.keep_prepares = true;
  rig.assign(a, "0");
  a.hold = true;
  rig.step(a, Prepared{*PartitionRanges::parse("0")});  // it claims, and reads that no more
  rig.run_for(5s);
  EXPECT_FALSE(a.leads(0, rig.now()));
}

TEST(ServingOn, who_warms_up_for_the_newest_claim_may_end_that) {
  RigOptions options = serving_on();
  options.prepare_timeout = 5s;
  Rig rig(options);
  auto& a = rig.start(1, "a");
  a.keep_warm_ups = true;
  rig.assign(a, "0");
  ASSERT_EQ(a.warm_ups.size(), 1u);
  fall_silent(a);
  rig.run_for(3s);
  EXPECT_FALSE(a.leads(0, rig.now()));
  rig.step(a, WarmedUp{*PartitionRanges::parse("0")});
  EXPECT_TRUE(a.leads(0, rig.now()));
  EXPECT_TRUE(a.core.leases()->get(kP0).stale);
}

TEST(ServingOn, who_is_stale_drains_to_its_bound_warns_once_and_then_stops) {
  Rig rig(serving_on());
  auto& a = leader_of_0(rig);
  fall_silent(a);
  rig.run_for(3s);
  a.notices.clear();
  const LocalTime bound = rig.now() + 20s;
  rig.step(a, CloseRequested{bound});
  rig.run_to(bound - 1ms);
  EXPECT_TRUE(a.leads(0, rig.now()));
  ASSERT_EQ(a.notices.size(), 1u);
  EXPECT_NE(a.notices[0].text.find("nobody can take over"), std::string::npos);
  rig.run_to(bound + 2s);
  EXPECT_FALSE(a.leads(0, rig.now()));
  EXPECT_TRUE(a.closed);
}

TEST(ServingOn, who_is_given_a_partition_by_a_group_serves_on_whatever_the_group_does) {
  Rig rig(serving_on());
  auto& a = leader_of_0(rig);
  fall_silent(a);
  rig.run_for(3s);
  rig.revoke(a, "0", /*lost=*/true);
  rig.run_for(20s);
  EXPECT_EQ(a.core.role_state(kP0), RoleState::draining);
  EXPECT_TRUE(a.leads(0, rig.now()));
}

TEST(ServingOn, who_was_stale_without_sleeping_keeps_its_seniority) {
  for (const milliseconds serve : {milliseconds{60s}, milliseconds{0}}) {
    Rig rig(serving_on(serve));
    auto& a = leader_of_0(rig);
    fall_silent(a);
    rig.run_for(10s);
    // Somebody starts by mistake with other settings, and the log shows that first.
    Record claim = claim_of(3, "3");
    claim.settings = rig.core_options(3, "b").settings;
    claim.settings->slots = 32;
    claim.since = rig.broker_now().time_since_epoch().count();
    const Epoch epoch = rig.append_claim(kLog, claim);
    Record renewal = renewal_of(3, epoch, "3", "3");
    renewal.settings = claim.settings;
    renewal.settings->mode = "non_exclusive";
    renewal.since = claim.since;
    rig.append(kLog, renewal);
    rig.run_for(10ms);
    come_back(rig, a);
    rig.run_for(500ms);
    EXPECT_EQ(a.refused.has_value(), serve == 0s);
  }
}

TEST(ServingOn, exclusive_mode_has_no_such_option) {
  RigOptions options = serving_on();
  options.mode = Mode::exclusive;
  Rig rig(options);
  const auto made = ClaimProtocol::make(rig.core_options(1, "a"));
  ASSERT_FALSE(made);
  EXPECT_NE(made.error().message().find("serve_stale"), std::string::npos);
}

}  // namespace
}  // namespace neliroute
