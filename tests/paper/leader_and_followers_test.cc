// M. Fowler's catalogue (U. Joshi), "Leader and Followers": states, heartbeats, the generation
// clock. One test for each sentence that states a behaviour of ours.
#include <gtest/gtest.h>

#include <map>

#include "tests/paper/scene.h"
#include "tests/world/memory_log.h"

namespace neliroute::paper {
namespace {

using namespace std::chrono_literals;

// leader-and-followers: "Select one server amongst the cluster as leader."
// leader-and-followers: "Only the leader handles the client requests."
TEST(LeaderAndFollowers, one_is_the_leader_and_only_it_answers_local) {
  Scene scene(Mode::exclusive);
  scene.start("a", "0");
  scene.start("b");
  scene.start("c");
  scene.settle_in();
  EXPECT_EQ(scene.route("a", 0).verdict, Verdict::local);
  EXPECT_EQ(scene.route("b", 0).verdict, Verdict::remote);
  EXPECT_EQ(scene.route("c", 0).verdict, Verdict::remote);
}

// leader-and-followers: "Every server at startup looks for an existing leader."
// leader-and-followers: "If no leader is found, it triggers a leader election."
// leader-and-followers: "Leader election happens at server startup."
TEST(LeaderAndFollowers, reads_the_history_before_it_joins_and_claims) {
  Scene scene(Mode::exclusive);
  scene.start("a", "0");
  scene.settle_in();
  scene.crash("a");
  ClaimProtocol core = *ClaimProtocol::make(scene.stage.rig().core_options(9, "c"));
  const std::int64_t end = scene.stage.rig().log(0).end();
  core.step(tail_at(Log{0}, end - 1, end), scene.now());
  EXPECT_FALSE(core.take_ready().subscribe) << "a record is still to be read";
  const auto& last = scene.stage.rig().log(0).records.back();
  core.step(Received{Log{0}, end - 1, last.stamped, true, last.value.get()}, scene.now());
  const Ready ready = core.take_ready();
  EXPECT_TRUE(ready.subscribe);
  EXPECT_TRUE(ready.writes.empty()) << "claims only what the group assigns";
  core.step(GroupAssigned{PartitionRanges::of({kP0})}, scene.now());
  EXPECT_EQ(core.take_ready().writes.size(), 0u) << "who led may live yet";
  for (int i = 0; i < 12; ++i) {
    scene.run(250ms);
    core.step(LogPosition{Log{0}, end}, scene.now());
  }
  EXPECT_EQ(core.take_ready().writes.size(), 1u);
}

// leader-and-followers: "The servers accept requests only after a leader is selected
// successfully."
// leader-and-followers: "The system does not accept any client requests unless a leader is
// elected."
TEST(LeaderAndFollowers, nobody_serves_a_slot_that_has_no_leader_yet) {
  Scene scene(Mode::exclusive);
  scene.start("a");
  scene.start("b");
  scene.assign("a", "0");
  scene.run(2s);  // in its grace
  EXPECT_EQ(scene.route("a", 0).verdict, Verdict::unowned);
  EXPECT_EQ(scene.route("b", 0).verdict, Verdict::unowned);
  EXPECT_EQ(scene.route("b", 0).next_owner(), "a");
  scene.run(1s);
  EXPECT_EQ(scene.route("a", 0).verdict, Verdict::local);
}

// leader-and-followers: "If a request is sent to a follower server, the follower can forward it to
// the leader server."
// It knows whereto; forwarding itself is the router's next step.
TEST(LeaderAndFollowers, a_follower_knows_the_endpoint_of_the_leader) {
  Scene scene(Mode::exclusive);
  scene.start("a", "0");
  scene.start("b", "1");
  scene.settle_in();
  EXPECT_EQ(scene.route("b", 0).endpoint(), "a:1");
  EXPECT_EQ(scene.route("a", 1).endpoint(), "b:1");
  EXPECT_GT(scene.route("b", 0).valid_for, 0us);
}

// leader-and-followers: "As explained in the Generation Clock pattern, every leader election also
// needs to update the generation number."
TEST(LeaderAndFollowers, every_ownership_has_a_greater_epoch) {
  for (const Mode mode : {Mode::exclusive, Mode::non_exclusive}) {
    Scene scene(mode);
    scene.start("a", "0");
    scene.start("b");
    scene.settle_in();
    Epoch before = scene.epoch("a");
    for (int i = 0; i < 10; ++i) {
      const std::string next = i % 2 == 0 ? "b" : "a";
      scene.move("0", i % 2 == 0 ? "a" : "b", next);
      scene.run(5s);
      ASSERT_TRUE(scene.leads(next));
      EXPECT_GT(scene.epoch(next), before);
      before = scene.epoch(next);
    }
  }
}

// leader-and-followers: "The server can always be in one of the three states, Leader, Follower or
// Looking For Leader (or Candidate) public enum ServerRole { LOOKING_FOR_LEADER, FOLLOWING,
// LEADING; }"
// And in a fourth one, draining, while it hands over.
TEST(LeaderAndFollowers, following_looking_leading_draining) {
  Scene scene(Mode::exclusive);
  auto& a = scene.start("a");
  auto& b = scene.start("b");
  EXPECT_EQ(a.core.role_state(kP0), RoleState::following);
  scene.assign("a", "0");
  EXPECT_EQ(a.core.role_state(kP0), RoleState::looking);
  scene.settle_in();
  EXPECT_EQ(a.core.role_state(kP0), RoleState::leading);
  scene.revoke("a", "0");
  EXPECT_EQ(a.core.role_state(kP0), RoleState::draining);
  scene.assign("b", "0");
  EXPECT_EQ(a.core.role_state(kP0), RoleState::following);
  EXPECT_EQ(b.core.role_state(kP0), RoleState::leading);
}

// leader-and-followers: "HeartBeat mechanism is used to detect if an existing leader has failed,
// so that new leader election can be started."
// leader-and-followers: "If followers do not get a heartbeat in specified time interval, a new
// leader election is triggered."
// Mostly it is Kafka's session that detects it. Beside that, who is assigned but was superseded
// claims again when the newest owner is silent.
TEST(LeaderAndFollowers, an_assignee_claims_again_when_the_owner_falls_silent) {
  for (const Mode mode : {Mode::exclusive, Mode::non_exclusive}) {
    Scene scene(mode);
    scene.start("a", "0");
    scene.start("b");
    scene.settle_in();
    scene.assign("b", "0");  // a believes to be assigned, too
    scene.run(3s);
    ASSERT_TRUE(scene.leads("b"));
    ASSERT_FALSE(scene.leads("a"));
    scene.crash("b");
    scene.run(5s);
    EXPECT_TRUE(scene.leads("a"));
    EXPECT_EQ(scene.process("a").records(RecordType::claim).size(), 2u);
  }
}

// leader-and-followers: "Once a server is voted for in a given Generation Clock, the same vote is
// returned for that generation always."
// leader-and-followers: "This makes sure that some other server requesting a vote for the same
// generation is not elected, when a successful election has already happened."
// Nobody votes: an epoch is the offset of one record, so it can have one owner only.
TEST(LeaderAndFollowers, no_two_processes_ever_hold_the_same_epoch) {
  Scene scene(Mode::non_exclusive);
  const std::vector<std::string> names{"a", "b", "c"};
  for (const auto& name : names) scene.start(name, "0");  // all at once
  for (int i = 0; i < 30; ++i) {
    scene.move("0", names[static_cast<std::size_t>(i % 3)],
               names[static_cast<std::size_t>((i + 1) % 3)]);
    scene.run(211ms);
  }
  std::map<Epoch, std::string> owner_of;
  for (const auto& name : names) {
    for (const Transition& t : scene.process(name).transitions) {
      if (t.kind != TransitionKind::acquired) continue;
      const auto [known, added] = owner_of.emplace(t.epoch, name);
      EXPECT_TRUE(added || known->second == name) << t.epoch.offset;
    }
  }
  EXPECT_GT(owner_of.size(), 10u);
}

// leader-and-followers: "Once elected, the leader continuously sends HeartBeat to all the
// followers."
// leader-and-followers: "The elected leader repeatedly updates the key before the time to live
// value."
TEST(LeaderAndFollowers, the_leader_renews_long_before_its_lease_ends) {
  Scene scene(Mode::exclusive);
  auto& a = scene.start("a", "0");
  scene.settle_in();
  for (int i = 0; i < 100; ++i) {
    scene.run(100ms);
    EXPECT_GE(scene.lease_end("a") - scene.now(), scene.stage.options().rig.lease / 2);
  }
  CoreOptions slow = a.claims.options();
  slow.interval = slow.lease / 3 + 1ms;
  EXPECT_FALSE(slow.validate()) << "fewer than three renewals a lease are refused";
}

// leader-and-followers: "A heartbeat implementation to expire the key if no heartbeat is received
// from the elected leader, so that a new election can be triggered."
// leader-and-followers: "A notification mechanism to notify all the interested servers if a key
// expires."
// leader-and-followers: "Every server can set a watch on this key, and servers get notified if the
// key expires without getting updated from the existing leader within the time to live setting.
// e.g. etcd allows a compareAndSwap operation, by allowing a set key operation only if the key
// does not exist previously."
TEST(LeaderAndFollowers, everybody_notices_when_an_owner_s_lease_expires) {
  Scene scene(Mode::exclusive);
  scene.stage.watch("w", Lane{0});
  scene.start("a", "0");
  scene.start("b", "1");  // keeps the log alive
  scene.settle_in();
  scene.crash("a");
  scene.run(scene.stage.options().rig.lease);
  EXPECT_EQ(scene.route("b", 0).verdict, Verdict::unowned);
  EXPECT_EQ(scene.stage.find("w")->lookup->route(Slot{0}, scene.now()).verdict, Verdict::unowned);
  EXPECT_EQ(scene.route("b", 1).verdict, Verdict::local);
}

// leader-and-followers: "Depending on the external store used, the key is created with a small
// time to live."
TEST(LeaderAndFollowers, a_claim_says_how_long_it_lasts) {
  Scene scene(Mode::exclusive);
  auto& a = scene.start("a", "0");
  ASSERT_EQ(a.records(RecordType::claim).size(), 1u);
  EXPECT_EQ(a.records(RecordType::claim)[0].lease, scene.stage.options().rig.lease);
}

// leader-and-followers: "All other servers watch for the liveness of the existing leader."
// leader-and-followers: "When it is detected that the existing leader is down, a new leader
// election is triggered."
// leader-and-followers: "The failure detection happens using the same external linearizable store
// used for the leader election."
TEST(LeaderAndFollowers, a_dead_leader_is_replaced_with_nothing_but_the_ledger) {
  Scene scene(Mode::exclusive);
  scene.start("a", "0");
  scene.start("b");
  scene.settle_in();
  scene.crash("a");
  scene.run(scene.stage.options().session);
  scene.assign("b", "0");
  EXPECT_TRUE(scene.leads("b"));
  EXPECT_EQ(scene.unowned(), scene.stage.options().session);
}

}  // namespace
}  // namespace neliroute::paper
