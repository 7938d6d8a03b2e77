// E. Koutanov, "Non-Exclusive Leader Induction in Highly Available Systems": what only the
// paper's own variation, `broadcast`, does. One test for each sentence that states a behaviour.
#include <gtest/gtest.h>

#include "tests/unit/neli_core/broadcast/broadcast_rig.h"

namespace neliroute::paper {
namespace {

using broadcast_rig::options_of;
using broadcast_rig::Process;
using broadcast_rig::World;
using namespace std::chrono_literals;

// neli-paper: "The number of roles is dynamic, as is the number of contending processes."
// neli-paper: "(As opposed to elements in P and R which may vary dynamically."
// neli-paper: "Ownership of M_i still requires a translation to a role assignment, as the number
// of roles in R may vary from the number of partitions in M, and in fact, may do so dynamically
// without prior notice."
TEST(NeliBroadcast, roles_and_processes_vary_while_running) {
  World world;
  Process& a = world.add();
  world.assign(a, "0-3");
  world.pass(1s);
  Roles roles(a.core.leases(), 2);
  EXPECT_EQ(roles.led_count(world.now()), 2u);
  ASSERT_TRUE(roles.set_count(9));
  EXPECT_EQ(roles.led_count(world.now()), 9u) << "at once, and nobody was told";
  Process& b = world.add();
  world.revoke(a, "1,3");
  world.assign(b, "1,3");
  world.pass(20s);
  EXPECT_EQ(roles.led_count(world.now()), 5u) << "0, 2, 4, 6, 8";
  EXPECT_EQ(Roles(b.core.leases(), 9).led_count(world.now()), 4u);
  EXPECT_EQ(a.core.leases()->size(), 4u) << "M stays";
}

// neli-paper: "Each process in P continually publishes a message on all partitions in M (each
// successive message is broadcast a few seconds apart)."
// neli-paper: "As each process in P publishes a message to M, then each partition in the set M is
// continually subjected to messages from each process."
TEST(NeliBroadcast, each_process_publishes_on_all_partitions) {
  for (const std::size_t processes : {1u, 2u, 5u}) {
    World world;
    for (std::size_t i = 0; i < processes; ++i) world.add();
    const std::size_t before = world.length(0);
    world.pass(10s);
    for (std::uint32_t p = 0; p < 4; ++p) {
      EXPECT_EQ(world.length(p) - before, 20 * processes) << "each every 500 ms, assigned or not";
    }
  }
}

// neli-paper: "The message has no key or value; the producing process explicitly specifies the
// partition number for each published message."
// The state machine asks for no more than a broadcast; that Kafka's records have neither:
// tests/unit/ledgers/kafka.
TEST(NeliBroadcast, a_message_carries_nothing_and_means_the_same_from_a_stranger) {
  World world;
  Process& a = world.add();
  world.assign(a, "0");
  a.mute = true;
  world.pass(20s);
  ASSERT_FALSE(world.leads(a));
  world.append(Partition{0}, world.broker_now());
  world.pass(0ms);
  EXPECT_TRUE(world.leads(a)) << "whoever wrote it, whatever it says";
}

// neli-paper: "Corollary to this, for as long as at least one process in P remains operational,
// there will be at least one message continually published in each partition in M."
// neli-paper: "Crucial to the protocol is that no partition may 'dry up'."
TEST(NeliBroadcast, one_operational_process_keeps_all_partitions_from_drying_up) {
  World world;
  Process& a = world.add();
  Process& b = world.add();
  Process& c = world.add();
  world.assign(a, "0-1");
  world.assign(b, "2-3");
  a.mute = b.mute = true;  // c, which leads nothing, is the only one that writes
  world.pass(1min);
  EXPECT_TRUE(world.leads(a, 0) && world.leads(a, 1));
  EXPECT_TRUE(world.leads(b, 2) && world.leads(b, 3));
  EXPECT_EQ(a.count(TransitionKind::stopped), 0u);
  c.mute = true;  // and now they do dry up
  world.pass(10s);
  EXPECT_FALSE(world.leads(a, 0) || world.leads(b, 3));
}

// neli-paper: "Each process p in P subscribes to C within a common, predefined consumer group."
TEST(NeliBroadcast, each_process_subscribes) {
  World world;
  for (int i = 0; i < 3; ++i) EXPECT_TRUE(world.add().subscribed);
}

// neli-paper: "Upon receipt of a message m from C, p will assign the current machine time as
// observed by p to the vector element at the index corresponding to m's partition index."
// neli-paper: "This is solved by using a broker-supplied timestamp in place of a local one."
// neli-paper: "By using the broker-supplied publish timestamp, p is taking the most conservative
// approach possible."
// The first is replaced by the second: only the index is as it says.
TEST(NeliBroadcast, the_vector_takes_the_broker_s_time_at_the_message_s_index) {
  World world;
  Process& a = world.add();
  world.assign(a, "0-3");
  a.mute = true;
  world.pass(30s);
  const BrokerTime published = world.broker_now() - 4s;
  world.append(Partition{2}, published);
  world.pass(0ms);
  EXPECT_EQ(a.core.newest(Partition{2}), published) << "not the time at which it was read";
  EXPECT_LT(a.core.newest(Partition{1}), published);
  EXPECT_TRUE(world.leads(a, 2));
  EXPECT_FALSE(world.leads(a, 1));
  world.pass(5s);
  EXPECT_FALSE(world.leads(a, 2)) << "T = 9 s after it was published";
}

// neli-paper: "When reusing a brokered topic across multiple NELI groups, it is recommended to
// divide the broadcast frequency by a factor commensurate with the number of NELI groups."
// neli-paper: "In other words, if processes within a single NELI group broadcast with a frequency
// F to all partitions in C, then adding a second NELI group should change the broadcast frequency
// to F/2 for both groups."
TEST(NeliBroadcast, two_groups_broadcast_half_as_often_each) {
  std::vector<std::size_t> records;
  for (const std::uint32_t groups : {1u, 2u, 3u}) {
    BroadcastOptions options = options_of();
    options.groups = groups;
    World world;
    for (std::uint32_t i = 0; i < groups; ++i) world.add(options);
    const std::size_t before = world.length();
    world.pass(30s);
    records.push_back(world.length() - before);
  }
  EXPECT_EQ(records, (std::vector<std::size_t>{60, 60, 60})) << "as many as one group would write";
}

// neli-paper: "However, the role check on p still happens using p's local time, comparing with the
// receipt of m captured using the broker's time, and there is no discernible relationship between
// BTime(pub(m)) and CTime(pub(m)), where CTime is the consumer's local time."
// neli-paper: "Addressing the above requires that the clocks on the broker and the consumer are
// continually synchronised to some bounded error ceiling e, such that \forall t (|BTime(t) -
// CTime(t)| \leq e)."
TEST(NeliBroadcast, clocks_that_are_seen_to_be_apart_by_more_than_e_make_no_exclusive_leader) {
  for (const milliseconds behind : {100ms, 101ms}) {
    World world;
    Process& a = world.add(options_of(Mode::exclusive), -behind);
    world.assign(a, "0");
    world.pass(5s);
    EXPECT_EQ(world.leads(a), behind == 100ms);
    EXPECT_EQ(a.was_told("the local clock error is 100 ms"), behind != 100ms);
  }
}

// neli-paper: "Under this constraint, for a partition ownership check relating to m for a
// threshold T at time t, then it can be trivially shown that \forall m, t (isOwner(partitionOf(m),
// t, T) \rightarrow t - CTime(pub(m)) \leq T + e)."
// neli-paper: "In other words, if the ownership check passes, then m was published no longer than
// T + e ago."
TEST(NeliBroadcast, if_the_check_passes_the_record_is_younger_than_T_plus_e) {
  for (const milliseconds error : {-100ms, 0ms, 100ms}) {
    World world;
    const BroadcastOptions options = options_of(Mode::exclusive);
    Process& a = world.add(options, error);
    world.assign(a, "0");
    world.pass(5s);
    a.mute = true;
    ASSERT_TRUE(world.leads(a));
    const LocalTime published = world.now();  // the last one, at 5 s
    world.pass(options.core.lease - options.local_clock_error - 1ms);
    EXPECT_TRUE(world.leads(a));
    while (world.leads(a)) world.pass(1ms);
    EXPECT_LE(world.now() - published, options.core.lease + options.local_clock_error + 1ms);
    EXPECT_GE(world.now() - published, options.core.lease - options.local_clock_error);
  }
}

// neli-paper: "It follows that if T + e are both chosen so that their sum is smaller than the
// broker's session timeout time, then a positive result for a local leadership check will always
// be correct; a false positive will not occur providing that all the other assumptions hold and
// that the broker always honours the session timeout before instigating a partition reassignment."
TEST(NeliBroadcast, under_its_assumptions_no_two_lead) {
  for (const milliseconds error : {-100ms, 100ms}) {
    World world;
    Process& p = world.add(options_of(Mode::exclusive), error);
    Process& q = world.add(options_of(Mode::exclusive), -error);
    world.assign(p, "0");
    world.pass(5s);
    ASSERT_TRUE(world.leads(p));
    p.cut = true;
    for (int ms = 0; ms < 8000; ++ms) {
      if (ms == 3000) world.assign(q, "0");  // no sooner than the session
      ASSERT_FALSE(world.leads(p) && world.leads(q)) << ms;
      world.pass(1ms);
    }
    EXPECT_TRUE(world.leads(q));
  }
}

// neli-paper: "Of course, the last assumption is not necessarily true."
// neli-paper: "Under this scenario, p may falsely assume that it is still the leader."
// It continues to read its successor's records, which contain nothing that would show it. This is
// why there is another variation.
TEST(NeliBroadcast, outside_of_them_it_has_two_leaders) {
  World world;
  Process& p = world.add(options_of(Mode::exclusive));
  Process& q = world.add(options_of(Mode::exclusive));
  world.assign(p, "0");
  world.pass(5s);
  world.assign(q, "0");  // p was expelled, reads on, and does not know it
  world.pass(30s);
  EXPECT_TRUE(world.leads(p));
  EXPECT_TRUE(world.leads(q));
}

// neli-paper: "Assuming the broker has no minimum grace period, then this could be solved by
// observing a grace period on the newly assigned leader q, such that q upon detection of
// leadership assignment, will intentionally return false from the leadership check function for up
// to time T since it has implicitly acquired leadership."
// neli-paper: "This gives p sufficient time to relinquish leadership, but extends the worst case
// transition time to 2T."
TEST(NeliBroadcast, a_grace_of_T_covers_a_reassignment_ahead_of_time) {
  World world;
  const BroadcastOptions options = options_of(Mode::exclusive);
  Process& p = world.add(options);
  Process& q = world.add(options);
  world.assign(p, "0");
  world.pass(5s);
  ASSERT_TRUE(world.leads(p));
  p.cut = true;
  const LocalTime cut = world.now();
  world.assign(q, "0");  // at once: the socket was closed
  while (!world.leads(q)) {
    world.pass(1ms);
    ASSERT_LT(world.now() - cut, 10s);
    ASSERT_FALSE(world.leads(p) && world.leads(q));
  }
  EXPECT_EQ(world.now() - cut, options.core.lease);
  EXPECT_LE(world.now() - cut, 2 * options.core.lease);
}

}  // namespace
}  // namespace neliroute::paper
