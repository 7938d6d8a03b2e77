// E. Koutanov, "Non-Exclusive Leader Induction in Highly Available Systems": exclusivity,
// fencing and continuously available systems. One test for each sentence that states a behaviour of
// ours.
#include <gtest/gtest.h>

#include "neli_core/timing.h"
#include "tests/paper/scene.h"
#include "tests/paper/store.h"

namespace neliroute::paper {
namespace {

using namespace std::chrono_literals;

// neli-paper: "In other words, the at-least-one leader assignment can be turned into an
// at-most-one (turning NELI into ELI)."
TEST(NeliExclusivity, at_most_one_leads_through_any_number_of_moves) {
  Scene scene(Mode::exclusive);
  scene.start("a", "0");
  scene.start("b");
  scene.settle_in();
  for (int i = 0; i < 20; ++i) {
    scene.move("0", i % 2 == 0 ? "a" : "b", i % 2 == 0 ? "b" : "a");
    scene.run(milliseconds{137 * i});
  }
  EXPECT_EQ(scene.shared(), 0us);
  EXPECT_GT(scene.process("b").count(TransitionKind::acquired), 5u) << "and it did move";
}

// neli-paper: "The non-exclusivity property is directly controlled by the liberal selection of the
// constant T, being significantly greater than the broker's partition reassignment threshold (the
// session timeout) — allowing for leadership overlap."
// neli-paper: "Conversely, if T is chosen conservatively, such that T is significantly less than
// the reassignment threshold, then the currently assigned leader will expire prior to the
// assignment of its successor, leaving a gap between successive assignments."
TEST(NeliExclusivity, T_against_the_session_decides_between_overlap_and_gap) {
  for (const Mode mode : {Mode::exclusive, Mode::non_exclusive}) {
    Scene scene(mode);
    const auto& options = scene.stage.options();
    auto& a = scene.start("a", "0");
    scene.start("b");
    scene.run(12s);
    const LocalTime cut = scene.now();
    a.stopped = true;
    scene.run(options.session);
    scene.assign("b", "0");
    scene.run(30s);
    const LocalTime b_led = scene.process("b").last(TransitionKind::acquired, 0)->at;
    EXPECT_EQ(b_led - cut, options.session);
    if (mode == Mode::exclusive) {
      EXPECT_LT(options.rig.lease, options.session);
      EXPECT_EQ(scene.shared(), 0us);
    } else {
      EXPECT_GT(options.rig.lease, options.session);
      EXPECT_EQ(std::chrono::round<milliseconds>(scene.shared()),
                options.rig.lease - options.session);
    }
  }
}

// neli-paper: "A further complication that arises under exclusive mode is the potential
// discrepancy between the true and the observed time of message receipt."
// neli-paper: "Consider a scenario where two processes p and q contend for M_i and p is the
// current assignee."
// neli-paper: "Furthermore, p's host is experiencing an abnormally high load and so p is subjected
// to intermittent resource starvation."
// neli-paper: "p receives messages from M_i and buffers them within the client library."
// neli-paper: "p is preempted by its host's scheduler as the latter reallocates CPU time to a
// large backlog of competing processes."
// neli-paper: "The session timeout lapses on the broker and M_i is reassigned to q."
// neli-paper: "q begins receiving messages for M_i, and assumes leadership."
// neli-paper: "p is eventually scheduled, processes the message backlog and assigns a local
// timestamp in V_i, thereby still believing that it is the leader for M_i, for a further time T."
// neli-paper: "This is solved by using a broker-supplied timestamp in place of a local one."
// Ours is solved by counting from before the record was written.
TEST(NeliExclusivity, a_backlog_of_own_renewals_refreshes_nothing) {
  Scene scene(Mode::exclusive);
  auto& p = scene.start("p", "0");
  scene.start("q");
  scene.settle_in();
  p.hold = true;  // what it renews from here on is buffered
  scene.run(1s);
  p.stopped = true;
  scene.run(scene.stage.options().session);
  scene.assign("q", "0");
  scene.run(1s);
  EXPECT_TRUE(scene.leads("q"));
  p.stopped = false;
  EXPECT_FALSE(p.leads(0, scene.now())) << "whoever is scheduled first hears no";
  scene.stage.rig().release_hold(p);
  EXPECT_FALSE(p.leads(0, scene.now()));
  scene.run(10s);
  EXPECT_EQ(p.count(TransitionKind::acquired), 1u) << "not even for a moment, while it reads";
  EXPECT_EQ(scene.shared(), 0us);
}

// neli-paper: "In other words, if the ownership check passes, then m was published no longer than
// T + e ago."
// By the own clock, and so without e.
TEST(NeliExclusivity, if_the_check_passes_the_newest_record_is_younger_than_T) {
  Scene scene(Mode::exclusive);
  auto& a = scene.start("a", "0");
  scene.settle_in();
  LocalTime sent = scene.now();
  for (int i = 0; i < 200; ++i) {
    const std::size_t written = a.written.size();
    if (i == 100) scene.stage.cut_log(scene.actor("a"));
    scene.run(50ms);
    if (i < 100 && a.written.size() > written) sent = scene.now();
    EXPECT_TRUE(!scene.leads("a") || scene.now() - sent <= scene.stage.options().rig.lease + 50ms);
  }
  EXPECT_FALSE(scene.leads("a"));
}

// neli-paper: "It follows that if T + e are both chosen so that their sum is smaller than the
// broker's session timeout time, then a positive result for a local leadership check will always
// be correct; a false positive will not occur providing that all the other assumptions hold and
// that the broker always honours the session timeout before instigating a partition reassignment."
TEST(NeliExclusivity, T_plus_e_must_be_below_the_session) {
  TimingRequest request;
  request.mode = Mode::exclusive;
  request.lease = 2800ms;
  request.clock_error = 200ms;
  const auto refused = derive_timing(request, SessionFacts{});
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().message().find("2800 ms + 200 ms >= 3000 ms"), std::string::npos);
  request.clock_error = 199ms;
  EXPECT_TRUE(derive_timing(request, SessionFacts{}));
}

// neli-paper: "Of course, the last assumption is not necessarily true."
// neli-paper: "The broker may use other heuristics to trigger reassignment."
// neli-paper: "For example, the broker's host OS may close the TCP socket with the consumer and
// thereby expedite the reassignment on the broker."
// neli-paper: "The closing of the pipe might not be observed for some time on p's host."
// neli-paper: "Under this scenario, p may falsely assume that it is still the leader."
// With and without a connection to the log; the session is not honoured at all.
TEST(NeliExclusivity, a_reassignment_ahead_of_time_makes_no_two_leaders) {
  for (const bool reads : {true, false}) {
    Scene scene(Mode::exclusive);
    scene.start("p", "0");
    scene.start("q");
    scene.settle_in();
    if (!reads) scene.stage.cut_log(scene.actor("p"));
    scene.assign("q", "0");
    EXPECT_EQ(scene.leads("p"), !reads);
    scene.run(10s);
    EXPECT_TRUE(scene.leads("q"));
    EXPECT_FALSE(scene.leads("p"));
    EXPECT_EQ(scene.shared(), 0us);
  }
}

// neli-paper: "Assuming the broker has no minimum grace period, then this could be solved by
// observing a grace period on the newly assigned leader q, such that q upon detection of
// leadership assignment, will intentionally return false from the leadership check function for up
// to time T since it has implicitly acquired leadership."
// neli-paper: "This gives p sufficient time to relinquish leadership, but extends the worst case
// transition time to 2T."
TEST(NeliExclusivity, a_new_leader_waits_for_T_at_most) {
  Scene scene(Mode::exclusive);
  const microseconds T = scene.stage.options().rig.lease;
  scene.start("p", "0");
  scene.start("q");
  scene.settle_in();
  scene.stage.cut_log(scene.actor("p"));
  const LocalTime p_ends = scene.lease_end("p");
  scene.run(100ms);
  const LocalTime assigned = scene.now();
  scene.assign("q", "0");
  EXPECT_FALSE(scene.leads("q"));
  scene.run(10s);
  const LocalTime led = scene.process("q").last(TransitionKind::acquired, 0)->at;
  EXPECT_GE(led, p_ends);
  EXPECT_LE(led - assigned, with_drift(T));
  EXPECT_LE(scene.unowned(), 2 * T);
}

// neli-paper: "Another, more subtle problem stems from the invariant that the check for leadership
// must always precede an operation on the critical region."
// neli-paper: "It may be possible, however unlikely, that the check succeeds, but in-between
// testing the outcome of the check and entering the critical region, the leadership status may
// have changed."
// neli-paper: "So if exclusive mode is required under an environment of absolute assurance,
// further mechanisms — such as fencing — must be used to exclude access to critical regions."
// With a real database: examples, the PostgreSQL store.
TEST(NeliExclusivity, between_check_and_write_only_the_epoch_protects) {
  Scene scene(Mode::exclusive);
  auto& a = scene.start("a", "0");
  scene.start("b");
  scene.settle_in();
  ASSERT_TRUE(scene.leads("a")) << "the check succeeds";
  const Epoch checked = scene.epoch("a");
  a.stopped = true;
  scene.run(scene.stage.options().session);
  scene.assign("b", "0");
  scene.run(1s);
  Store fenced;
  Store unfenced;
  ASSERT_TRUE(fenced.write(scene.epoch("b"), "by b"));
  unfenced.write_unchecked("by b");
  // a wakes up in the critical region, and writes what it was about to write.
  EXPECT_FALSE(fenced.write(checked, "by a"));
  unfenced.write_unchecked("by a");
  EXPECT_EQ(fenced.value(), "by b");
  EXPECT_EQ(unfenced.value(), "by a") << "which is the harm that is meant";
}

// neli-paper: "By the term non-exclusive leader it is meant that at least one leader may be
// assigned; it shouldn't be taken that the assigned leader is actually functioning,
// network-reachable and is able to fulfil its role at all times."
// neli-paper: "As such, single-group NELI cannot be used directly within a setting of strictly
// continuous availability, where at least two leaders are always required."
TEST(ContinuousAvailability, one_group_has_a_gap_when_its_leader_crashes) {
  Scene scene(Mode::non_exclusive);
  scene.start("a", "0");
  scene.start("b");
  scene.settle_in();
  scene.crash("a");
  scene.run(scene.stage.options().session);
  scene.assign("b", "0");
  scene.run(1s);
  EXPECT_EQ(scene.unowned(), scene.stage.options().session);
}

// neli-paper: "Of course, the thresholds used in NELI can be tuned such that the transition time
// between leaders is minimal, at the expense of work duplication."
TEST(ContinuousAvailability, a_shorter_session_makes_a_shorter_gap) {
  std::vector<microseconds> gaps;
  for (const Profile profile : {Profile::steady, Profile::balanced, Profile::fast}) {
    Scene scene(scenario::options_for(Mode::non_exclusive, profile));
    scene.start("a", "0");
    scene.start("b");
    scene.run(5s);
    scene.crash("a");
    scene.run(scene.stage.options().session);
    scene.assign("b", "0");
    scene.run(5s);
    gaps.push_back(scene.unowned());
  }
  EXPECT_EQ(gaps, (std::vector<microseconds>{10s, 3s, 500ms}));
}

// neli-paper: "In a continuously available system, two or more disjoint (non-overlapping) NELI
// process groups P1 and P2 (through to PN, if necessary) may be used concurrently on the same set
// M (or a different set M', hosted on an independent set of brokers) and a common R, such that any
// R_i would be assigned to a member in P1 and P2, such that there will be at least two leaders for
// any R_i at any point in time — one from each set."
TEST(ContinuousAvailability, three_lanes_give_each_role_three_leaders) {
  Scene scene(Mode::exclusive, 3);
  for (std::uint32_t lane = 0; lane < 3; ++lane) {
    scene.start("p" + std::to_string(lane), "0-1", Lane{lane});
    scene.start("q" + std::to_string(lane), "2", Lane{lane});
  }
  scene.settle_in();
  for (std::uint32_t p = 0; p < 3; ++p) {
    EXPECT_EQ(scene.leaders(p), 3u);
    for (std::uint32_t lane = 0; lane < 3; ++lane) {
      EXPECT_EQ(scene.stage.tally(Partition{p}, Lane{lane}).unowned, 0us);
      EXPECT_EQ(scene.stage.tally(Partition{p}, Lane{lane}).shared, 0us);
    }
  }
}

// neli-paper: "Depending on the value of T, there may be three leaders during a transition event
// in any of the groups P1 or P2, assuming that process failures in P1 and P2 are uncorrelated."
TEST(ContinuousAvailability, there_may_be_three_leaders_during_a_transition) {
  Scene scene(Mode::non_exclusive);
  auto& a = scene.start("a", "0");
  scene.start("b");
  scene.start("x", "0", Lane{1});
  scene.settle_in();
  a.stopped = true;
  scene.run(scene.stage.options().session);
  scene.assign("b", "0");
  EXPECT_EQ(scene.leaders(), 3u);
  scene.run(scene.stage.options().rig.lease);
  EXPECT_EQ(scene.leaders(), 2u);
}

}  // namespace
}  // namespace neliroute::paper
