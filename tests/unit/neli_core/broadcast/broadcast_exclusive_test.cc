// Variation `broadcast`: exclusive mode, what it assumes, barriers, leaving.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/neli_core/broadcast/broadcast_rig.h"
#include "tests/world/memory_log.h"

namespace neliroute {
namespace {

using broadcast_rig::kP0;
using broadcast_rig::options_of;
using broadcast_rig::Process;
using broadcast_rig::World;
using namespace std::chrono_literals;

// --- Exclusivity ---------------------------------------------------------------------------------

// "... will intentionally return false from the leadership check function for up to time T."
TEST(Broadcast, exclusive_a_new_assignee_answers_no_for_a_grace_of_T) {
  World world;
  Process& a = world.add(options_of(Mode::exclusive));
  world.assign(a, "0");
  const LocalTime assigned = world.now();
  world.pass(1999ms);
  EXPECT_FALSE(world.leads(a));
  EXPECT_EQ(a.core.role_state(kP0), RoleState::looking);
  world.pass(1ms);
  EXPECT_TRUE(world.leads(a));
  ASSERT_EQ(a.transitions.size(), 1u);
  EXPECT_EQ(a.transitions[0].at, assigned + 2s);
}

TEST(Broadcast, exclusive_the_grace_begins_anew_with_every_assignment) {
  World world;
  Process& a = world.add(options_of(Mode::exclusive));
  world.assign(a, "0");
  world.pass(3s);
  world.revoke(a, "0");
  world.assign(a, "0");
  world.pass(1999ms);
  EXPECT_FALSE(world.leads(a));
  world.pass(1ms);
  EXPECT_TRUE(world.leads(a));
}

TEST(Broadcast, exclusive_who_hears_that_it_was_revoked_stops_at_once) {
  for (const bool lost : {false, true}) {
    World world;
    Process& a = world.add(options_of(Mode::exclusive));
    world.assign(a, "0");
    world.pass(3s);
    a.keep_barriers = true;
    world.revoke(a, "0", lost);
    EXPECT_FALSE(world.leads(a));
    EXPECT_EQ(a.rebalances_done, 2u) << "a barrier never blocks a rebalance";
    ASSERT_EQ(a.transitions.back().kind, TransitionKind::stopped);
    EXPECT_EQ(a.transitions.back().reason, StopReason::superseded);
    EXPECT_EQ(a.count(TransitionKind::draining), 0u);
  }
}

// "The currently assigned leader will expire prior to the assignment of its successor": after a
// full cut, and however wrong the clocks are within e.
TEST(Broadcast, exclusive_a_successor_never_leads_beside_who_was_cut_off) {
  for (const milliseconds error : {-100ms, 0ms, 100ms}) {
    World world;
    Process& a = world.add(options_of(Mode::exclusive), error);
    Process& b = world.add(options_of(Mode::exclusive), -error);
    world.assign(a, "0");
    world.pass(5s);
    ASSERT_TRUE(world.leads(a));
    a.cut = true;
    std::uint32_t both = 0;
    std::uint32_t neither = 0;
    for (int ms = 0; ms < 8000; ms += 10) {
      if (ms == 3000) world.assign(b, "0");  // the session is over
      both += world.leads(a) && world.leads(b) ? 1U : 0U;
      neither += !world.leads(a) && !world.leads(b) ? 1U : 0U;
      world.pass(10ms);
    }
    EXPECT_EQ(both, 0u);
    EXPECT_GT(neither, 0u) << "a gap is what exclusive mode costs";
    EXPECT_TRUE(world.leads(b));
  }
}

// "p is eventually scheduled, processes the message backlog": by the broker's time it is old.
TEST(Broadcast, a_backlog_never_refreshes) {
  for (const Mode mode : {Mode::exclusive, Mode::non_exclusive}) {
    World world;
    Process& p = world.add(options_of(mode));
    Process& q = world.add(options_of(mode));
    world.assign(p, "0");
    world.pass(5s);
    ASSERT_TRUE(world.leads(p));
    p.stopped = true;
    q.cut = true;  // so that nothing newer is in the backlog either
    world.append(kP0, world.broker_now());
    world.pass(12s);
    EXPECT_FALSE(world.leads(p)) << "it is compared at the time of asking";
    p.mute = true;
    p.stopped = false;
    world.append(kP0, world.broker_now() - 10s);
    EXPECT_FALSE(world.leads(p));
    EXPECT_GT(p.core.counters().records_stale, 0u);
    EXPECT_TRUE(p.was_told("a backlog, or this machine's clock is ahead"));
  }
}

// "|BTime(t) - CTime(t)| <= e": where a record is seen to come from the future, it does not hold.
TEST(Broadcast, exclusive_a_record_from_more_than_e_in_the_future_makes_no_leader) {
  World world;
  Process& a = world.add(options_of(Mode::exclusive), -101ms);
  Process& b = world.add(options_of(Mode::exclusive), -100ms);
  world.assign(a, "0");
  world.assign(b, "1");
  world.pass(5s);
  EXPECT_FALSE(world.leads(a, 0));
  EXPECT_TRUE(world.leads(b, 1));
  EXPECT_TRUE(a.was_told("101 ms ahead of this machine's, the local clock error is 100 ms"));
  EXPECT_EQ(a.notices.size(), 1u) << "told once";
  EXPECT_GT(a.core.counters().records_ahead, 1u);
  EXPECT_TRUE(b.notices.empty());
}

TEST(Broadcast, non_exclusive_a_clock_that_is_behind_never_makes_a_lease_longer_than_T_plus_e) {
  World world;
  Process& a = world.add(options_of(), -1h);
  world.assign(a, "0");
  world.pass(500ms);
  EXPECT_TRUE(world.leads(a));
  EXPECT_TRUE(a.was_told("ahead of this machine's"));
  EXPECT_TRUE(a.core.leads(kP0, world.now() + 9s + 99ms));
  EXPECT_FALSE(a.core.leads(kP0, world.now() + 9s + 100ms));
}

TEST(Broadcast, exclusive_a_record_that_its_writer_stamped_makes_no_leader) {
  World world;
  Process& a = world.add(options_of(Mode::exclusive));
  a.store_stamped = false;
  world.assign(a, "0");
  world.pass(5s);
  EXPECT_FALSE(world.leads(a));
  EXPECT_TRUE(a.was_told("message.timestamp.type=LogAppendTime"));
  EXPECT_GT(a.core.counters().records_not_stamped, 0u);
  BroadcastOptions lenient = options_of(Mode::exclusive);
  lenient.require_broker_time = false;
  Process& b = world.add(lenient);
  b.store_stamped = false;
  world.assign(b, "1");
  world.pass(5s);
  EXPECT_TRUE(world.leads(b, 1));
}

TEST(Broadcast, a_pause_between_the_two_clocks_makes_a_record_older_not_younger) {
  World world;
  Process& a = world.add();
  world.assign(a, "0");
  world.pass(200ms);
  const LocalTime before = world.now();
  world.pass(150ms);
  world.step(a, Heard{kP0, 0, world.broker_now() - 150ms, true, before,
                      WallTime{world.broker_now().time_since_epoch()}});
  EXPECT_FALSE(a.core.leads(kP0, before + 9s - 150ms));
  EXPECT_TRUE(a.core.leads(kP0, before + 9s - 151ms));
}

// What the paper assumes and Kafka does not keep: that who was expelled notices. It reads on, as
// fetching knows no group, and two lead for as long as that lasts. `claimed` exists for this.
TEST(Broadcast, exclusive_who_was_expelled_and_does_not_notice_leads_beside_its_successor) {
  World world;
  Process& zombie = world.add(options_of(Mode::exclusive));
  Process& b = world.add(options_of(Mode::exclusive));
  world.assign(zombie, "0");
  world.pass(5s);
  world.assign(b, "0");  // the coordinator has given it away; nobody told
  world.pass(10s);
  EXPECT_TRUE(world.leads(zombie));
  EXPECT_TRUE(world.leads(b));
}

// A revocation that arrives late, but within the session: the barrier is notified of its deadline.
TEST(Broadcast, exclusive_a_barrier_that_outlasts_the_lease_is_told_so) {
  World world;
  Process& a = world.add(options_of(Mode::exclusive));
  world.assign(a, "0");
  world.pass(3s);
  a.keep_barriers = true;
  const LocalTime until = a.core.leases()->get(kP0).until;
  world.revoke(a, "0");
  EXPECT_LE(a.transitions.back().barrier_deadline - until, 16us);
  world.pass(2s);
  ASSERT_EQ(a.transitions.back().kind, TransitionKind::barrier_overdue);
  EXPECT_LE(a.transitions.back().at - until, 16us);
  world.pass(60s);
  EXPECT_FALSE(a.refused) << "nobody waits for it: it is not assigned";
}

// --- Barriers and leaving ------------------------------------------------------------------------

TEST(Broadcast, nothing_is_led_again_before_the_barrier_of_the_last_time_ended) {
  World world;
  Process& a = world.add();
  world.add();
  world.assign(a, "0");
  world.pass(500ms);
  a.keep_barriers = true;
  a.cut = true;
  world.pass(9s);
  ASSERT_EQ(a.transitions.back().kind, TransitionKind::stopped) << "and overdue in one";
  a.cut = false;
  world.pass(1s);
  EXPECT_FALSE(world.leads(a));
  world.step(a, BarrierDone{kP0, Epoch{0, 999}});
  EXPECT_FALSE(world.leads(a)) << "another one's";
  world.step(a, BarrierDone{kP0, a.transitions[0].epoch});
  EXPECT_TRUE(world.leads(a));
}

TEST(Broadcast, a_barrier_that_does_not_end_makes_the_process_leave) {
  World world;
  Process& a = world.add();
  world.add();
  world.assign(a, "0");
  world.pass(500ms);
  a.keep_barriers = true;
  a.cut = true;
  world.pass(9s);
  a.cut = false;
  world.pass(9s - 1ms);
  EXPECT_FALSE(a.refused);
  world.pass(1ms);
  ASSERT_TRUE(a.refused);
  EXPECT_EQ(a.refused->code(), Errc::barrier_stuck);
  EXPECT_TRUE(a.left_group);
  world.pass(9s);
  EXPECT_TRUE(a.closed) << "T later, whatever the barrier does";
}

TEST(Broadcast, non_exclusive_leaving_drains_until_the_vector_lapses) {
  World world;
  Process& a = world.add();
  Process& b = world.add();
  world.assign(a, "0");
  world.pass(500ms);
  const LocalTime read = world.now();
  world.step(a, CloseRequested{world.now() + 20s});
  EXPECT_TRUE(a.left_group);
  EXPECT_EQ(a.core.role_state(kP0), RoleState::draining);
  world.assign(b, "0");
  world.pass(8999ms);
  EXPECT_TRUE(world.leads(a));
  EXPECT_FALSE(a.closed);
  world.pass(1ms);
  EXPECT_EQ(a.transitions.back().reason, StopReason::closed);
  EXPECT_EQ(a.transitions.back().at, read + 9s);
  EXPECT_TRUE(a.closed);
  EXPECT_TRUE(a.core.closed());
  const std::uint64_t broadcasts = a.core.counters().broadcasts;
  world.pass(5s);
  EXPECT_EQ(a.core.counters().broadcasts, broadcasts) << "who has left says no more";
  EXPECT_EQ(a.core.next_deadline(), kNever);
}

TEST(Broadcast, leaving_ends_at_its_bound_and_a_later_request_may_shorten_it) {
  World world;
  Process& a = world.add();
  world.assign(a, "0");
  world.pass(500ms);
  world.step(a, CloseRequested{world.now() + 5s});
  world.step(a, CloseRequested{world.now() + 8s});
  world.pass(1s);
  EXPECT_FALSE(a.closed);
  world.step(a, CloseRequested{world.now() - 1s});
  EXPECT_TRUE(a.closed);
  EXPECT_FALSE(world.leads(a));
  world.step(a, GroupAssigned{*PartitionRanges::parse("0-3")});
  EXPECT_EQ(a.core.role_state(kP0), RoleState::following) << "nothing is taken any more";
}

TEST(Broadcast, exclusive_leaving_stops_at_once_and_waits_for_the_barriers) {
  World world;
  Process& a = world.add(options_of(Mode::exclusive));
  world.assign(a, "0");
  world.pass(3s);
  a.keep_barriers = true;
  world.step(a, CloseRequested{world.now() + 20s});
  EXPECT_FALSE(world.leads(a));
  EXPECT_EQ(a.transitions.back().reason, StopReason::closed);
  EXPECT_FALSE(a.closed);
  world.step(a, BarrierDone{kP0, a.transitions.back().epoch});
  EXPECT_TRUE(a.closed);
}

TEST(Broadcast, without_claims_beside_events_of_the_logs_mean_nothing) {
  World world;
  Process& a = world.add();
  const LocalTime deadline = a.core.next_deadline();
  const Decoded garbage = Ignored::not_json;
  for (const Event& event : std::vector<Event>{
           tail_at(Log{0}, 0, 0), Received{Log{0}, 0, world.broker_now(), true, &garbage},
           LogPosition{Log{0}, 1}, WriteFailed{1}}) {
    world.step(a, event);
  }
  EXPECT_TRUE(a.notices.empty());
  EXPECT_EQ(a.core.next_deadline(), deadline);
  a.core.step(GapFound{Log{0}, GapReason::truncated}, world.now());
  const Ready ready = a.core.take_ready();
  EXPECT_EQ(ready.restart_tails, std::vector<Log>{Log{0}}) << "but it is read on";
  EXPECT_EQ(ready.notices.size(), 1u);
}

}  // namespace
}  // namespace neliroute
