// Zeebe's "Priority based election": what it rejects and we have, a transfer of leadership; and its
// priorities, by which members rank for the seat of the assigner.
#include <gtest/gtest.h>

#include "tests/paper/scene.h"
#include "tests/unit/neli_core/assigner/assigned_rig.h"

namespace neliroute::paper {
namespace {

using namespace std::chrono_literals;
using told::AssignedRig;

told::Process& start(AssignedRig& rig, std::uint64_t id, std::uint32_t seat_priority) {
  AssignedOptions options = rig.core_options(id);
  options.seat_priority = seat_priority;
  told::Process& started = rig.start(std::move(options));
  rig.run_for(1000ms);
  return started;
}

// zeebe-priority-election: "Raft paper proposes a protocol for transferring leadership from one
// node to the other."
// zeebe-priority-election: "This protocol is guaranteed to transfer the leadership (in case of no
// failures)."
// zeebe-priority-election: "The leadership transfer happens when it is externally triggered."
TEST(Zeebe, a_process_that_is_asked_to_leave_hands_its_leadership_over) {
  for (const Mode mode : {Mode::exclusive, Mode::non_exclusive}) {
    Scene scene(mode);
    auto& a = scene.start("a", "0-1");
    scene.start("b");
    scene.settle_in();
    scene.stage.rig().step(a, CloseRequested{scene.now() + 10s});
    EXPECT_TRUE(a.left_group);
    scene.run(500ms);
    scene.assign("b", "0-1");
    EXPECT_TRUE(scene.leads("b", 0) && scene.leads("b", 1));
    EXPECT_FALSE(scene.leads("a", 0) || scene.leads("a", 1));
    EXPECT_TRUE(a.closed) << "long before its bound";
    scene.run(10s);
    EXPECT_EQ(scene.unowned(), 0us);
    EXPECT_EQ(scene.shared(), 0us);
  }
}

// The scenario of the text, for the right to assign instead of a partition. Each of the living has
// a rank, so that the next one waits for nothing. There are no votes: the log orders the claims.
//
// zeebe-priority-election: "This means, a node with higher priority has a better chance of becoming
// the leader."
// zeebe-priority-election: "In this way, the node with the highest priority starts election first
// and thus has a higher chance of getting elected as the new leader."
// zeebe-priority-election: "Consider the following scenario:"
// zeebe-priority-election: "NodeA : {nodePriority = 3, targetPriority = 3} NodeB : {nodePriority =
// 2, targetPriority = 3} NodeC : {nodePriority = 1, targetPriority = 3} NodeA is the current leader
// and it dies. priorityDecay = 1 ."
// zeebe-priority-election: "If the current leader is the primary, the secondary can immediately
// starts the election if the primary dies."
// zeebe-priority-election: "No need to wait until the priority is reduced."
// zeebe-priority-election: "Allow users to configure priorities."
TEST(Zeebe, where_the_assigner_dies_the_next_in_priority_claims_its_seat_at_once) {
  AssignedRig rig;
  told::Process& a = start(rig, 1, 3);
  told::Process& c = start(rig, 2, 1);  // senior to b
  told::Process& b = start(rig, 3, 2);
  ASSERT_TRUE(a.core.seat().held_by_own());
  const LocalTime killed = rig.now();
  rig.kill(a);
  ASSERT_TRUE(rig.run_until([&] { return b.core.seat().held_by_own(); }, 5000ms));
  EXPECT_LE(rig.now(), killed + told::kSession + told::kInterval);
  EXPECT_EQ(c.core.counters().seats_claimed, 0u);
}

// Not so here: whoever starts takes nothing from an assigner that lives.
//
// zeebe-priority-election: "To ensure that on cluster start the primary becomes the leader, we can
// let the primary starts sending poll requests immediately after it is started."
// zeebe-priority-election: "This might trigger an election even if there is an existing leader."
// zeebe-priority-election: "In addition, we can also let the primary trigger an election
// immediately when it is started."
TEST(Zeebe, a_process_of_a_higher_priority_that_starts_leaves_the_seat_where_it_is) {
  AssignedRig rig;
  told::Process& a = start(rig, 1, 0);
  told::Process& b = start(rig, 2, 100);
  rig.run_for(30'000ms);
  EXPECT_TRUE(a.core.seat().held_by_own());
  EXPECT_EQ(b.core.counters().seats_claimed, 0u);
}

}  // namespace
}  // namespace neliroute::paper
