// How the seat moves between whole members (rules A2, A8 and A9): with an owner's death, past a
// member that does not read, after an outage of log 0 or of another log.
#include <gtest/gtest.h>

#include "neli_core/assigner/assigned_core.h"
#include "tests/unit/neli_core/assigner/assigned_rig.h"

namespace neliroute {
namespace {

using namespace std::chrono_literals;
using told::AssignedRig;
using told::kInterval;
using told::kLease;
using told::kSession;
using told::Process;

std::uint64_t seats_claimed(const std::vector<Process*>& all) {
  std::uint64_t count = 0;
  for (const Process* process : all) count += process->core.counters().seats_claimed;
  return count;
}

/// Members 1, 2, ..., each with its seat priority. The first one assigns.
std::vector<Process*> start_preferring(AssignedRig& rig,
                                       const std::vector<std::uint32_t>& priorities) {
  std::vector<Process*> all;
  for (std::size_t i = 0; i < priorities.size(); ++i) {
    AssignedOptions options = rig.core_options(i + 1);
    options.seat_priority = priorities[i];
    all.push_back(&rig.start(std::move(options)));
    rig.run_for(10ms);
  }
  rig.run_for(5000ms);
  return all;
}

// A9: two of four are many, but the previous assigner is not counted.
TEST(AssignedSeat, an_assigner_and_an_owner_that_die_at_once_are_replaced_after_one_session) {
  AssignedRig rig;
  const auto all = rig.start_all(4);
  const LocalTime killed = rig.now();
  rig.kill(*all[0]);
  rig.kill(*all[3]);
  ASSERT_TRUE(rig.run_until([&] { return rig.led() == 8; }, 5000ms));
  EXPECT_LE(rig.now(), killed + kSession + kInterval);
  EXPECT_TRUE(all[1]->notices.empty());
  EXPECT_EQ(all[1]->core.assignment_status()->waits, 0u);
}

// A2: a holder that lives keeps the seat, whoever joins.
TEST(AssignedSeat, is_not_taken_from_its_holder_by_a_member_of_a_higher_seat_priority) {
  AssignedRig rig;
  const auto all = start_preferring(rig, {0, 100});
  rig.run_for(60'000ms);
  EXPECT_TRUE(all[0]->core.seat().held_by_own());
  EXPECT_EQ(seats_claimed(all), 1u);
}

// Also where it became free by a word, and not by a silence.
TEST(AssignedSeat, goes_to_the_member_of_the_highest_seat_priority) {
  AssignedRig rig;
  const auto all = start_preferring(rig, {50, 49, 51, 100});
  const LocalTime killed = rig.now();
  rig.kill(*all[0]);
  ASSERT_TRUE(rig.run_until([&] { return all[3]->core.seat().held_by_own(); }, 5000ms));
  EXPECT_LE(rig.now(), killed + kSession + kInterval);
  EXPECT_EQ(seats_claimed(all), 2u);
  const LocalTime left = rig.now();
  rig.close(*all[3], 5000ms);
  ASSERT_TRUE(rig.run_until([&] { return all[2]->core.seat().held_by_own(); }, 5000ms));
  EXPECT_LE(rig.now(), left + kInterval);
  EXPECT_EQ(seats_claimed(all), 3u);
}

// It hangs, and does not count as dead yet.
TEST(AssignedSeat, is_taken_an_interval_later_where_the_preferred_member_does_not_claim) {
  AssignedRig rig;
  const auto all = start_preferring(rig, {50, 100, 50, 75});
  rig.close(*all[1], 5000ms);  // the seat is where it was
  rig.run_for(5000ms);
  AssignedOptions options = rig.core_options(5);
  options.seat_priority = 100;
  Process& preferred = rig.start(std::move(options));
  rig.run_for(1000ms);
  ASSERT_TRUE(all[0]->core.seat().held_by_own());
  preferred.hold = true;
  const LocalTime left = rig.now();
  rig.close(*all[0], 5000ms);
  ASSERT_TRUE(rig.run_until([&] { return all[3]->core.seat().held_by_own(); }, 5000ms));
  EXPECT_GE(rig.now(), left + kInterval);
  EXPECT_LE(rig.now(), left + 2 * kInterval);
  rig.release_hold(preferred);
  rig.run_for(10'000ms);
  EXPECT_TRUE(all[3]->core.seat().held_by_own());
}

// The preferred one learns late that the seat is free, and then claims it, too: the log's order
// decides, and not who is preferred.
TEST(AssignedSeat, is_held_by_the_first_of_two_that_claim_it) {
  AssignedRig rig;
  const auto all = start_preferring(rig, {50, 60, 50, 100});
  all[3]->late = kInterval * 3 / 2;
  rig.run_for(2 * kInterval);
  rig.close(*all[0], 5000ms);
  rig.run_for(10'000ms);
  EXPECT_EQ(all[1]->core.counters().seats_claimed, 1u);
  EXPECT_EQ(all[3]->core.counters().seats_claimed, 1u);
  for (std::size_t i = 1; i < all.size(); ++i) {
    EXPECT_EQ(all[i]->core.seat().holder(), ProcessId{2});
  }
}

// Of its own accord: nothing of what it leads has changed.
TEST(AssignedSeat, a_new_assigner_says_at_once_that_it_assigns) {
  AssignedRig rig;
  AssignedOptions idle = rig.core_options(1);
  idle.weight = 0;
  Process& first = rig.start(std::move(idle));
  rig.run_for(10ms);
  Process& second = rig.start(2);
  ASSERT_TRUE(rig.run_until([&] { return rig.led_by(second) == 8; }, 5000ms));
  rig.run_for(1000ms);
  ASSERT_TRUE(first.core.seat().held_by_own());
  rig.kill(first);
  ASSERT_TRUE(rig.run_until([&] { return second.core.seat().held_by_own(); }, 5000ms));
  const Record* const last = rig.log(0).records.back().record();
  ASSERT_TRUE(last != nullptr && last->id == ProcessId{2} && last->member);
  EXPECT_TRUE(last->member->assigning);
}

// It would hold the seat without saying so, and the lane would wait a lease for the next one.
TEST(AssignedSeat, a_member_that_does_not_read_what_it_writes_claims_no_seat) {
  AssignedRig rig;
  const auto all = rig.start_all(3);
  all[1]->forbidden = {0};
  rig.run_for(3 * kInterval);
  all[0]->hold = true;  // it says no longer that it assigns, and the second one would be next
  ASSERT_TRUE(rig.run_until([&] { return all[2]->core.seat().held_by_own(); }, 5000ms));
  EXPECT_EQ(all[1]->core.counters().seats_claimed, 0u);
}

// Nobody could say anything meanwhile.
TEST(AssignedSeat, an_outage_of_log_0_moves_no_seat) {
  AssignedRig rig;
  const auto all = rig.start_all(3);
  for (Process* const process : all) {
    process->hold = true;
    process->forbidden = {0};
  }
  rig.run_for(kLease + kLease / 2);
  const auto heal = [&](Process& process) {
    process.hold = false;
    process.forbidden.clear();
  };
  heal(*all[1]);
  heal(*all[2]);
  rig.run_for(3 * kInterval);  // the assigner returns last
  heal(*all[0]);
  rig.run_for(5000ms);
  EXPECT_EQ(seats_claimed(all), 1u);
  EXPECT_EQ(rig.led(), 8u);
}

// A2: nobody reads more than the holder, so nobody could do better.
TEST(AssignedSeat, stays_where_it_is_while_a_log_is_away_for_all) {
  AssignedRig rig({Mode::non_exclusive, 8, 2});
  const auto all = rig.start_all(3);
  for (Process* const process : all) process->forbidden = {1};
  rig.run_for(60'000ms);
  EXPECT_EQ(seats_claimed(all), 1u);
  EXPECT_TRUE(all[0]->core.assignment_status()->assigns);
}

// A2: the other reads better, and claims at once.
TEST(AssignedSeat, goes_to_a_member_that_reads_in_time_what_its_holder_reads_late) {
  AssignedRig rig;
  const auto all = rig.start_all(3);
  all[0]->late = kSession - 50ms;
  const LocalTime began = rig.now();
  ASSERT_TRUE(rig.run_until([&] { return all[1]->core.seat().held_by_own(); }, 5000ms));
  EXPECT_LE(rig.now(), began + 2 * kSession + 2 * kInterval);
  EXPECT_EQ(all[0]->core.assignment_status()->yields, 1u);
  rig.run_for(20'000ms);
  EXPECT_EQ(seats_claimed(all), 2u);
}

// A1: no further apart than a third of the shortest session, so that the log flows for all.
TEST(AssignedSeat, its_holder_writes_as_often_as_the_shortest_session_needs) {
  AssignedRig rig;
  AssignedOptions slow = rig.core_options(1);
  slow.core.interval = 1000ms;
  slow.core.lease = 20'000ms;
  slow.session = 6000ms;
  Process& first = rig.start(std::move(slow));
  rig.run_for(10ms);
  Process& second = rig.start(2);
  rig.run_for(20'000ms);
  ASSERT_TRUE(first.core.seat().held_by_own());
  rig.kill(second);
  const LocalTime killed = rig.now();
  ASSERT_TRUE(rig.run_until([&] { return !first.core.members().lives(ProcessId{2}); }, 5000ms));
  EXPECT_LE(rig.now(), killed + kSession + kInterval);
}

// Rule 8 counts members by their records.
TEST(AssignedSeat, other_members_are_those_that_may_take_over) {
  AssignedRig rig;
  const auto all = rig.start_all(2);
  EXPECT_EQ(all[0]->core.other_members(), 1u);
  AssignedOptions options = rig.core_options(3);
  options.cordoned = true;
  rig.start(std::move(options));
  options = rig.core_options(4);
  options.weight = 0;
  rig.start(std::move(options));
  rig.run_for(1000ms);
  EXPECT_EQ(all[0]->core.other_members(), 1u);
  rig.start(5);
  rig.run_for(1000ms);
  EXPECT_EQ(all[0]->core.other_members(), 2u);
}

// A8: a leaver assigns no longer, however long it drains.
TEST(AssignedSeat, a_leaver_that_nobody_relieves_claims_no_seat_and_names_nobody) {
  AssignedRig rig;
  const auto all = rig.start_all(2);
  all[1]->hold = true;  // it lives, and takes nothing over
  rig.step(*all[0], CloseRequested{rig.now() + 5000ms});
  const auto by_first = [&] {
    std::size_t count = 0;
    for (const StoredRecord& stored : rig.log(0).records) {
      const auto* record = std::get_if<AssignmentRecord>(stored.value.get());
      count += record != nullptr && record->id == ProcessId{1};
    }
    return count;
  };
  const std::size_t before = by_first();
  const std::size_t records = rig.log(0).records.size();
  rig.run_for(4000ms);
  ASSERT_FALSE(all[0]->closed);
  EXPECT_EQ(by_first(), before);
  for (std::size_t i = records; i < rig.log(0).records.size(); ++i) {
    const Record* record = rig.log(0).records[i].record();
    if (record == nullptr || record->id != ProcessId{1} || !record->member) continue;
    EXPECT_FALSE(record->member->assigning);
    EXPECT_TRUE(record->member->leaving);
  }
}

// Each names no seat then: a claim that names one would wait for who knows it, and nobody does.
TEST(AssignedSeat, is_claimed_again_after_a_gap_that_all_met) {
  AssignedRig rig;
  const auto all = rig.start_all(2);
  for (Process* const process : all) {
    process->core.step(GapFound{Log{0}, GapReason::out_of_range}, rig.now());
    for (const Transition& t : process->core.take_ready().transitions) {
      const bool stopped = t.kind == TransitionKind::stopped;
      if (stopped) process->core.step(BarrierDone{t.partition, t.epoch}, rig.now());
    }
  }
  for (Process* const process : all) rig.restart_tail(*process, rig.log(0).end());
  ASSERT_FALSE(all[0]->core.seat().known());
  EXPECT_TRUE(rig.run_until(
      [&] { return all[0]->core.seat().known() && all[1]->core.seat().known(); }, 60'000ms));
}

TEST(AssignedSeat, a_claim_names_the_one_that_it_replaces) {
  AssignedRig rig;
  const auto all = rig.start_all(2);
  const Epoch before = all[0]->core.seat().epoch();
  rig.kill(*all[0]);
  ASSERT_TRUE(rig.run_until([&] { return all[1]->core.seat().held_by_own(); }, 5000ms));
  EXPECT_EQ(rig.assignments(AssignmentType::seat_claim).back().seat, before);
}

}  // namespace
}  // namespace neliroute
