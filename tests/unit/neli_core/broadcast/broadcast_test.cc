// Variation `broadcast`: what docs/protocol.md section 6 and the paper say of it, by the sentence.
#include "neli_core/broadcast/broadcast.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/unit/neli_core/broadcast/broadcast_rig.h"

namespace neliroute {
namespace {

using broadcast_rig::kP0;
using broadcast_rig::options_of;
using broadcast_rig::Process;
using broadcast_rig::World;
using testing::HasSubstr;
using namespace std::chrono_literals;

std::string refusal(const BroadcastOptions& options) {
  const auto made = Broadcast::make(options);
  return made ? "" : made.error().message();
}

// --- Protocol definition -------------------------------------------------------------------------

// "Each process in P continually publishes a message on all partitions in M."
TEST(Broadcast, every_process_writes_to_all_partitions_every_interval) {
  World world;
  Process& a = world.add();
  world.add();
  EXPECT_EQ(world.length(0), 2u) << "one each, at once";
  world.pass(5s);
  for (std::uint32_t p = 0; p < 4; ++p) EXPECT_EQ(world.length(p), 22u);
  EXPECT_EQ(a.core.counters().broadcasts, 11u);
}

// "The message has no key or value": what comes out asks for a broadcast and has nothing else.
TEST(Broadcast, no_record_of_the_other_variation_is_written) {
  auto core = Broadcast::make(options_of()).value();
  core.tick(LocalTime{1s});
  const Ready ready = core.take_ready();
  EXPECT_TRUE(ready.broadcast);
  EXPECT_TRUE(ready.writes.empty());
  EXPECT_FALSE(core.take_ready().broadcast) << "once";
}

TEST(Broadcast, who_was_stopped_broadcasts_once_and_goes_on_at_its_beat) {
  World world;
  Process& a = world.add();
  a.stopped = true;
  world.pass(10'250ms);
  a.stopped = false;
  world.pass(0ms);
  EXPECT_EQ(a.core.counters().broadcasts, 2u);
  world.pass(250ms);
  EXPECT_EQ(a.core.counters().broadcasts, 3u);
}

// "Each process p in P subscribes to C within a common, predefined consumer group."
TEST(Broadcast, every_process_joins_the_group_at_once_and_once) {
  auto core = Broadcast::make(options_of()).value();
  core.tick(LocalTime{1s});
  EXPECT_TRUE(core.take_ready().subscribe);
  core.tick(LocalTime{2s});
  EXPECT_FALSE(core.take_ready().subscribe);
}

// "V ... initialised to zero."
TEST(Broadcast, who_is_assigned_and_has_read_nothing_leads_nothing) {
  World world;
  Process& a = world.add();
  EXPECT_EQ(a.core.role_state(kP0), RoleState::following);
  world.assign(a, "0-3");
  EXPECT_FALSE(a.core.newest(kP0));
  EXPECT_FALSE(world.leads(a));
  EXPECT_EQ(a.core.role_state(kP0), RoleState::looking);
  EXPECT_EQ(a.rebalances_done, 1u);
}

// "If the timestamp at any of vector element i is current ... then p is a leader for M_i."
TEST(Broadcast, who_reads_a_record_of_an_assigned_partition_leads_it) {
  World world;
  Process& a = world.add();
  Process& b = world.add();
  world.assign(a, "0-1");
  world.assign(b, "2-3");
  world.pass(500ms);
  EXPECT_EQ(a.core.newest(kP0), world.broker_now());
  for (std::uint32_t p = 0; p < 4; ++p) {
    EXPECT_EQ(world.leads(a, p), p < 2) << p;
    EXPECT_EQ(world.leads(b, p), p >= 2) << p;
  }
  EXPECT_EQ(a.core.role_state(kP0), RoleState::leading);
  ASSERT_EQ(a.transitions.size(), 2u);
  EXPECT_EQ(a.transitions[0].kind, TransitionKind::acquired);
  EXPECT_EQ(a.transitions[0].at, world.now());
  const Epoch epoch{world.broker_now().time_since_epoch().count(), 2};
  EXPECT_EQ(a.transitions[0].epoch, epoch) << "the record that made it lead";
  EXPECT_EQ(a.core.epoch(kP0), epoch);
}

TEST(Broadcast, any_living_process_keeps_every_other_one_leading) {
  World world;
  Process& a = world.add();
  Process& b = world.add();
  world.assign(b, "0-3");
  b.mute = true;
  world.pass(60s);
  EXPECT_TRUE(world.leads(b));
  EXPECT_EQ(b.core.counters().lapses, 0u);
  a.mute = true;
  world.pass(9s);
  EXPECT_FALSE(world.leads(b)) << "the partition dried up";
}

// "... more recent than some predefined constant threshold T that lags the current time": strictly.
TEST(Broadcast, a_partition_is_led_while_its_newest_record_is_newer_than_now_minus_T) {
  World world;
  Process& a = world.add();
  world.assign(a, "0");
  world.pass(500ms);
  const LocalTime read = world.now();
  a.cut = true;
  EXPECT_TRUE(a.core.leads(kP0, read + 9s - 1ms));
  EXPECT_FALSE(a.core.leads(kP0, read + 9s));
  world.pass(9s);
  ASSERT_EQ(a.transitions.size(), 2u);
  EXPECT_EQ(a.transitions[1].kind, TransitionKind::stopped);
  EXPECT_EQ(a.transitions[1].reason, StopReason::lapsed);
  EXPECT_EQ(a.transitions[1].at, read + 9s);
  EXPECT_EQ(a.core.counters().lapses, 1u);
  a.cut = false;
  world.pass(500ms);
  EXPECT_TRUE(world.leads(a)) << "it is assigned still, and reads again";
  EXPECT_GT(a.transitions[2].epoch, a.transitions[0].epoch);
}

TEST(Broadcast, a_record_of_a_partition_that_is_not_assigned_changes_nothing) {
  World world;
  Process& a = world.add();
  const WallTime wall{world.broker_now().time_since_epoch()};
  world.step(a, Heard{kP0, 7, world.broker_now(), true, world.now(), wall});
  EXPECT_FALSE(a.core.newest(kP0));
  EXPECT_EQ(a.core.counters().records_unassigned, 1u);
  world.assign(a, "0");
  EXPECT_FALSE(world.leads(a));
  world.step(a, Heard{Partition{4}, 7, world.broker_now(), true, world.now(), wall});
  EXPECT_EQ(a.core.counters().records_heard, 0u) << "there is no partition 4";
}

TEST(Broadcast, an_older_record_does_not_make_the_vector_older) {
  World world;
  Process& a = world.add();
  world.assign(a, "0");
  world.pass(500ms);
  const BrokerTime newest = world.broker_now();
  world.append(kP0, newest - 5s);
  EXPECT_EQ(a.core.newest(kP0), newest);
  EXPECT_TRUE(a.core.leads(kP0, world.now() + 9s - 1ms));
}

// "If partition assignment for M_i is altered ... V_i will cease incrementing and will eventually
// be lapsed by T": the overlap, in which both lead.
TEST(Broadcast, non_exclusive_who_is_revoked_leads_on_until_its_vector_lapses) {
  World world;
  Process& a = world.add();
  Process& b = world.add();
  world.assign(a, "0");
  world.pass(500ms);
  const LocalTime read = world.now();
  world.revoke(a, "0");
  EXPECT_EQ(a.rebalances_done, 2u) << "the group proceeds at once";
  EXPECT_EQ(a.core.role_state(kP0), RoleState::draining);
  EXPECT_EQ(a.transitions.back().kind, TransitionKind::draining);
  world.assign(b, "0");
  world.pass(500ms);
  EXPECT_TRUE(world.leads(a));
  EXPECT_TRUE(world.leads(b));
  world.pass(9s);
  EXPECT_FALSE(world.leads(a));
  EXPECT_TRUE(world.leads(b));
  EXPECT_EQ(a.transitions.back().kind, TransitionKind::stopped);
  EXPECT_EQ(a.transitions.back().at, read + 9s);
  EXPECT_EQ(a.transitions.back().reason, StopReason::superseded);
  EXPECT_EQ(a.core.role_state(kP0), RoleState::following);
}

TEST(Broadcast, a_partition_that_comes_back_while_it_drains_is_led_on) {
  World world;
  Process& a = world.add();
  world.assign(a, "0");
  world.pass(500ms);
  const Epoch epoch = *a.core.epoch(kP0);
  world.revoke(a, "0");
  world.assign(a, "0");
  EXPECT_EQ(a.core.role_state(kP0), RoleState::leading);
  EXPECT_EQ(a.core.epoch(kP0), epoch);
  world.pass(60s);
  EXPECT_EQ(a.count(TransitionKind::stopped), 0u);
}

// "p will compute k = j mod size(M)": R may be smaller, equal or larger, and change at any time.
TEST(Broadcast, role_j_is_led_by_who_leads_partition_j_mod_M_however_many_roles_there_are) {
  World world;
  Process& a = world.add();
  world.assign(a, "1");
  world.pass(500ms);
  Roles roles(a.core.leases(), 4);
  const auto led = [&] {
    std::vector<std::uint32_t> all;
    for (std::uint32_t j = 0; j < 12; ++j) {
      if (roles.leads(Role{j}, world.now())) all.push_back(j);
    }
    EXPECT_EQ(roles.led_count(world.now()), all.size());
    return all;
  };
  EXPECT_EQ(led(), (std::vector<std::uint32_t>{1})) << "as many as partitions: one each";
  ASSERT_TRUE(roles.set_count(11));
  EXPECT_EQ(led(), (std::vector<std::uint32_t>{1, 5, 9})) << "more: several on a partition";
  ASSERT_TRUE(roles.set_count(1));
  EXPECT_EQ(led(), (std::vector<std::uint32_t>{})) << "fewer: partition 1 carries none";
  EXPECT_EQ(roles.partition_of(Role{7}), Partition{3});
  const auto none = roles.set_count(0);
  ASSERT_FALSE(none) << "R should be at least one in size";
  EXPECT_EQ(none.error().message(), "roles 0: expected at least 1");
  EXPECT_EQ(roles.count(), 1u);
}

// --- M is a constant -----------------------------------------------------------------------------

// "M may not be expanded while a group is in operation."
TEST(Broadcast, non_exclusive_a_changed_partition_count_is_an_error_and_the_old_one_stays) {
  World world;
  Process& a = world.add();
  world.assign(a, "0-3");
  world.pass(500ms);
  world.step(a, PartitionsCounted{4});
  EXPECT_TRUE(a.notices.empty());
  world.step(a, PartitionsCounted{6});
  ASSERT_EQ(a.notices.size(), 1u);
  EXPECT_EQ(a.notices[0].severity, Severity::error);
  EXPECT_THAT(a.notices[0].text, HasSubstr("has 6 partitions, but this process runs with 4"));
  world.step(a, PartitionsCounted{6});
  EXPECT_EQ(a.notices.size(), 1u) << "told once";
  world.step(a, PartitionsCounted{2});
  EXPECT_EQ(a.notices.size(), 2u) << "made again with fewer";
  world.step(a, PartitionsCounted{4});
  world.step(a, PartitionsCounted{6});
  EXPECT_EQ(a.notices.size(), 3u);
  EXPECT_FALSE(a.refused);
  EXPECT_TRUE(world.leads(a));
}

TEST(Broadcast, a_partition_beyond_M_that_the_group_assigns_is_an_error) {
  World world;
  Process& a = world.add();
  world.step(a, GroupAssigned{*PartitionRanges::parse("3-5")});
  ASSERT_EQ(a.notices.size(), 1u);
  EXPECT_THAT(a.notices[0].text, HasSubstr("at least 6 partitions"));
  EXPECT_EQ(a.core.role_state(Partition{3}), RoleState::looking) << "its own it takes";
  world.step(a, GroupAssigned{*PartitionRanges::parse("4")});
  EXPECT_EQ(a.notices.size(), 1u);
}

TEST(Broadcast, exclusive_a_changed_partition_count_ends_the_process) {
  World world;
  Process& a = world.add(options_of(Mode::exclusive));
  world.assign(a, "0");
  world.pass(3s);
  ASSERT_TRUE(world.leads(a));
  world.step(a, PartitionsCounted{5});
  EXPECT_FALSE(world.leads(a));
  ASSERT_TRUE(a.refused);
  EXPECT_EQ(a.refused->code(), Errc::ledger_unfit);
  EXPECT_THAT(a.refused->message(), HasSubstr("has 5 partitions, but this process runs with 4"));
  EXPECT_TRUE(a.left_group);
  EXPECT_TRUE(a.closed);
}

// --- Inequalities --------------------------------------------------------------------------------

// "T is chosen such that T is greater than the partition reassignment threshold of the broker."
TEST(Broadcast, non_exclusive_T_must_be_above_the_session) {
  BroadcastOptions options = options_of();
  options.core.lease = 3000ms;
  EXPECT_THAT(refusal(options), HasSubstr("lease > session, but 3000 ms <= 3000 ms"));
  options.core.lease = 3001ms;
  EXPECT_EQ(refusal(options), "");
}

// "T + e are both chosen so that their sum is smaller than the broker's session timeout time."
TEST(Broadcast, exclusive_T_plus_e_must_be_below_the_session) {
  BroadcastOptions options = options_of(Mode::exclusive);
  options.core.lease = 2900ms;
  EXPECT_THAT(refusal(options), HasSubstr("but 2900 ms + 100 ms >= 3000 ms"));
  options.core.lease = 2899ms;
  EXPECT_EQ(refusal(options), "");
  options.local_clock_error = -1ms;
  EXPECT_THAT(refusal(options), HasSubstr("local clock error -1 ms"));
}

TEST(Broadcast, three_broadcasts_must_fit_into_T) {
  BroadcastOptions options = options_of();
  options.groups = 7;
  EXPECT_THAT(refusal(options), HasSubstr("3 x 500 ms x 7 = 10500 ms > 9000 ms"));
  options.groups = 6;
  EXPECT_EQ(refusal(options), "");
  options.groups = 0;
  EXPECT_THAT(refusal(options), HasSubstr("groups 0"));
  options = options_of();
  options.core.interval = 4s;
  EXPECT_THAT(refusal(options), HasSubstr("lower `timing.interval`")) << "CoreOptions's own bound";
}

// --- Topic reuse ---------------------------------------------------------------------------------

// "Adding a second NELI group should change the broadcast frequency to F/2 for both groups."
TEST(Broadcast, groups_that_share_a_topic_broadcast_so_many_times_less_often) {
  BroadcastOptions options = options_of();
  options.groups = 2;
  World world;
  Process& of_one = world.add(options);
  Process& of_other = world.add(options);
  world.assign(of_one, "0-3");
  world.assign(of_other, "0-3");  // each group assigns all of them
  world.pass(10s);
  EXPECT_EQ(of_one.core.counters().broadcasts, 11u);
  EXPECT_EQ(world.length(), 22u) << "as many as one group of one process would write";
  EXPECT_TRUE(world.leads(of_one));
  EXPECT_TRUE(world.leads(of_other)) << "what one group assigns says nothing of the other's";
}

}  // namespace
}  // namespace neliroute
