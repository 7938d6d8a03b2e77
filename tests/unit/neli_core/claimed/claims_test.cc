// Rules 1 and 2 and "Own" of docs/protocol.md: claims, whose they are and what they end.
#include <gtest/gtest.h>

#include "tests/world/rig.h"
#include "tests/world/memory_log.h"

namespace neliroute {
namespace {

using rig::kLog;
using rig::kP0;
using rig::claim_of;
using rig::Rig;
using rig::RigOptions;
using rig::exclusive;
using namespace std::chrono_literals;

TEST(Rule1, assigned_writes_one_claim_for_all_partitions_of_a_log) {
  Rig rig;
  auto& a = rig.start(1, "a");
  rig.assign(a, "0-3");
  const auto claims = a.records(RecordType::claim);
  ASSERT_EQ(claims.size(), 1u);
  EXPECT_EQ(claims[0].parts->to_string(), "0-3");
  EXPECT_EQ(claims[0].id, ProcessId{1});
  EXPECT_FALSE(claims[0].since) << "nothing of its own was read yet";
}

TEST(Rule1, a_claim_that_failed_is_written_again_with_a_new_seq) {
  Rig rig;
  auto& a = rig.start(1, "a");
  a.fail_writes = true;
  rig.assign(a, "0");
  ASSERT_EQ(a.records(RecordType::claim).size(), 1u);
  rig.run_for(99ms);
  EXPECT_EQ(a.records(RecordType::claim).size(), 1u) << "not asked at once";
  a.fail_writes = false;
  rig.run_for(1ms);
  const auto claims = a.records(RecordType::claim);
  ASSERT_EQ(claims.size(), 2u);
  EXPECT_GT(claims[1].seq, claims[0].seq);
  EXPECT_TRUE(a.leads(0, rig.now()));
}

TEST(Rule1, a_claim_that_failed_is_written_again_though_another_process_lives) {
  Rig rig;
  auto& a = rig.start(1, "a");
  auto& b = rig.start(2, "b");
  rig.assign(b, "0");
  a.fail_writes = true;
  rig.assign(a, "0");  // the group's new assignee: it comes first
  a.fail_writes = false;
  rig.run_for(200ms);
  EXPECT_TRUE(a.leads(0, rig.now()));
}

TEST(Rule1, a_claim_not_read_back_within_2T_is_written_again) {
  Rig rig;
  auto& a = rig.start(1, "a");
  a.drop_writes = true;
  rig.assign(a, "0");
  const LocalTime written = rig.now();
  rig.run_to(written + 2s - 1us);
  EXPECT_EQ(a.records(RecordType::claim).size(), 1u);
  rig.run_to(written + 2s);
  ASSERT_EQ(a.records(RecordType::claim).size(), 2u);
  EXPECT_NE(a.records(RecordType::claim)[1].seq, a.records(RecordType::claim)[0].seq);
}

// Found by the simulator (non-exclusive, seed 15020): a truncation took a claim before it was read.
TEST(Rule1, a_claim_that_was_stored_where_something_else_stands_is_written_again) {
  for (const bool acknowledged_late : {false, true}) {
    Rig rig;
    auto& a = rig.start(1, "a");
    a.drop_writes = true;
    rig.assign(a, "0");
    rig.run_for(100ms);
    const WriteAcknowledged stored{a.unanswered.at(0), a.next[0]};
    if (!acknowledged_late) rig.step(a, stored);
    EXPECT_EQ(a.records(RecordType::claim).size(), 1u) << "it may still be read";
    a.drop_writes = false;
    rig.append(kLog, "what another wrote when the log had lost it");
    rig.settle();
    if (acknowledged_late) rig.step(a, stored);
    rig.settle();
    ASSERT_EQ(a.records(RecordType::claim).size(), 2u);
    EXPECT_TRUE(a.leads(0, rig.now()));
    rig.run_for(3s);
    EXPECT_EQ(a.records(RecordType::claim).size(), 2u);
  }
}

// Found by the simulator (non-exclusive, seed 563440561696012251): the process had read nothing of
// the log yet, so a recreated one was no gap for it.
TEST(Rule1, a_claim_that_was_stored_above_the_end_of_the_log_is_written_again) {
  for (const std::int64_t end : {5, 6}) {
    Rig rig;
    auto& a = rig.start(1, "a");
    a.drop_writes = true;
    rig.assign(a, "0");
    rig.run_for(100ms);
    const auto next = a.next[0];
    rig.step(a, WriteAcknowledged{a.unanswered.at(0), next + 5});
    rig.step(a, tail_at(kLog, next, next + end));
    rig.step(a, LogPosition{kLog, next + 5});
    rig.run_for(100ms);
    EXPECT_EQ(a.records(RecordType::claim).size(), end == 5 ? 2u : 1u);
    EXPECT_EQ(a.claims.counters().gaps, 0u);
  }
}

TEST(Rule1, a_claim_not_read_back_is_not_written_again_once_revoked) {
  Rig rig;
  auto& a = rig.start(1, "a");
  a.drop_writes = true;
  rig.assign(a, "0");
  rig.revoke(a, "0");
  rig.run_for(3s);
  EXPECT_EQ(a.records(RecordType::claim).size(), 1u);
}

TEST(Rule1, writing_a_claim_changes_nothing_in_what_is_held) {
  Rig rig;
  auto& a = rig.start(1, "a");
  rig.assign(a, "0");
  rig.revoke(a, "0");
  rig.append(kLog, claim_of(9, "0"));
  rig.settle();
  const Epoch first = *a.core.epoch(kP0);
  rig.run_for(100ms);  // a partition is not claimed twice within an interval
  a.hold = true;
  rig.assign(a, "0");
  ASSERT_EQ(a.records(RecordType::claim).size(), 2u);
  EXPECT_EQ(a.core.role_state(kP0), RoleState::draining);
  EXPECT_EQ(*a.core.epoch(kP0), first) << "drains until its own claim is read";
  a.hold = false;
  rig.settle();
  EXPECT_EQ(a.core.role_state(kP0), RoleState::leading);
  EXPECT_GT(*a.core.epoch(kP0), first);
  EXPECT_EQ(a.count(TransitionKind::stopped), 0u);
}

TEST(Rule1, a_drainer_that_read_no_foreign_claim_leads_on_and_claims_nothing) {
  Rig rig;
  auto& a = rig.start(1, "a");
  rig.assign(a, "0");
  const Epoch epoch = *a.core.epoch(kP0);
  rig.revoke(a, "0");
  rig.run_for(300ms);
  rig.assign(a, "0");
  EXPECT_EQ(a.core.role_state(kP0), RoleState::leading);
  EXPECT_EQ(*a.core.epoch(kP0), epoch);
  EXPECT_EQ(a.records(RecordType::claim).size(), 1u);
}

TEST(Rule2, the_newest_claim_ends_the_same_process_s_earlier_epoch) {
  Rig rig;
  auto& a = rig.start(1, "a");
  rig.assign(a, "0");
  const Epoch first = *a.core.epoch(kP0);
  a.keep_acks = true;
  rig.run_for(200ms);
  // A second own claim, as if the first had been thought lost: it lands twice.
  rig.append(kLog, a.written.front().value);
  rig.settle();
  const Epoch second = *a.core.epoch(kP0);
  EXPECT_GT(second, first);
  EXPECT_TRUE(a.leads(0, rig.now()));
  EXPECT_EQ(a.count(TransitionKind::stopped), 0u) << "the same ownership, a greater epoch";
  const auto stale = a.claims.counters().renewals_stale;
  rig.append(kLog, a.written[1].value);  // a renewal of the first epoch
  rig.settle();
  EXPECT_EQ(a.claims.counters().renewals_stale, stale + 1);
  const auto releases = a.records(RecordType::release);
  ASSERT_EQ(releases.size(), 1u);
  EXPECT_EQ(releases[0].epochs[0].claim_offset, first.offset);
}

// What is claimed, as JSON, and whether it ends the epoch of partition 0 in lane 0.
struct OddClaim {
  const char* name;
  std::string json;
  bool counts;
};

class OddClaims : public testing::TestWithParam<OddClaim> {};

TEST_P(OddClaims, rule_2_any_object_that_says_claim_and_this_lane_counts) {
  Rig rig(exclusive());
  auto& a = rig.start(1, "a");
  rig.assign(a, "0-3");
  ASSERT_TRUE(rig.run_until([&] { return a.leads(0, rig.now()); }, 2s));
  rig.append(kLog, GetParam().json);
  rig.settle();
  EXPECT_EQ(a.leads(0, rig.now()), !GetParam().counts);
}

std::string padded_claim(std::size_t bytes) {
  return R"({"v":3,"t":"claim","lane":0,"lparts":"0","mode":"of v3","more":")" +
         std::string(bytes, 'x') + "\"}";
}

INSTANTIATE_TEST_SUITE_P(
    , OddClaims,
    testing::Values(
        OddClaim{"bare", R"({"t":"claim","lane":0})", true},
        OddClaim{"v3_of_2_KB_with_unknown_mode", padded_claim(2048), true},
        OddClaim{"longer_than_64_KiB", padded_claim(70'000), true},
        OddClaim{"unreadable_partitions", R"({"t":"claim","lane":0,"lparts":{"v3":[7]}})", true},
        OddClaim{"partitions_as_a_number", R"({"t":"claim","lane":0,"lparts":0})", true},
        OddClaim{"partitions_out_of_bounds", R"({"t":"claim","lane":0,"lparts":"3-99999"})", true},
        OddClaim{"id_as_a_number", R"({"t":"claim","lane":0,"lparts":"0","id":1})", true},
        OddClaim{"version_1_of_other_partitions", R"({"v":1,"t":"claim","lane":0,"parts":"1"})",
                 true},
        OddClaim{"negative_lease", R"({"t":"claim","lane":0,"lparts":"0","lease_ms":-5})", true},
        OddClaim{"nested", R"({"t":"claim","lane":0,"lparts":"0","x":)" + std::string(200, '[') +
                               std::string(200, ']') + "}", true},
        OddClaim{"invalid_utf8", "{\"t\":\"claim\",\"lane\":0,\"lparts\":\"0\",\"by\":\"\xff\"}",
                 true},
        OddClaim{"readable_partitions_of_others", R"({"t":"claim","lane":0,"lparts":"1-3"})",
                 false},
        OddClaim{"another_lane", R"({"t":"claim","lane":1,"lparts":"0"})", false},
        OddClaim{"no_lane", R"({"t":"claim","lparts":"0"})", false},
        OddClaim{"lane_as_a_string", R"({"t":"claim","lane":"0","lparts":"0"})", false},
        OddClaim{"another_type", R"({"t":"CLAIM","lane":0,"lparts":"0"})", false},
        OddClaim{"no_object", R"(["t","claim","lane",0])", false},
        OddClaim{"no_json", R"({"t":"claim","lane":0,"lparts":"0")", false}),
    [](const auto& instance) { return std::string(instance.param.name); });

TEST(Rule2, unreadable_partitions_claim_every_partition_of_that_log_only) {
  RigOptions options = exclusive();
  options.logs = 2;
  Rig rig(options);
  auto& a = rig.start(1, "a");
  rig.assign(a, "0-3");
  ASSERT_TRUE(rig.run_until([&] { return a.leads(3, rig.now()); }, 2s));
  rig.append(Log{1}, R"({"t":"claim","lane":0})");
  rig.settle();
  EXPECT_TRUE(a.leads(0, rig.now()));
  EXPECT_FALSE(a.leads(1, rig.now()));
  EXPECT_TRUE(a.leads(2, rig.now()));
  EXPECT_FALSE(a.leads(3, rig.now()));
  EXPECT_EQ(a.claims.counters().claims_unreadable, 1u);
}

TEST(Rule2, a_claim_in_another_log_says_nothing_about_a_partition) {
  RigOptions options = exclusive();
  options.logs = 2;
  Rig rig(options);
  auto& a = rig.start(1, "a");
  rig.assign(a, "0-3");
  ASSERT_TRUE(rig.run_until([&] { return a.leads(1, rig.now()); }, 2s));
  rig.append(kLog, claim_of(9, "1"));
  rig.settle();
  EXPECT_TRUE(a.leads(1, rig.now()));
}

TEST(Rule2, a_claim_without_id_and_lease_counts_as_nobody_s_with_a_lease_of_T_star) {
  Rig rig(exclusive());
  auto& a = rig.start(1, "a");
  Record known = claim_of(8, "3");
  known.lease = known.max_lease = 1500ms;
  rig.append(kLog, known);
  rig.run_for(3s);  // the horizon is over
  rig.append(kLog, known);
  rig.append(kLog, R"({"t":"claim","lane":0,"lparts":"0"})");
  rig.settle();
  const LocalTime read = rig.now();
  rig.run_for(10ms);
  rig.assign(a, "0");
  rig.run_to(read + 1501500us);
  EXPECT_FALSE(a.leads(0, rig.now())) << "1500 ms, 0.1 % and 1 us";
  rig.run_to(read + 1501501us);
  EXPECT_TRUE(a.leads(0, rig.now()));
}

TEST(Rule2, the_lease_of_an_epoch_is_sent_plus_T_whenever_it_is_read) {
  Rig rig;
  auto& a = rig.start(1, "a");
  a.hold = true;
  rig.assign(a, "0");
  const LocalTime sent = rig.now();
  rig.run_for(300ms);
  a.drop_writes = true;  // no renewal after it
  a.hold = false;
  rig.settle();
  EXPECT_TRUE(a.leads(0, sent + 1s - rig::kGrain));
  EXPECT_FALSE(a.leads(0, sent + 1s));
}

/// Exclusive: b leads, and a is about to be assigned what it has.
struct Successor {
  Rig rig{exclusive()};
  rig::Process& a = rig.start(1, "a");
  rig::Process& b = rig.start(2, "b");

  Successor() { rig.assign(b, "0-1"); }
};

TEST(Rule3, a_claim_that_was_long_on_its_way_is_renewed_at_once_when_it_is_read) {
  Successor successor;
  auto& [rig, a, b] = successor;
  rig.run_for(2s);  // the topic is not new
  a.hold_writes = true;
  rig.revoke(b, "0");
  rig.assign(a, "0");
  rig.run_for(940ms);  // a new producer's first record; and no beat of a is due
  a.hold_writes = false;
  rig.arrive(a);
  rig.settle();
  EXPECT_EQ(a.records(RecordType::renewal).size(), 1u + 1u) << "that it looks, and that it leads";
  EXPECT_TRUE(a.leads(0, rig.now() + 1s - rig::kGrain)) << "not to the end of the claim's lease";
}

TEST(Rule3, a_claim_that_came_soon_needs_no_renewal_until_it_leads) {
  Successor successor;
  auto& [rig, a, b] = successor;
  rig.revoke(b, "0");
  b.keep_barriers = true;
  rig.assign(a, "0");
  rig.settle();
  EXPECT_EQ(a.records(RecordType::renewal).size(), 0u);
}

TEST(Rule2, a_running_lease_that_is_later_stays) {
  for (const bool foreign_between : {false, true}) {  // a drainer's own lease is no less its own
    Rig rig;
    auto& a = rig.start(1, "a");
    rig.assign(a, "0");
    const LocalTime sent = rig.now();
    rig.run_for(500ms);  // renewals extend it: to sent + 1500 ms
    a.drop_writes = true;
    if (foreign_between) rig.append(kLog, claim_of(9, "0"));
    rig.append(kLog, a.written.front().value);  // the own claim once more, as an old write lands
    rig.settle();
    EXPECT_TRUE(a.leads(0, sent + 1500ms - rig::kGrain));
    EXPECT_FALSE(a.leads(0, sent + 1500ms));
    EXPECT_EQ(a.count(TransitionKind::stopped), 0u);
  }
}

TEST(Rule2, an_own_claim_read_while_neither_assigned_nor_draining_is_released) {
  Rig rig;
  auto& a = rig.start(1, "a");
  a.hold = true;
  rig.assign(a, "0-1");
  rig.revoke(a, "0");
  a.hold = false;
  rig.settle();
  EXPECT_FALSE(a.leads(0, rig.now()));
  EXPECT_TRUE(a.leads(1, rig.now()));
  const auto releases = a.records(RecordType::release);
  ASSERT_EQ(releases.size(), 1u);
  ASSERT_EQ(releases[0].epochs.size(), 1u);
  EXPECT_EQ(releases[0].epochs[0].parts.to_string(), "0");
}

TEST(Own, is_the_id_and_never_the_name) {
  Rig rig(exclusive());
  auto& a = rig.start(1, "same");
  rig.assign(a, "0");
  ASSERT_TRUE(rig.run_until([&] { return a.leads(0, rig.now()); }, 2s));
  auto& b = rig.start(2, "same");
  rig.assign(b, "0");
  EXPECT_TRUE(rig.run_until([&] { return !a.leads(0, rig.now()); }, 20s));
  EXPECT_EQ(a.last(TransitionKind::stopped, 0)->reason, StopReason::superseded);
}

}  // namespace
}  // namespace neliroute
