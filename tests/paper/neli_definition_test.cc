// E. Koutanov, "Non-Exclusive Leader Induction in Highly Available Systems": the protocol
// definition. One test for each sentence that states a behaviour of variation `claimed`, or of
// both.
#include <gtest/gtest.h>

#include <set>

#include "neli_core/timing.h"
#include "slots/partition.h"
#include "tests/paper/scene.h"

namespace neliroute::paper {
namespace {

using namespace std::chrono_literals;

// neli-paper: "A set of discrete roles R is available for assignment, and a set of processes P
// contend for assignment of roles in R."
TEST(NeliDefinition, processes_contend_and_one_of_them_gets_the_role) {
  Scene scene(Mode::exclusive);
  for (const std::string name : {"a", "b", "c", "d"}) scene.start(name, "0");
  scene.run(30s);
  EXPECT_EQ(scene.leaders(), 1u);
  EXPECT_EQ(scene.shared(), 0us);
}

// neli-paper: "The number of elements in the set M may vary from that of R which, in turn, may
// vary from P."
TEST(NeliDefinition, partitions_roles_and_processes_differ_in_number) {
  scenario::StageOptions options = Scene::with(Mode::exclusive, 5);
  options.rig.slots = 13;
  Scene scene(options);
  scene.start("a", "0-1");
  scene.start("b", "2");
  scene.start("c", "3-4");
  scene.settle_in();
  for (std::uint32_t slot = 0; slot < 13; ++slot) EXPECT_EQ(scene.leaders(slot % 5), 1u);
}

// neli-paper: "As per the broker's partition assignment rules, a partition will be assigned to at
// most one consumer."
// neli-paper: "Note — this is a fundamental assumption of NELI, requiring a broker that is capable
// of arbitrating partition assignments."
// Not of ours: safety does not rest on it.
TEST(NeliDefinition, two_that_are_both_assigned_do_not_lead_at_once) {
  Scene scene(Mode::exclusive);
  scene.start("a", "0");
  scene.start("b", "0");
  scene.run(1min);
  EXPECT_EQ(scene.shared(), 0us);
  EXPECT_EQ(scene.leaders(), 1u);
}

// neli-paper: "Multiple partitions may be assigned to a single consumer, and this number may vary
// slightly from consumer to consumer."
TEST(NeliDefinition, one_process_leads_several_partitions) {
  Scene scene(Mode::non_exclusive, 5);
  scene.start("a", "0-2");
  scene.start("b", "3-4");
  scene.run(1s);
  EXPECT_EQ(scene.process("a").claims.held_count(), 3u);
  EXPECT_EQ(scene.process("b").claims.held_count(), 2u);
  EXPECT_TRUE(scene.leads("a", 0) && scene.leads("a", 1) && scene.leads("a", 2));
}

// neli-paper: "The term NELI group is used to refer to a set P operating under a distinct consumer
// group."
// neli-paper: "(An alternate consumer group for P implies a completely different NELI group, as
// partition assignment within the broker is distinct to a consumer group.)"
TEST(NeliDefinition, another_group_is_another_lane_whose_claims_mean_nothing_here) {
  Scene scene(Mode::exclusive);
  auto& a = scene.start("a", "0");
  scene.settle_in();
  const Epoch epoch = scene.epoch("a");
  scene.start("x", "0", Lane{1});
  scene.settle_in();
  EXPECT_TRUE(scene.leads("a"));
  EXPECT_TRUE(scene.leads("x"));
  EXPECT_EQ(scene.epoch("a"), epoch);
  EXPECT_EQ(a.count(TransitionKind::stopped), 0u);
}

// neli-paper: "Each process p in P, now being a consumer of C, will maintain a vector V of size
// identical to that of M, with each vector element corresponding to a partition in M, and
// initialised to zero."
TEST(NeliDefinition, the_vector_has_an_element_for_each_partition_and_starts_at_zero) {
  Scene scene(Mode::non_exclusive, 7);
  auto& a = scene.start("a");
  ASSERT_EQ(a.core.leases()->size(), 7u);
  for (std::uint32_t p = 0; p < 7; ++p) {
    EXPECT_EQ(a.core.leases()->get(Partition{p}).until.time_since_epoch().count(), 0);
  }
}

// neli-paper: "V is sized during initialisation of p, by querying the brokers of M to determine
// the number of partitions in M, which will remain a constant."
// neli-paper: "This implies that M may not be expanded while a group is in operation."
// Asking the brokers: tests/kafka/refusals_test.py and outage_test.py, test_partitions_added.
TEST(NeliDefinition, partitions_added_while_running_are_reported_and_never_claimed) {
  Scene scene(Mode::non_exclusive);
  auto& a = scene.start("a", "0-1");
  scene.run(1s);
  scene.assign("a", "2-3");
  scene.run(10s);
  EXPECT_EQ(a.core.leases()->size(), 2u);
  EXPECT_EQ(a.records(RecordType::claim).size(), 1u);
  ASSERT_EQ(a.notices.size(), 1u);
  EXPECT_EQ(a.notices[0].severity, Severity::error);
  EXPECT_NE(a.notices[0].text.find("the topic has grown"), std::string::npos);
}

// neli-paper: "Assuming no subsequent partition reassignments have occurred, each p's vector
// comprises a combination of zero and non-zero values, where zero values denote partitions that
// haven't been assigned to p, and non-zero values correspond to partitions that have been assigned
// to p at least once in the lifetime of p."
TEST(NeliDefinition, the_vector_is_zero_where_nothing_was_assigned) {
  Scene scene(Mode::non_exclusive, 4);
  scene.start("a", "0,2");
  scene.start("b", "1,3");
  scene.settle_in();
  const auto of = [&](std::uint32_t p) {
    return scene.lease_end("a", Partition{p}).time_since_epoch().count();
  };
  EXPECT_GT(of(0), 0);
  EXPECT_EQ(of(1), 0);
  EXPECT_GT(of(2), 0);
  EXPECT_EQ(of(3), 0);
}

// neli-paper: "If the timestamp at any of vector element i is current — in other words, it is more
// recent than some predefined constant threshold T that lags the current time — then p is a leader
// for M_i."
// Ours holds the time at which T will be over, counted from when the record was written.
TEST(NeliDefinition, leads_while_its_newest_renewal_is_younger_than_T) {
  Scene scene(Mode::non_exclusive);
  auto& a = scene.start("a", "0");
  scene.run(2s);
  const LocalTime newest = scene.now();  // a renewal every 500 ms, the last one just now
  a.stopped = true;
  EXPECT_LE(newest + scene.stage.options().rig.lease - scene.lease_end("a"), rig::kGrain);
  EXPECT_TRUE(a.leads(0, newest + scene.stage.options().rig.lease - rig::kGrain));
  EXPECT_FALSE(a.leads(0, newest + scene.stage.options().rig.lease));
}

// neli-paper: "If partition assignment for M_i is altered (for example, if p is partitioned from
// the brokers of M, or a timeout occurs), then V_i will cease incrementing and will eventually be
// lapsed by T."
// neli-paper: "At this point, p must no longer assume that it's the leader for M_i."
TEST(NeliDefinition, who_is_cut_off_lapses_after_T) {
  for (const Mode mode : {Mode::exclusive, Mode::non_exclusive}) {
    Scene scene(mode);
    auto& a = scene.start("a", "0");
    scene.run(12s);
    const LocalTime end = scene.lease_end("a");
    scene.stage.cut_log(scene.actor("a"));
    scene.run(scene.stage.options().rig.lease - 1ms);
    EXPECT_TRUE(scene.leads("a"));
    EXPECT_EQ(scene.lease_end("a"), end) << "it ceased to move";
    scene.run(1ms);
    EXPECT_FALSE(scene.leads("a"));
    EXPECT_EQ(a.last(TransitionKind::stopped, 0)->reason, StopReason::lapsed);
  }
}

// neli-paper: "To determine whether p is a leader for role R_j, p will compute k = j mod size(M)
// and check whether p is a leader for M_k through inspection of its local V_k value."
TEST(NeliDefinition, a_role_is_led_where_its_partition_modulo_M_is) {
  Scene scene(Mode::non_exclusive, 3);
  scene.start("a", "0,2");
  scene.start("b", "1");
  scene.run(1s);
  for (std::uint32_t j = 0; j < 16; ++j) {
    EXPECT_EQ(partition_of(Slot{j}, 3), j % 3);
    EXPECT_EQ(scene.route("a", j).verdict, j % 3 == 1 ? Verdict::remote : Verdict::local) << j;
  }
}

// neli-paper: "Where size(M) > size(R), ownership of a higher numbered partition in M does not
// necessarily correspond to a role in R — the mapping from R to M is injective."
TEST(NeliDefinition, more_partitions_than_roles_leaves_some_without_any) {
  std::set<std::uint32_t> used;
  for (std::uint32_t j = 0; j < 3; ++j) used.insert(partition_of(Slot{j}, 8));
  EXPECT_EQ(used, (std::set<std::uint32_t>{0, 1, 2}));
  EXPECT_EQ(slots_on_partition(7, SlotCount{3}, 8), 0u);
}

// neli-paper: "M should not be excessively larger than R, so as to avoid processes that have no
// actual role assignments in spite of owning one or more partitions (for high numbered
// partitions)."
TEST(NeliDefinition, so_slots_fewer_than_partitions_are_refused) {
  Scene scene(Mode::non_exclusive, 8);
  CoreOptions options = scene.stage.rig().core_options(1, "a");
  options.settings.slots = 7;
  const auto refused = options.validate();
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message().find("slots 7 are fewer than partitions 8"),
            std::string::npos);
  options.settings.slots = 8;
  EXPECT_TRUE(options.validate());
}

// neli-paper: "If size(M) < size(R), ownership of a partition in M corresponds to (potentially)
// multiple roles in R, i.e. R \rightarrow M is surjective."
TEST(NeliDefinition, fewer_partitions_than_roles_carry_several_each) {
  std::set<std::uint32_t> used;
  for (std::uint32_t j = 0; j < 10; ++j) used.insert(partition_of(Slot{j}, 4));
  EXPECT_EQ(used.size(), 4u);
  EXPECT_EQ(slots_on_partition(0, SlotCount{10}, 4), 3u);
  EXPECT_EQ(slots_on_partition(3, SlotCount{10}, 4), 2u);
}

// neli-paper: "And finally, if size(M) = size(R), the relationship is purely bijective."
TEST(NeliDefinition, as_many_partitions_as_roles_carry_one_each) {
  for (std::uint32_t j = 0; j < 9; ++j) {
    EXPECT_EQ(partition_of(Slot{j}, 9), j);
    EXPECT_EQ(slots_on_partition(j, SlotCount{9}, 9), 1u);
  }
}

// neli-paper: "Hence the use of the modulo operation to remap the dynamic extent of R for
// alignment with M, guaranteeing totality of R \rightarrow M."
// neli-paper: "Without the modulo reduction, R \rightarrow M will be partial when size(M) <
// size(R), resulting in an indefinitely dormant role and violating the liveness property of the
// protocol."
TEST(NeliDefinition, no_role_is_dormant) {
  for (const std::uint32_t partitions : {1u, 2u, 3u, 7u, 16u}) {
    Scene scene(Mode::non_exclusive, partitions);
    scene.start("a", "0-" + std::to_string(partitions - 1));
    scene.run(1s);
    for (std::uint32_t slot = 0; slot < 16; ++slot) {
      EXPECT_EQ(scene.route("a", slot).verdict, Verdict::local) << slot << " of " << partitions;
    }
  }
}

// neli-paper: "Under non-exclusive leadership, the value of T is chosen such that T is greater
// than the partition reassignment threshold of the broker."
TEST(NeliDefinition, non_exclusive_refuses_a_T_that_is_not_above_the_session) {
  for (const Profile profile : {Profile::fast, Profile::balanced, Profile::steady}) {
    TimingRequest request;
    request.profile = profile;
    const auto timing = derive_timing(request, SessionFacts{});
    ASSERT_TRUE(timing);
    EXPECT_GT(timing->lease, timing->session);
    request.lease = timing->session;
    const auto refused = derive_timing(request, SessionFacts{});
    ASSERT_FALSE(refused);
    EXPECT_NE(refused.error().message().find(std::to_string(timing->session.count()) + " ms"),
              std::string::npos);
  }
}

// neli-paper: "In Kafka, this is given by the property session.timeout.ms on the consumer, which
// is 10 seconds by default — so T could be 30 seconds, allowing for up to 20 seconds of overlap
// between successive leadership transitions."
// neli-paper: "In other words, if the partition assignment is withdrawn from an existing leader,
// it may presume for a further 20 seconds that it is still leading, allowing for the emerging
// leader to take over."
// neli-paper: "In that time frame, one or more roles may be fulfilled concurrently by both leaders
// — which is acceptable a priori."
TEST(NeliDefinition, with_a_session_of_10_s_and_T_of_30_s_two_lead_for_20_s_at_most) {
  Scene scene(scenario::options_for(Mode::non_exclusive, Profile::steady));
  ASSERT_EQ(scene.stage.options().session, 10s);
  ASSERT_EQ(scene.stage.options().rig.lease, 30s);
  auto& a = scene.start("a", "0");
  scene.start("b");
  scene.run(10s);
  a.stopped = true;  // it can neither renew nor read, but may wake up and be asked
  scene.run(10s);
  scene.assign("b", "0");
  scene.run(1min);
  EXPECT_EQ(std::chrono::round<milliseconds>(scene.shared()), 20s);
}

// neli-paper: "R should be at least one in size, as otherwise there are no assignable roles."
TEST(NeliDefinition, no_roles_at_all_are_refused) {
  EXPECT_FALSE(SlotCount::make(0));
  CoreOptions options = Scene(Mode::exclusive).stage.rig().core_options(1, "a");
  options.settings.slots = 0;
  ASSERT_FALSE(options.validate());
  EXPECT_NE(options.validate().error().message().find("at least 1"), std::string::npos);
}

// neli-paper: "The heartbeat.interval.ms property on the consumer should be set to sufficiently
// small value, such as 10."
TEST(NeliDefinition, the_heartbeat_is_a_tenth_of_the_session) {
  TimingRequest request;
  SessionFacts classic;
  classic.protocol = GroupProtocol::classic;
  request.session = 5s;
  EXPECT_EQ(derive_timing(request, classic)->heartbeat, 500ms);
  request.session = 30s;
  EXPECT_EQ(derive_timing(request, classic)->heartbeat, 3s);
}

// neli-paper: "By using a different consumer group ID in a common topic C — in effect a different
// NELI group — the same set of partitions M can be exploited to assign a different set of roles R'
// to the same or a different set of processes P or P', with no change to the protocol."
// For lanes R' is R: who disagrees about slots must not share a topic (One configuration).
TEST(NeliDefinition, two_lanes_assign_the_same_partitions_to_different_processes) {
  Scene scene(Mode::exclusive);
  scene.start("a", "0");
  scene.start("b", "1");
  scene.start("x", "1", Lane{1});
  scene.start("y", "0", Lane{1});
  scene.settle_in();
  EXPECT_TRUE(scene.leads("a", 0) && scene.leads("y", 0));
  EXPECT_TRUE(scene.leads("b", 1) && scene.leads("x", 1));
  EXPECT_EQ(scene.route("a", 1).owner(), "b");
  EXPECT_EQ(scene.route("y", 1).owner(), "x") << "each lane has hints of its own";
}

}  // namespace
}  // namespace neliroute::paper
