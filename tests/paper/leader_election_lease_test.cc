// R. Vitillo, "Leader election best practices": leases and fencing tokens. One test for each
// sentence that states a behaviour of ours.
#include <gtest/gtest.h>

#include "tests/paper/scene.h"
#include "tests/paper/store.h"

namespace neliroute::paper {
namespace {

using namespace std::chrono_literals;

// leader-election-lease: "To grant a process these powers, the system needs to elect a leader
// among a set of candidate processes, which remains in charge until it crashes or becomes
// otherwise unavailable."
// leader-election-lease: "When that happens, the remaining processes detect that the leader is no
// longer available and elect a new one."
TEST(LeaderElectionLease, a_leader_stays_in_charge_until_it_crashes) {
  Scene scene(Mode::exclusive);
  auto& a = scene.start("a", "0");
  scene.start("b");
  scene.run(10min);
  EXPECT_EQ(a.count(TransitionKind::acquired), 1u);
  EXPECT_EQ(a.count(TransitionKind::stopped), 0u);
  scene.crash("a");
  scene.run(scene.stage.options().session);
  scene.assign("b", "0");
  EXPECT_TRUE(scene.leads("b"));
}

// leader-election-lease: "A compare-and-swap operation updates the value of a key if and only if
// the value matches the expected one, while an expiration time defines the time to live for a key,
// after which the key expires and is removed from the store if the lease hasn't been extended."
// leader-election-lease: "The first process to succeed becomes the leader and remains such until
// it stops renewing the lease, after which another process can become the leader."
// Of the second half: our log has no compare-and-swap, its order decides.
TEST(LeaderElectionLease, another_becomes_leader_once_the_lease_is_not_renewed) {
  Scene scene(Mode::exclusive);
  scene.start("a", "0");
  scene.start("b");
  scene.settle_in();
  scene.crash("a");
  const LocalTime end = scene.lease_end("a");
  scene.assign("b", "0");  // at once: the group was quicker than the lease
  scene.stage.rig().run_to(end);
  EXPECT_FALSE(scene.leads("b"));
  scene.run(100ms);
  EXPECT_TRUE(scene.leads("b"));
  EXPECT_GE(scene.process("b").last(TransitionKind::acquired, 0)->at, end);
}

// leader-election-lease: "Each process tries to acquire a "lease" by creating a new key with a
// specific TTL using compare-and-swap."
TEST(LeaderElectionLease, the_lease_runs_from_before_the_claim_was_written) {
  Scene scene(Mode::non_exclusive);
  auto& a = scene.start("a");
  a.hold_writes = true;
  const LocalTime written = scene.now();
  scene.assign("a", "0");
  scene.run(2s);  // it takes that long to get through
  scene.stage.heal(scene.actor("a"));
  ASSERT_TRUE(scene.leads("a"));
  const auto claim = a.records(RecordType::claim);
  ASSERT_EQ(claim.size(), 1u);
  const Transition& acquired = *a.last(TransitionKind::acquired, 0);
  EXPECT_EQ(acquired.at, written + 2s);
  scene.stage.cut_log(scene.actor("a"));  // nothing later counts
  EXPECT_LE(scene.lease_end("a"), scene.now() + scene.stage.options().rig.lease);
  a.stopped = true;
  EXPECT_FALSE(a.leads(0, written + 2s + scene.stage.options().rig.lease));
}

// leader-election-lease: "The problem here is that by the time the process writes the content to
// the store, it might no longer be the leader – a lot might have happened since it was elected."
// leader-election-lease: "For example, the operating system might have preempted and stopped the
// process, and several seconds will have passed by the time it's running again."
// leader-election-lease: "It could check one more time before writing to the store, but that
// doesn't eliminate the race condition, it just makes it less likely."
TEST(LeaderElectionLease, one_more_check_finds_a_process_that_was_stopped_out) {
  Scene scene(Mode::exclusive);
  auto& a = scene.start("a", "0");
  scene.settle_in();
  ASSERT_TRUE(scene.leads("a"));
  a.stopped = true;
  scene.run(5s);
  a.stopped = false;
  EXPECT_FALSE(scene.leads("a")) << "before it has handled a single event";
}

// leader-election-lease: "To avoid this issue, the data store downstream needs to verify that the
// request has been sent by the current leader."
// leader-election-lease: "One way to do that is by using a fencing token."
// leader-election-lease: "When the leader writes to the store, it passes down the fencing token to
// it."
// leader-election-lease: "The store remembers the value of the last token and accepts only writes
// with a greater value:"
// Or with an equal one: an owner writes more than once.
TEST(LeaderElectionLease, the_store_refuses_whose_epoch_is_not_the_newest) {
  for (const Mode mode : {Mode::exclusive, Mode::non_exclusive}) {
    Scene scene(mode);
    scene.start("a", "0");
    scene.start("b");
    scene.settle_in();
    Store store;
    const Epoch first = scene.epoch("a");
    EXPECT_TRUE(store.write(first, "1"));
    EXPECT_TRUE(store.write(first, "2"));
    scene.move("0", "a", "b");
    scene.run(3s);
    ASSERT_TRUE(scene.leads("b"));
    EXPECT_TRUE(store.write(scene.epoch("b"), "3"));
    EXPECT_FALSE(store.write(first, "4"));
    EXPECT_EQ(store.value(), "3");
  }
}

// leader-election-lease: "A fencing token is a number that increases every time that a distributed
// lock is acquired – in other words, it's a logical clock."
TEST(LeaderElectionLease, the_epoch_increases_with_every_acquisition_even_if_the_topic_is_new) {
  Scene scene(Mode::exclusive);
  scene.start("a", "0");
  scene.start("b");
  scene.settle_in();
  const Epoch first = scene.epoch("a");
  scene.move("0", "a", "b");
  scene.run(3s);
  const Epoch second = scene.epoch("b");
  EXPECT_GT(second, first);
  scene.stage.delete_topic();
  scene.run(1s);
  scene.stage.create_topic();
  scene.run(5s);
  const Epoch third = scene.epoch("b");
  ASSERT_TRUE(scene.leads("b"));
  EXPECT_LT(third.offset, second.offset) << "offsets started over";
  EXPECT_GT(third, second);
}

// leader-election-lease: "For example, if there are momentarily two leaders and they both perform
// the same idempotent operation, no harm is done."
// leader-election-lease: "If it doesn't, you are out of luck, and you will have to design your
// system around the fact that occasionally there will be more than one leader."
// Two of non-exclusive mode; even they can be told apart.
TEST(LeaderElectionLease, there_may_be_two_leaders_for_a_while_of_different_epochs) {
  Scene scene(Mode::non_exclusive);
  auto& a = scene.start("a", "0");
  scene.start("b");
  scene.settle_in();
  a.stopped = true;
  scene.run(3s);
  scene.assign("b", "0");
  EXPECT_EQ(scene.leaders(), 2u);
  EXPECT_LT(scene.epoch("a"), scene.epoch("b"));
}

// leader-election-lease: "Also, having a leader introduces a single point of failure with a large
// blast radius - if the election process stops working or the leader isn't working as expected, it
// can bring down the entire system with it."
// leader-election-lease: "You can mitigate some of these downsides by introducing partitions and
// assigning a different leader per partition, but that comes with additional complexity."
TEST(LeaderElectionLease, a_crash_concerns_the_leader_s_partitions_alone) {
  Scene scene(Mode::exclusive, 4);
  for (std::uint32_t p = 0; p < 4; ++p) {
    scene.start("p" + std::to_string(p), std::to_string(p));
  }
  scene.settle_in();
  scene.crash("p2");
  scene.run(30s);
  for (std::uint32_t p = 0; p < 4; ++p) {
    EXPECT_EQ(scene.unowned(Partition{p}) == 0us, p != 2) << p;
  }
}

// leader-election-lease: "As a rule of thumb, if you must use leader election, you have to
// minimize the work it performs and be prepared to occasionally have more than one leader if you
// can't support fencing tokens end-to-end."
// The token is there to be supported: whoever may lead holds one.
TEST(LeaderElectionLease, who_leads_has_an_epoch_to_hand_on) {
  Scene scene(Mode::exclusive);
  scene.start("a", "0");
  scene.settle_in();
  ASSERT_EQ(scene.route("a", 0).verdict, Verdict::local);
  EXPECT_EQ(scene.route("a", 0).epoch, scene.epoch("a"));
  EXPECT_GT(scene.route("a", 0).epoch, kNoEpoch);
}

}  // namespace
}  // namespace neliroute::paper
