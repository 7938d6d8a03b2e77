// Rule 6 of docs/protocol.md, to the microsecond: when exclusive mode starts leading.
//
// T = 1000 ms and e = 100 ms throughout; d of 1000 ms is 1 ms and 1 us.
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

constexpr auto kLeaseAndDrift = 1001001us;

// Whether it starts leading at this very microsecond.
void expect_leads_from(Rig& rig, const rig::Process& process, LocalTime start) {
  rig.run_to(start - 1us);
  EXPECT_FALSE(process.leads(0, rig.now()));
  rig.run_to(start);
  EXPECT_TRUE(process.leads(0, rig.now()));
  ASSERT_NE(process.last(TransitionKind::acquired, 0), nullptr);
  EXPECT_EQ(process.last(TransitionKind::acquired, 0)->at, start);
}

TEST(Rule6, horizon_epochs_below_the_tail_s_start_are_over_at_L0_plus_T_star) {
  Rig rig(exclusive());
  auto& a = rig.start(1, "a");
  const LocalTime l0 = rig.now();
  rig.run_for(300ms);
  rig.assign(a, "0");
  expect_leads_from(rig, a, l0 + kLeaseAndDrift);
}

// A leads and its reading is delayed; B, who reads since A's claim, is assigned after this release.
std::size_t leaders_after_release_by(std::uint64_t id, bool before_its_renewals) {
  Rig rig(exclusive());
  auto& a = rig.start(1, "a");
  rig.assign(a, "0");
  rig.run_for(3s);
  const auto release = [&] { rig.append(kLog, release_of(id, *a.core.epoch(rig::kP0), "0")); };
  if (before_its_renewals) release();
  auto& b = rig.start(2, "b", rig.log(0).end() - 1);
  rig.run_for(200ms);
  if (!before_its_renewals) release();
  rig.run_for(2s);
  a.hold = true;
  rig.assign(b, "0");
  rig.settle();
  EXPECT_TRUE(b.core.epoch(rig::kP0)) << "it has read its claim";
  return rig.leaders(0);
}

TEST(Rule6, r_a_release_under_another_id_is_not_believed_though_the_claim_was_not_read) {
  EXPECT_EQ(leaders_after_release_by(9, true), 1u);
  EXPECT_EQ(leaders_after_release_by(9, false), 1u);
}

// Assumption 2 of docs/protocol.md is one: who may write and takes another's id makes two lead.
TEST(Rule6, r_rests_on_nobody_releasing_in_another_s_name) {
  EXPECT_EQ(leaders_after_release_by(1, true), 2u);
}

TEST(Rule6, horizon_grows_with_every_lease_and_every_max_ms_read) {
  for (const bool own_words : {false, true}) {
    Rig rig(exclusive());
    auto& a = rig.start(1, "a");
    const LocalTime l0 = rig.now();
    Record other = renewal_of(9, {1, 0}, "3");
    other.lane = Lane{5};  // of any lane
    (own_words ? other.lease : other.max_lease) = 3000ms;
    rig.append(kLog, other);
    rig.assign(a, "0");
    EXPECT_EQ(a.claims.lease_bound(), 3000ms);
    EXPECT_EQ(a.records().back().max_lease, 3000ms);
    expect_leads_from(rig, a, l0 + 3003001us);
  }
}

TEST(Rule6, horizon_is_earlier_where_an_old_record_was_read_first) {
  Rig rig(exclusive());
  rig.append(kLog, "a record of long ago");
  rig.run_for(400ms);
  auto& a = rig.start(1, "a");
  rig.run_for(50ms);
  rig.assign(a, "0");
  // b(first) + T* + e - b(own claim) = 1000 + 100 - 450 = 650 ms, and 0.1 % and 1 us.
  expect_leads_from(rig, a, rig.now() + 650651us);
}

TEST(Rule6, horizon_is_over_at_once_where_the_first_record_is_old_enough) {
  Rig rig(exclusive());
  rig.append(kLog, "a record of long ago");
  rig.run_for(1100ms);
  auto& a = rig.start(1, "a");
  rig.assign(a, "0");
  EXPECT_TRUE(a.leads(0, rig.now())) << "after a crash the session has outlived the lease";
}

// What lies below may be led for as long as any lease; junk, and newcomers, do not know better.
TEST(Rule6, horizon_of_who_reads_no_max_ms_in_the_history_is_that_of_the_longest_lease) {
  Rig rig(exclusive());
  Record long_lease = claim_of(9, "0");
  long_lease.lease = long_lease.max_lease = 30'000ms;
  rig.append(kLog, long_lease);
  for (int i = 0; i < 24; ++i) {
    rig.run_for(200ms);
    rig.append(kLog, "a line that is no record");
  }
  auto& b = rig.start(2, "b", /*tail_from=*/5);
  rig.assign(b, "0");
  // b(first) + 10 min + e - b(own claim) = 600'000 + 100 - 3800 ms, and 0.1 % and 1 us.
  rig.append(kLog, claim_of(7, "1"));
  expect_leads_from(rig, b, rig.now() + 596'896'301us);
}

TEST(Rule6, horizon_of_who_reads_max_ms_in_the_history_is_that_bound) {
  Rig rig(exclusive());
  rig.append(kLog, "a line that is no record");
  rig.append(kLog, claim_of(7, "1"));
  rig.run_for(1100ms);
  auto& b = rig.start(2, "b", /*tail_from=*/1);
  rig.assign(b, "0");
  EXPECT_TRUE(b.leads(0, rig.now()));
}

TEST(Rule6, nothing_lies_below_the_beginning_of_a_log) {
  Rig rig(exclusive());
  rig.append(kLog, "a line that is no record");
  rig.append(kLog, "another");
  rig.run_for(1100ms);
  ClaimProtocol core = std::move(*ClaimProtocol::make(rig.core_options(1, "a")));
  core.tick(rig.now());
  core.step(TailStarted{kLog, 1, 1, Below::expired}, rig.now());
  core.step(GroupAssigned{*PartitionRanges::parse("0")}, rig.now());
  const Ready ready = core.take_ready();
  ASSERT_EQ(ready.writes.size(), 1u);
  const Decoded claim = decode_record(ready.writes[0].value);
  const LocalTime l0 = rig.now();
  core.step(Received{kLog, 1, rig.broker_now(), true, &claim}, l0);
  core.tick(l0 + 1001001us);
  EXPECT_FALSE(core.leads(kP0, l0 + 1001001us)) << "its own lease is over by then";
  EXPECT_EQ(core.role_state(kP0), RoleState::looking);
  EXPECT_NE(core.next_deadline(), kNever);
}

TEST(Rule6, r_a_release_read_before_the_wait_ends_it) {
  Rig rig(exclusive());
  auto& a = rig.start(1, "a");
  rig.run_for(2s);
  rig.append(kLog, release_of(9, rig.append_claim(kLog, claim_of(9, "0")), "0"));
  rig.settle();
  rig.assign(a, "0");
  EXPECT_TRUE(a.leads(0, rig.now()));
}

TEST(Rule6, r_a_release_read_during_the_wait_ends_it) {
  Rig rig(exclusive());
  auto& a = rig.start(1, "a");
  rig.run_for(2s);
  const Epoch epoch = rig.append_claim(kLog, claim_of(9, "0"));
  rig.assign(a, "0");
  rig.run_for(400ms);
  EXPECT_FALSE(a.leads(0, rig.now()));
  rig.append(kLog, release_of(9, epoch, "0"));
  rig.settle();
  EXPECT_TRUE(a.leads(0, rig.now()));
}

TEST(Rule6, a_counts_from_the_local_read_time_of_the_last_valid_record) {
  Rig rig(exclusive());
  auto& a = rig.start(1, "a");
  rig.run_for(2s);
  const Epoch epoch = rig.append_claim(kLog, claim_of(9, "0"));
  rig.settle();
  rig.run_for(200ms);
  a.hold = true;
  rig.append(kLog, renewal_of(9, epoch, "0", "0"));
  rig.run_for(100ms);
  a.hold = false;
  rig.settle();
  const LocalTime read = rig.now();
  rig.run_for(10ms);
  rig.assign(a, "0");
  expect_leads_from(rig, a, read + kLeaseAndDrift);
}

TEST(Rule6, a_takes_the_lease_of_the_record_not_the_own) {
  Rig rig(exclusive());
  auto& a = rig.start(1, "a");
  rig.run_for(2s);
  Record claim = claim_of(9, "0");
  claim.lease = 300ms;
  rig.append(kLog, claim);
  rig.settle();
  const LocalTime read = rig.now();
  rig.assign(a, "0");
  expect_leads_from(rig, a, read + 300301us);
}

TEST(Rule6, every_older_epoch_must_be_out_of_the_way) {
  Rig rig(exclusive());
  auto& a = rig.start(1, "a");
  rig.run_for(2s);
  Record long_claim = claim_of(8, "0");
  long_claim.lease = 2000ms;
  rig.append(kLog, long_claim);
  rig.settle();
  const LocalTime read = rig.now();
  rig.run_for(100ms);
  const Epoch newer = rig.append_claim(kLog, claim_of(9, "0"));
  rig.append(kLog, release_of(9, newer, "0"));
  rig.assign(a, "0");
  expect_leads_from(rig, a, read + 2002001us);
}

TEST(Rule6, b_history_is_judged_by_broker_time) {
  Rig rig(exclusive());
  rig.append(kLog, "the horizon");
  rig.run_for(5s);
  rig.append(kLog, claim_of(9, "0"));
  rig.run_for(400ms);
  auto& a = rig.start(1, "a");
  rig.run_for(30ms);
  rig.assign(a, "0");
  // b(9's) + 1000 + e - b(own claim) = 1000 + 100 - 430 = 670 ms, and 0.1 % and 1 us; by (a) it
  // would be 1001.001 ms after L0, which was 30 ms ago.
  expect_leads_from(rig, a, rig.now() + 670671us);
}

TEST(Rule6, b_is_0_for_a_lease_that_ended_before_the_own_claim) {
  Rig rig(exclusive());
  rig.append(kLog, "the horizon");
  rig.run_for(5s);
  rig.append(kLog, claim_of(9, "0"));
  rig.run_for(1100ms);
  auto& a = rig.start(1, "a");
  rig.assign(a, "0");
  EXPECT_TRUE(a.leads(0, rig.now()));
}

TEST(Rule6, b_needs_all_valid_records_below_the_end_offset_of_L0) {
  Rig rig(exclusive());
  rig.append(kLog, "the horizon");
  rig.run_for(5s);
  const Epoch epoch = rig.append_claim(kLog, claim_of(9, "0"));
  rig.run_for(400ms);
  auto& a = rig.start(1, "a");
  rig.run_for(30ms);
  rig.append(kLog, renewal_of(9, epoch, "0", "0"));
  rig.settle();
  const LocalTime read = rig.now();
  rig.assign(a, "0");
  expect_leads_from(rig, a, read + kLeaseAndDrift);
}

TEST(Rule6, b_and_the_horizon_believe_only_log_append_time) {
  for (const bool known : {false, true}) {
    RigOptions options = exclusive();
    options.store_stamped = false;
    options.believe_broker_time = known;  // not even if the topic's configuration says otherwise
    Rig rig(options);
    rig.append(kLog, claim_of(9, "0"));
    rig.run_for(5s);
    auto& a = rig.start(1, "a");
    const LocalTime l0 = rig.now();
    rig.assign(a, "0");
    expect_leads_from(rig, a, l0 + kLeaseAndDrift);
  }
}

TEST(Rule6, a_topic_that_cannot_be_asked_is_not_believed_even_if_its_records_say_log_append_time) {
  RigOptions options = exclusive();
  options.believe_broker_time = false;
  Rig rig(options);
  rig.append(kLog, claim_of(9, "0"));
  rig.run_for(5s);
  auto& a = rig.start(1, "a");
  const LocalTime l0 = rig.now();
  rig.assign(a, "0");
  expect_leads_from(rig, a, l0 + kLeaseAndDrift);
}

TEST(Rule6, b_is_off_for_what_was_known_before_a_gap) {
  Rig rig(exclusive());
  rig.append(kLog, "the horizon");
  rig.run_for(5s);
  rig.append(kLog, claim_of(9, "0"));
  rig.run_for(400ms);
  auto& a = rig.start(1, "a");
  const LocalTime read = rig.now();
  rig.step(a, GapFound{kLog, GapReason::restarted});
  rig.restart_tail(a, kLog, 0);
  rig.assign(a, "0");
  expect_leads_from(rig, a, read + kLeaseAndDrift);
}

TEST(Valid, a_renewal_behind_a_newer_claim_keeps_nobody_waiting) {
  Rig rig(exclusive());
  auto& a = rig.start(1, "a");
  rig.run_for(2s);
  const Epoch epoch = rig.append_claim(kLog, claim_of(9, "0"));
  rig.settle();
  const LocalTime read = rig.now();
  rig.assign(a, "0");
  for (int i = 0; i < 8; ++i) {
    rig.run_for(100ms);
    rig.append(kLog, renewal_of(9, epoch, "0", "0"));
    rig.settle();
  }
  expect_leads_from(rig, a, read + kLeaseAndDrift);
}

TEST(Valid, a_renewal_whose_claim_was_not_read_is_valid) {
  Rig rig(exclusive());
  const Epoch epoch = rig.append_claim(kLog, claim_of(9, "0"));
  rig.append(kLog, claim_of(9, "3"));  // T* is read with it
  auto& a = rig.start(1, "a", 1);
  rig.run_for(2s);
  rig.append(kLog, renewal_of(9, epoch, "0", "0"));
  rig.settle();
  const LocalTime read = rig.now();
  rig.assign(a, "0");
  expect_leads_from(rig, a, read + kLeaseAndDrift);
}

TEST(Valid, what_was_known_before_a_gap_keeps_standing_in_the_way) {
  Rig rig(exclusive());
  auto& a = rig.start(1, "a");
  rig.run_for(2s);
  Record claim = claim_of(9, "0");
  claim.lease = 2500ms;
  rig.append(kLog, claim);
  rig.settle();
  const LocalTime read = rig.now();
  rig.run_for(100ms);
  rig.step(a, GapFound{kLog, GapReason::replaced});
  rig.log(0).records.clear();
  rig.restart_tail(a, kLog, 0);
  const LocalTime l0 = rig.now();
  rig.assign(a, "0");
  EXPECT_GT(read + 2502501us, l0 + kLeaseAndDrift);
  expect_leads_from(rig, a, std::max(read, l0) + 2502501us);  // T* is 2500 ms now, from L0 on
}

// Found by the simulator (exclusive, seed 1936): a newcomer that had read of a longer lease than
// all others knew of stopped the owner for seconds.
TEST(Rule6, who_must_wait_for_what_lies_below_its_tail_s_start_lets_the_owner_lead_on) {
  for (const bool broker_time : {true, false}) {
    RigOptions options = exclusive();
    options.believe_broker_time = broker_time;
    Rig rig(options);
    auto& a = rig.start(1, "a");
    rig.assign(a, "0");
    rig.run_for(3s);
    auto& b = rig.start(2, "b", rig.log(0).end() - 1);
    const LocalTime l0 = rig.now();
    rig.assign(b, "0");
    rig.run_for(500ms);
    EXPECT_TRUE(a.leads(0, rig.now()));
    EXPECT_EQ(b.records(RecordType::claim).size(), 0u);
    ASSERT_TRUE(rig.run_until([&] { return b.leads(0, rig.now()); }, 5s));
    const LocalTime acquired = b.last(TransitionKind::acquired, 0)->at;
    EXPECT_LT(acquired - a.last(TransitionKind::stopped, 0)->at, 5ms);
    EXPECT_LE(acquired, l0 + kLeaseAndDrift + 5ms) << "no later than if it had claimed at once";
  }
}

// A record that was long on its way comes just then, by which the wait is a little longer.
TEST(Rule6, a_claim_that_has_to_wait_on_as_it_is_due_is_written_all_the_same) {
  Rig rig(exclusive());
  auto& a = rig.start(1, "a");
  rig.assign(a, "0");
  rig.run_for(3s);
  a.stopped = true;
  auto& b = rig.start(2, "b", rig.log(0).end() - 10);  // some 900 ms of the last 1100
  rig.assign(b, "0");
  rig.run_for(50ms);
  ASSERT_EQ(b.records(RecordType::claim).size(), 0u);
  b.stopped = true;
  rig.append(kLog, claim_of(9, "3"));
  rig.run_for(160ms);
  b.stopped = false;
  rig.deliver(b);
  EXPECT_EQ(b.records(RecordType::claim).size(), 0u);
  EXPECT_TRUE(rig.run_until([&] { return !b.records(RecordType::claim).empty(); }, 200ms));
}

// Who read of the dead alone waits for no renewal of theirs for longer than the living would take.
TEST(Rule6, who_comes_alone_to_a_young_log_claims_after_three_intervals) {
  Rig rig(exclusive());
  rig.append(kLog, claim_of(9, "0"));
  rig.run_for(1h);
  auto& a = rig.start(1, "a");
  rig.assign(a, "0");
  ASSERT_TRUE(rig.run_until([&] { return a.leads(0, rig.now()); }, 350ms));
}

TEST(Rule6, who_must_wait_claims_at_once_where_nobody_leads) {
  Rig rig(exclusive());
  auto& a = rig.start(1, "a");
  rig.assign(a, "0,2");
  rig.run_for(3s);
  rig.append(kLog, release_of(1, *a.core.epoch(kP0), "0"));
  const LocalTime died = rig.now();
  a.drop_writes = true;
  auto& b = rig.start(2, "b", rig.log(0).end() - 2);
  Record junk = claim_of(9, "1");
  junk.max_lease = 60s;
  rig.append(kLog, junk);
  rig.assign(b, "0,2");
  rig.settle();
  ASSERT_EQ(b.records(RecordType::claim).size(), 1u);
  EXPECT_EQ(b.records(RecordType::claim)[0].parts->to_string(), "0") << "2 may be led yet";
  ASSERT_TRUE(rig.run_until([&] { return b.records(RecordType::claim).size() == 2; }, 5s));
  EXPECT_GE(rig.now() - died, 300ms) << "three intervals, in which the living would have renewed";
}

TEST(Rule6, non_exclusive_mode_waits_for_nobody) {
  Rig rig;
  rig.append(kLog, claim_of(9, "0"));
  auto& a = rig.start(1, "a");
  rig.assign(a, "0");
  EXPECT_TRUE(a.leads(0, rig.now()));
}

// Found by the simulator (exclusive, seed 813573523547003249): an owner that could not read the log
// of the most senior process was in exclusive mode, and that one and a newcomer were not.
TEST(Rule6, non_exclusive_mode_waits_for_an_owner_in_exclusive_mode) {
  for (const bool releases : {false, true}) {
    Rig rig;
    auto& a = rig.start(1, "a");
    Record senior = rig::renewal_of(8, {1, 0}, "2", "2");
    senior.since = 1;
    senior.settings = rig.core_options(1, "a").settings;
    senior.settings->mode = "non_exclusive";
    Record owner = claim_of(9, "0");
    owner.since = 2;
    owner.settings = senior.settings;
    owner.settings->mode = "exclusive";
    rig.append(kLog, senior);
    const Epoch epoch = rig.append_claim(kLog, owner);
    rig.settle();
    rig.assign(a, "0,1");
    rig.run_for(500ms);
    ASSERT_FALSE(a.refused) << a.refused->message();
    EXPECT_TRUE(a.leads(1, rig.now()));
    EXPECT_FALSE(a.leads(0, rig.now()));
    if (releases) {
      rig.append(kLog, rig::release_of(9, epoch, "0"));
      rig.settle();
      EXPECT_TRUE(a.leads(0, rig.now()));
    } else {
      rig.run_for(510ms);
      EXPECT_TRUE(a.leads(0, rig.now())) << "its lease of a second is over";
    }
  }
}

TEST(Rule6, an_own_earlier_epoch_stands_in_nobody_s_way) {
  Rig rig(exclusive());
  auto& a = rig.start(1, "a");
  rig.run_for(2s);
  rig.assign(a, "0");
  EXPECT_TRUE(a.leads(0, rig.now()));
  rig.append(kLog, a.written.front().value);
  rig.settle();
  EXPECT_TRUE(a.leads(0, rig.now()));
  EXPECT_EQ(a.count(TransitionKind::stopped), 0u);
}

}  // namespace
}  // namespace neliroute
