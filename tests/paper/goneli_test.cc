// goNELI's README: its events, fencing, resuming, and the barrier that may block. One test for
// each sentence that states a behaviour of ours; goNELI knows one role, partition zero, ours are
// many.
#include <gtest/gtest.h>

#include "tests/paper/scene.h"

namespace neliroute::paper {
namespace {

using namespace std::chrono_literals;

// goneli: "Implementation of the NELI leader election protocol for Go and Kafka. goNELI
// encapsulates the 'fast' variation of the protocol, running in exclusive mode over a group of
// contending processes."
// goneli: "For a set of competing processes, select one process that is a notional leader,
// ensuring that at-most one process may bear the leader status at any point in time, and that this
// status is unanimously agreed upon among the remaining processes."
TEST(GoNeli, one_of_the_contenders_leads_and_the_others_agree_who) {
  Scene scene(Mode::exclusive);
  scene.start("a", "0");
  for (const std::string name : {"b", "c", "d"}) scene.start(name);
  scene.settle_in();
  EXPECT_EQ(scene.leaders(), 1u);
  for (const std::string name : {"b", "c", "d"}) {
    EXPECT_EQ(scene.route(name, 0).owner(), "a") << name;
    EXPECT_EQ(scene.route(name, 0).epoch, scene.epoch("a")) << name;
  }
}

// goneli: "Setting up a barrier to synchronize leadership transition, so that the new leader does
// not step in until the outgoing leader has completed all of its backlogged work."
// goneli: "The application may block the Barrier callback until it wraps up any in-flight
// activity."
// goneli: "Only upon returning from the callback, will a new leader be elected."
TEST(GoNeli, the_new_leader_waits_for_the_barrier_of_the_old_one) {
  Scene scene(Mode::exclusive);
  auto& a = scene.start("a", "0");
  scene.start("b");
  scene.settle_in();
  a.keep_barriers = true;
  scene.move("0", "a", "b");
  scene.run(700ms);
  EXPECT_FALSE(scene.leads("a"));
  EXPECT_FALSE(scene.leads("b")) << "a's application still works";
  const Transition stopped = *a.last(TransitionKind::stopped, 0);
  scene.stage.rig().step(a, BarrierDone{kP0, stopped.epoch});
  scene.stage.rig().settle();
  EXPECT_TRUE(scene.leads("b"));
}

// The same sentence, and what it leaves out: goNELI's barrier is bounded by the group's rebalance
// timeout. Ours never holds the group up, and is bounded by the end of the lease.
TEST(GoNeli, a_barrier_that_outlasts_the_lease_is_told_so_and_keeps_nobody_waiting) {
  Scene scene(Mode::exclusive);
  auto& a = scene.start("a", "0");
  scene.start("b");
  scene.settle_in();
  a.keep_barriers = true;
  const auto before = a.rebalances_done;
  scene.move("0", "a", "b");
  EXPECT_EQ(a.rebalances_done, before + 1);
  scene.run(5s);
  EXPECT_EQ(a.count(TransitionKind::barrier_overdue), 1u);
  EXPECT_TRUE(scene.leads("b"));
  EXPECT_EQ(scene.shared(), 0us);
}

// goneli: "Used to initialise state upon leader acquisition, and to wrap up in-flight work upon
// loss of leader status."
// goneli: "The application may initialise any state necessary to perform work as a leader."
// goneli: "It will also invoke the optionally supplied Barrier callback with a LeaderAcquired
// event, allowing the application to handle the leadership assignment."
// goneli: "(For example, to initialise the necessary state before commencing its work.)"
TEST(GoNeli, the_application_hears_of_the_acquisition_and_of_the_loss) {
  Scene scene(Mode::exclusive);
  auto& a = scene.start("a", "0");
  scene.start("b");
  scene.settle_in();
  ASSERT_EQ(a.transitions.size(), 1u);
  EXPECT_EQ(a.transitions[0].kind, TransitionKind::acquired);
  EXPECT_EQ(a.transitions[0].epoch, scene.epoch("a"));
  scene.move("0", "a", "b");
  ASSERT_EQ(a.transitions.size(), 4u);
  EXPECT_EQ(a.transitions[1].kind, TransitionKind::draining);
  EXPECT_EQ(a.transitions[2].kind, TransitionKind::stopped);
  EXPECT_EQ(a.transitions[3].kind, TransitionKind::released);
}

// goneli: "The application must immediately terminate any ongoing activity, on the assumption that
// another leader may be imminently elected."
// goneli: "Unlike the handling of LeaderRevoked, blocking in the Barrier callback will not prevent
// a new leader from being elected."
// LeaderFenced is our `stopped` with the reason `lapsed`: its barrier's deadline is over already.
TEST(GoNeli, the_barrier_of_a_lapse_prevents_nobody_from_leading) {
  Scene scene(Mode::exclusive);
  auto& a = scene.start("a", "0");
  scene.start("b");
  scene.settle_in();
  a.keep_barriers = true;
  scene.stage.cut_log(scene.actor("a"));
  scene.run(scene.stage.options().session);
  const Transition* stopped = a.last(TransitionKind::stopped, 0);
  ASSERT_NE(stopped, nullptr);
  EXPECT_EQ(stopped->reason, StopReason::lapsed);
  EXPECT_EQ(stopped->barrier_deadline, stopped->at) << "nothing is left of it";
  scene.assign("b", "0");
  EXPECT_TRUE(scene.leads("b"));
}

// goneli: "Avoid blocking for too long, otherwise we may miss a poll and lose leader status."
// Its status is a flag that only a poll clears; ours is a deadline, so that who does not poll
// loses it all the same.
TEST(GoNeli, who_is_not_pulsed_loses_its_status_without_a_poll) {
  Scene scene(Mode::exclusive);
  auto& a = scene.start("a", "0");
  scene.settle_in();
  a.stopped = true;  // nobody calls it any more
  const std::size_t told = a.transitions.size();
  scene.run(scene.stage.options().rig.lease);
  EXPECT_FALSE(scene.leads("a"));
  EXPECT_EQ(a.transitions.size(), told) << "it has not been called";
}

// goneli: "A unique identifier shared by all instances in a group of competing processes."
// goneli: "These parameters may be chosen arbitrarily; however, they must be shared by all members
// of the encompassing process group, and may not be shared with members of unrelated process
// groups."
TEST(GoNeli, who_has_another_group_on_the_same_lane_is_refused) {
  Scene scene(Mode::exclusive);
  scene.start("a", "0");
  scene.settle_in();
  CoreOptions options = scene.stage.rig().core_options(77, "b");
  options.settings.group = "unrelated";
  scene.stage.start("b", std::move(options));
  scene.run(1s);
  ASSERT_TRUE(scene.process("b").refused);
  EXPECT_NE(scene.process("b").refused->message().find("group is unrelated here, but group"),
            std::string::npos);
  EXPECT_TRUE(scene.leads("a"));
}

// goneli: "The symbolic name of this instance."
// goneli: "This field is informational only, accompanying all log messages."
TEST(GoNeli, equal_names_confuse_nobody) {
  Scene scene(Mode::exclusive);
  CoreOptions options = scene.stage.rig().core_options(1, "a");
  options.process.name = "same";
  scene.stage.start("a", options);
  options.id = ProcessId{2};
  scene.stage.start("b", options);
  scene.assign("a", "0");
  scene.settle_in();
  scene.assign("b", "0");
  EXPECT_FALSE(scene.leads("a"));
  EXPECT_TRUE(scene.leads("b"));
  EXPECT_EQ(scene.route("a", 0).owner(), "same");
  EXPECT_EQ(scene.route("a", 0).verdict, Verdict::remote);
}

// goneli: "HeartbeatTimeout 5 s The period that a leader will maintain its status, not having
// received a heartbeat message on the leader topic."
// goneli: "After the timeout elapses, the leader will assume a network partition and will
// voluntarily yield its status, signalling a LeaderFenced event to the application."
// goneli: "If no heartbeat is received within the period specified by Config.ReceiveDeadline (5
// seconds by default), the leader will clear the isLeader lag, while maintaining isAssigned."
// goneli: "It will then forward a LeaderFenced event to the Barrier callback, taking the
// worst-case assumption that the partition will be reassigned."
TEST(GoNeli, without_its_heartbeats_for_T_a_leader_yields_and_stays_assigned) {
  Scene scene(Mode::exclusive);
  auto& a = scene.start("a", "0");
  scene.settle_in();
  const LocalTime end = scene.lease_end("a");
  a.hold = true;  // it can write, but nothing comes back
  scene.stage.rig().run_to(end - 1ms);
  EXPECT_TRUE(scene.leads("a"));
  scene.run(2ms);
  EXPECT_FALSE(scene.leads("a"));
  ASSERT_NE(a.last(TransitionKind::stopped, 0), nullptr);
  EXPECT_EQ(a.last(TransitionKind::stopped, 0)->reason, StopReason::lapsed);
  EXPECT_EQ(a.core.role_state(kP0), RoleState::looking) << "assigned, and no leader";
}

// goneli: "Under NELI, leaders aren't agreed upon directly, but induced through other phenomena
// that are observable by the affected group members, allowing them to individually infer
// leadership."
// goneli: "A member of a group can autonomously determine whether it is a leader or not."
TEST(GoNeli, whether_it_leads_a_process_knows_without_asking_anybody) {
  Scene scene(Mode::exclusive);
  auto& a = scene.start("a", "0");
  scene.settle_in();
  const std::size_t written = a.written.size();
  const std::size_t rereads = a.rereads.size();
  EXPECT_TRUE(a.core.leads(kP0, scene.now()));
  EXPECT_FALSE(a.core.leads(kP1, scene.now()));
  EXPECT_EQ(a.written.size(), written);
  EXPECT_EQ(a.rereads.size(), rereads);
}

// goneli: "In the latter case, it cannot determine which process is the real leader, only that it
// is a process other than itself."
// That was so; our records say who.
TEST(GoNeli, who_does_not_lead_knows_who_does) {
  Scene scene(Mode::exclusive);
  scene.start("a", "0");
  scene.start("b");
  scene.settle_in();
  const Route route = scene.route("b", 0);
  EXPECT_EQ(route.verdict, Verdict::remote);
  EXPECT_EQ(route.owner(), "a");
  EXPECT_EQ(route.endpoint(), "a:1");
}

// goneli: "When a NELI client starts, it has no knowledge of whether it is a leader or a standby
// process."
TEST(GoNeli, at_start_a_process_neither_leads_nor_knows_who_does) {
  Scene scene(Mode::exclusive);
  scene.start("a", "0");
  scene.settle_in();
  auto& b = scene.start("b");
  EXPECT_FALSE(scene.leads("b"));
  EXPECT_EQ(b.core.role_state(kP0), RoleState::following);
  EXPECT_EQ(scene.route("b", 0).verdict, Verdict::unknown) << "what it found may be long over";
}

// goneli: "For partition zero, one process will be assigned ownership; others will be kept in a
// holding pattern — waiting for the current assignee to depart."
TEST(GoNeli, others_are_kept_waiting_until_the_owner_departs) {
  Scene scene(Mode::exclusive);
  auto& a = scene.start("a", "0");
  auto& b = scene.start("b");
  scene.run(30s);
  EXPECT_EQ(b.core.role_state(kP0), RoleState::following);
  EXPECT_TRUE(b.written.empty());
  scene.stage.rig().step(a, CloseRequested{scene.now() + 5s});
  scene.assign("b", "0");
  EXPECT_TRUE(scene.leads("b"));
}

// goneli: "Once the client discovers that it has been assigned partition zero, it will set a pair
// of internal flags isAssigned and isLeader."
// goneli: "The former indicating that the client owns partition zero; the latter indicating that
// it is the assumed leader."
// goneli: "The rebalance callback straightforwardly determines leadership through partition
// assignment, where the latter is managed by Kafka's group coordinator."
// Ours are not set together: being assigned is the suggestion to claim, and who claimed must read
// it.
TEST(GoNeli, assigned_and_leading_are_two_things) {
  Scene scene(Mode::non_exclusive);
  auto& a = scene.start("a");
  a.hold = true;
  scene.assign("a", "0");
  EXPECT_EQ(a.core.role_state(kP0), RoleState::looking);
  EXPECT_FALSE(scene.leads("a"));
  scene.stage.rig().release_hold(a);
  EXPECT_EQ(a.core.role_state(kP0), RoleState::leading);
  EXPECT_TRUE(scene.leads("a"));
}

// goneli: "Kafka's group coordinator may later choose to reassign the partition to another
// process."
// goneli: "If the current leader sees that partition zero has been revoked, it will clear both
// flags and invoke the Barrier callback with a LeaderRevoked event."
// Ours gets `draining`, and continues to lead until its successor claims: the gap is shorter.
TEST(GoNeli, who_is_revoked_is_told_and_leads_until_another_claims) {
  Scene scene(Mode::exclusive);
  auto& a = scene.start("a", "0");
  scene.start("b");
  scene.settle_in();
  scene.revoke("a", "0");
  EXPECT_EQ(a.transitions.back().kind, TransitionKind::draining);
  EXPECT_TRUE(scene.leads("a"));
  scene.assign("b", "0");
  EXPECT_FALSE(scene.leads("a"));
  ASSERT_NE(a.last(TransitionKind::stopped, 0), nullptr);
}

// goneli: "Competing processes subscribe to the same topic under an identical consumer group ID,
// using Kafka's exclusive partition assignment as a mechanism for arbitrating leader status."
// Kafka's assignment is honoured here; where it is not, the order of the log arbitrates:
// NeliDefinition.two_that_are_both_assigned_do_not_lead_at_once.
// goneli: "The use of the callback requires a stable network connection to the Kafka cluster;
// otherwise, if a network partition occurs, another client may be granted partition ownership
// behind the scenes — an event which is not synchronized with the outgoing leader."
TEST(GoNeli, ownership_granted_behind_the_scenes_makes_no_second_leader) {
  Scene scene(Mode::exclusive);
  scene.start("a", "0");
  scene.start("b");
  scene.settle_in();
  scene.stage.cut_log(scene.actor("a"));  // from everything
  scene.run(scene.stage.options().session);
  scene.assign("b", "0");
  scene.run(5s);
  EXPECT_TRUE(scene.leads("b"));
  EXPECT_EQ(scene.shared(), 0us);
}

// goneli: "In addition to observing partition assignment changes, the owner of partition zero
// periodically publishes a heartbeat message to Config.LeaderTopic."
TEST(GoNeli, the_owner_publishes_every_interval_and_nobody_else_does) {
  Scene scene(Mode::exclusive);
  auto& a = scene.start("a", "0-1");
  auto& b = scene.start("b");
  scene.settle_in();
  const std::size_t before = a.written.size();
  scene.run(10s);
  EXPECT_EQ(a.written.size() - before, 20u) << "one record for both partitions, every 500 ms";
  EXPECT_TRUE(b.written.empty());
}

// goneli: "The client also consumes messages from that topic — effectively observing its own
// heartbeats, and thereby asserting that it is connected to the cluster and still owns the
// partition in question."
TEST(GoNeli, a_heartbeat_counts_once_it_was_read_back) {
  Scene scene(Mode::exclusive);
  auto& a = scene.start("a", "0");
  scene.settle_in();
  a.hold = true;
  const LocalTime end = scene.lease_end("a");
  scene.run(1s);
  EXPECT_EQ(scene.lease_end("a"), end) << "stored and acknowledged, but not read";
  scene.stage.rig().release_hold(a);
  EXPECT_GT(scene.lease_end("a"), end);
}

// goneli: "If connectivity is later resumed while the process is still the owner of the partition
// on the broker, it will again receive a heartbeat, allowing it to resume the leader role."
TEST(GoNeli, resumes_under_the_same_epoch_when_its_heartbeats_return) {
  Scene scene(Mode::exclusive);
  auto& a = scene.start("a", "0");
  scene.settle_in();
  const Epoch epoch = scene.epoch("a");
  scene.stage.cut_log(scene.actor("a"));
  scene.run(5s);
  ASSERT_FALSE(scene.leads("a"));
  scene.stage.heal(scene.actor("a"));
  scene.run(1s);
  EXPECT_TRUE(scene.leads("a"));
  EXPECT_EQ(scene.epoch("a"), epoch);
  EXPECT_EQ(a.count(TransitionKind::acquired), 2u);
  EXPECT_EQ(a.records(RecordType::claim).size(), 1u);
}

// goneli: "If the partition has been subsequently reassigned, no heartbeat messages will be
// received upon reconnection and the client will be forced to rejoin the group — the act of which
// will invoke the rebalance callback, effectively resetting the client."
// Ours need not wait for that: it reads that another has claimed.
TEST(GoNeli, who_was_replaced_meanwhile_does_not_resume) {
  Scene scene(Mode::exclusive);
  auto& a = scene.start("a", "0");
  scene.start("b");
  scene.settle_in();
  scene.stage.cut_log(scene.actor("a"));
  scene.run(scene.stage.options().session);
  scene.assign("b", "0");
  scene.run(2s);
  scene.stage.heal(scene.actor("a"));
  scene.run(5s);
  EXPECT_FALSE(scene.leads("a"));
  EXPECT_FALSE(a.core.epoch(kP0)) << "dropped for ever";
  EXPECT_EQ(a.count(TransitionKind::acquired), 1u);
  EXPECT_TRUE(scene.leads("b"));
}

// goneli: "It uses an internal Kafka consumer client to subscribe to a topic specified by
// Config.LeaderTopic, using the Config.LeaderGroupID consumer group."
// goneli: "As part of the subscription, a rebalance listener callback is registered with the Kafka
// consumer — to be notified of partition reassignments."
// goneli: "Either way, a leadership change is picked up via the rebalance callback."
TEST(GoNeli, joins_the_group_by_itself_and_answers_every_rebalance) {
  Scene scene(Mode::exclusive);
  auto& a = scene.start("a");
  EXPECT_TRUE(a.subscribed);
  scene.assign("a", "0");
  scene.revoke("a", "0");
  scene.assign("a", "0-1");
  EXPECT_EQ(a.rebalances_done, 3u);
}

}  // namespace
}  // namespace neliroute::paper
