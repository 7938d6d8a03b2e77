// E. Koutanov, "Non-Exclusive Leader Induction in Highly Available Systems": abstract, overview
// and practical implications. One test for each sentence that states a behaviour of ours.
#include <gtest/gtest.h>

#include <neliroute/slot_space.h>
#include <set>

#include "tests/paper/scene.h"

namespace neliroute::paper {
namespace {

using namespace std::chrono_literals;

// neli-paper: "The Non-Exclusive Leader Induction (NELI) protocol provides a mapping from a set
// of work roles to one or more assignees responsible for fulfilling each role."
TEST(NeliOverview, maps_every_role_to_an_assignee) {
  Scene scene(Mode::non_exclusive, 4);
  scene.start("a", "0-2");
  scene.start("b", "3");
  scene.settle_in();
  for (std::uint32_t slot = 0; slot < 16; ++slot) {
    EXPECT_EQ(scene.route("a", slot).owner(), slot % 4 == 3 ? "b" : "a") << slot;
  }
}

// neli-paper: "It can also be shown that with trivial modifications, NELI can be used in exclusive
// mode, trading availability for leader singularity, and multiple disjoint NELI groups may be used
// to satisfy strong continuous availability in non-exclusive mode."
TEST(NeliOverview, exclusive_mode_trades_availability_for_singularity) {
  for (const Mode mode : {Mode::exclusive, Mode::non_exclusive}) {
    Scene scene(mode);
    auto& a = scene.start("a", "0");
    scene.start("b");
    scene.settle_in();
    a.stopped = true;  // for as long as its lease lasts it may wake up, and answer yes
    scene.run(1s);
    scene.assign("b", "0");
    scene.run(10s);
    EXPECT_EQ(scene.shared() == 0us, mode == Mode::exclusive);
    EXPECT_EQ(scene.unowned() > 1s + 1ms, mode == Mode::exclusive);
  }
}

TEST(NeliOverview, disjoint_groups_give_every_role_a_leader_each) {
  Scene scene(Mode::non_exclusive);
  scene.start("a", "0-1");
  scene.start("x", "0-1", Lane{1});
  scene.settle_in();
  scene.crash("a");
  scene.run(3s);
  EXPECT_TRUE(scene.leads("x"));
  EXPECT_EQ(scene.stage.tally(kP0, Lane{1}).unowned, 0us);
}

// neli-paper: "The protocol yields a non-exclusive leader in a group of contending processes for
// one of a number of notional roles, such that each role has at least one leader assigned to it."
// neli-paper: "Availability of the system is imperative; it's required that at least one leader is
// assigned to a role at all times so that the system as a whole remains operational and progress
// is made on every role (the liveness property);"
TEST(NeliOverview, each_role_has_at_least_one_leader_at_all_times_of_a_planned_move) {
  Scene scene(Mode::non_exclusive, 4);
  scene.start("a", "0-3");
  scene.start("b");
  for (int round = 0; round < 10; ++round) {
    scene.run(700ms);
    scene.revoke("a", "0-3");
    scene.run(900ms);  // a rebalance takes its time
    scene.assign("b", "0-3");
    scene.run(700ms);
    scene.move("0-3", "b", "a");
  }
  for (std::uint32_t p = 0; p < 4; ++p) EXPECT_EQ(scene.unowned(Partition{p}), 0us);
}

// neli-paper: "The number of processes and roles is fully dynamic, and may vary on an ad hoc
// basis."
// neli-paper: "Processes and roles may be added and removed without reconfiguration of the group
// or downtime."
// Processes; the number of slots is fixed while a group runs (docs/seeds.md).
TEST(NeliOverview, processes_come_and_go_without_downtime) {
  Scene scene(Mode::non_exclusive);
  scene.start("p0", "0-1");
  for (int i = 1; i <= 20; ++i) {
    const std::string before = "p" + std::to_string(i - 1);
    const std::string next = "p" + std::to_string(i);
    scene.run(1s);
    scene.start(next);
    scene.move("0-1", before, next);
    scene.run(100ms);
    scene.crash(before);  // it owns nothing any more
  }
  EXPECT_TRUE(scene.leads("p20"));
  EXPECT_EQ(scene.unowned(), 0us);
}

// neli-paper: "This accommodates rolling deployments, auto-scaling groups, and so forth;"
// As a story: tests/scenarios/rolling-restart.txt.
TEST(NeliOverview, accommodates_rolling_deployments) {
  Scene scene(Mode::non_exclusive);
  scene.start("a", "0");
  scene.start("b", "1");
  scene.settle_in();
  for (const std::string old : {"a", "b"}) {
    auto& leaving = scene.process(old);
    scene.start(old + "2");
    scene.stage.rig().step(leaving, CloseRequested{scene.now() + 10s});
    scene.run(500ms);
    EXPECT_FALSE(leaving.closed) << "it leads until it is relieved";
    scene.assign(old + "2", old == "a" ? "0" : "1");
    scene.run(1s);
    EXPECT_TRUE(leaving.closed);
  }
  EXPECT_EQ(scene.unowned(kP0), 0us);
  EXPECT_EQ(scene.unowned(kP1), 0us);
}

// neli-paper: "There are a number of roles that need fulfilling, and it's desirable to share this
// load among several processes (likely deployed on different hosts);"
TEST(NeliOverview, roles_are_shared_among_processes) {
  Scene scene(Mode::exclusive, 3);
  scene.start("a", "0");
  scene.start("b", "1");
  scene.start("c", "2");
  scene.settle_in();
  EXPECT_TRUE(scene.leads("a", 0) && scene.leads("b", 1) && scene.leads("c", 2));
  for (std::uint32_t p = 0; p < 3; ++p) EXPECT_EQ(scene.leaders(p), 1u);
}

// neli-paper: "Under NELI, leaders aren't chosen directly, but induced through other phenomena
// that are observable by the affected group members, allowing them to infer that new leadership is
// in force."
TEST(NeliOverview, leadership_is_inferred_from_the_log_and_imparted_by_nobody) {
  Scene scene(Mode::exclusive);
  auto& a = scene.start("a", "0");
  scene.start("b");
  scene.settle_in();
  scene.assign("b", "0");  // nobody tells a
  EXPECT_FALSE(scene.leads("a"));
  EXPECT_EQ(a.last(TransitionKind::stopped, 0)->reason, StopReason::superseded);
  EXPECT_TRUE(scene.leads("b"));
}

// neli-paper: "The protocol is also eventually consistent, in that although members of the group
// may possess different views at discrete moments in time, these views will invariably converge."
TEST(NeliOverview, views_converge) {
  Scene scene(Mode::non_exclusive);
  scene.start("a", "0");
  scene.start("b");
  auto& c = scene.start("c");
  scene.settle_in();
  c.hold = true;
  scene.move("0", "a", "b");
  scene.run(100ms);
  EXPECT_EQ(scene.route("a", 0).owner(), "b");
  EXPECT_EQ(scene.route("c", 0).owner(), "a") << "it has not read the news yet";
  scene.stage.rig().release_hold(c);
  scene.run(1s);
  for (const std::string name : {"a", "b", "c"}) {
    EXPECT_EQ(scene.route(name, 0).owner(), "b") << name;
    EXPECT_EQ(scene.route(name, 0).epoch, scene.epoch("b")) << name;
  }
}

// neli-paper: "In the above scenario, a non-exclusive leader solves the availability problem
// without introducing excessive data duplication."
// neli-paper: "(In fact, duplication may only be observable during a leadership transition."
// neli-paper: "So a distributed cluster of processes may share the load of publishing price
// streams without overlapping under normal conditions; no minority subset of processes is
// responsible for publishing of the majority of data streams."
TEST(NeliOverview, two_lead_during_a_transition_only) {
  Scene scene(Mode::non_exclusive);
  auto& a = scene.start("a", "0-1");
  scene.start("b");
  scene.run(1min);
  EXPECT_EQ(scene.shared(), 0us) << "at rest";
  scene.revoke("a", "0");
  a.hold = true;  // its successor's first renewal needs 40 ms to reach it
  scene.assign("b", "0");
  scene.run(40ms);
  scene.stage.rig().release_hold(a);
  scene.run(1min);
  EXPECT_EQ(scene.shared(kP0), 40ms);
  EXPECT_EQ(scene.shared(kP1), 0us);
  EXPECT_EQ(scene.unowned(kP0), 0us);
}

// neli-paper: "Furthermore, non-exclusive leadership may be used as a load-balancing technique,
// such that one leader is chosen for each of the independent financial instruments for which a
// stream of pricing data exists."
TEST(NeliOverview, one_leader_for_each_of_many_keys) {
  Scene scene(Mode::non_exclusive, 4);
  scene.start("a", "0,2");
  scene.start("b", "1,3");
  scene.settle_in();
  const SlotSpace space(SlotCount{16});
  for (const char* instrument : {"EUR/USD", "GBP/USD", "XAU", "BRENT", "T-NOTE", "IBM"}) {
    const Slot slot = space.slot_of(instrument);
    const int local = (scene.route("a", slot.value()).verdict == Verdict::local) +
                      (scene.route("b", slot.value()).verdict == Verdict::local);
    EXPECT_EQ(local, 1) << instrument;
  }
}

// neli-paper: "By mapping a fixed number of notional hash slots to roles, then subsequently using
// NELI to arbitrate role assignment for a dynamically variable set of processes P (deployed on
// hosts across the cluster), we achieve a stable mapping from processes to hash slots that varies
// minimally with membership changes in P."
TEST(NeliOverview, only_the_slots_of_partitions_that_move_change_owner) {
  Scene scene(Mode::non_exclusive, 4);
  scene.start("a", "0-1");
  scene.start("b", "2-3");
  scene.start("c");
  scene.settle_in();
  std::vector<std::string> before;
  for (std::uint32_t slot = 0; slot < 16; ++slot) {
    before.emplace_back(scene.route("c", slot).owner());
  }
  const Epoch untouched = scene.epoch("a", kP0);
  scene.move("1", "a", "c");
  scene.run(1s);
  for (std::uint32_t slot = 0; slot < 16; ++slot) {
    EXPECT_EQ(scene.route("c", slot).owner(), slot % 4 == 1 ? "c" : before[slot]) << slot;
  }
  EXPECT_EQ(scene.epoch("a", kP0), untouched) << "who keeps a slot keeps its epoch";
}

// neli-paper: "Taking the hash of a given key, modulo the number of hash slots, we arrive at the
// process that is singly or jointly responsible for managing the appropriate shard."
TEST(NeliOverview, the_hash_of_a_key_modulo_slots_leads_to_its_process) {
  Scene scene(Mode::non_exclusive);
  scene.start("a", "0");
  scene.start("b", "1");
  scene.settle_in();
  const std::string key = "user:4711";
  const std::uint64_t hash = xxh3(key);
  const Slot slot = SlotSpace(SlotCount{16}).slot_of(key);
  EXPECT_EQ(slot.value(), hash % 16);
  EXPECT_EQ(scene.route("a", slot.value()).owner(), hash % 16 % 2 == 0 ? "a" : "b");
}

}  // namespace
}  // namespace neliroute::paper
