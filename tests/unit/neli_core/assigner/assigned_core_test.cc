// Members that one of them assigns to, as whole processes: the stories of rules A1 to A9.
#include "neli_core/assigner/assigned_core.h"

#include <gtest/gtest.h>

#include "tests/unit/neli_core/assigner/assigned_rig.h"

namespace neliroute {
namespace {

using namespace std::chrono_literals;
using told::AssignedRig;
using told::AssignedRigOptions;
using told::assign;
using told::assignment_in;
using told::kInterval;
using told::kLease;
using told::kSession;
using told::Process;

/// One that has claimed the seat and leads everything.
Process& start_first(AssignedRig& rig) {
  Process& first = rig.start(1);
  EXPECT_TRUE(rig.run_until([&] { return rig.led_by(first) == rig.options.partitions; }, 3000ms));
  rig.watch = rig.options.mode == Mode::non_exclusive;
  return first;
}

/// And another that has been given half of it.
Process& start_second(AssignedRig& rig, const Process& first) {
  Process& second = rig.start(2);
  const std::size_t half = rig.options.partitions / 2;
  EXPECT_TRUE(rig.run_until(
      [&] { return rig.led_by(second) == half && rig.led_by(first) == half; }, 5000ms));
  rig.run_for(1000ms);
  return second;
}

TEST(AssignedCore, refuses_options_that_cannot_work) {
  AssignedRig rig;
  AssignedOptions options = rig.core_options(1);
  options.session = 3 * kInterval - 1ms;
  EXPECT_EQ(AssignedCore::make(options).error().code(), Errc::bad_option);
  options.session = 3 * kInterval;
  EXPECT_TRUE(AssignedCore::make(options));
  options.weight = kWeightMax + 1;
  EXPECT_EQ(AssignedCore::make(options).error().code(), Errc::bad_option);
  options.weight = kWeightMax;
  options.core.id = kNobody;
  EXPECT_FALSE(AssignedCore::make(options));
}

TEST(AssignedCore, the_first_one_claims_the_seat_and_leads_everything) {
  AssignedRig rig;
  const LocalTime started = rig.now();
  Process& first = start_first(rig);
  EXPECT_LE(rig.now(), started + 3 * kInterval);
  EXPECT_TRUE(first.core.seat().held_by_own());
  EXPECT_EQ(first.core.counters().seats_claimed, 1u);
  EXPECT_EQ(first.core.counters().assignments_written, 1u);
  EXPECT_EQ(first.core.counters().assignments_obeyed, 1u);
  rig.run_for(20'000ms);
  EXPECT_EQ(first.core.counters().assignments_written, 1u);
  EXPECT_EQ(first.core.counters().seats_claimed, 1u);
  EXPECT_EQ(rig.unled, 0u);
  EXPECT_EQ(first.core.counters().deaths, 0u);
}

// It would be looked at without end.
TEST(AssignedCore, is_due_in_the_future) {
  AssignedRig rig;
  Process& first = start_first(rig);
  start_second(rig, first);
  rig.overdue = 0;
  rig.ticks = 0;
  rig.run_for(10'000ms);
  EXPECT_EQ(rig.overdue, 0u);
  EXPECT_LE(rig.ticks, 1000u);
}

TEST(AssignedCore, a_member_that_holds_nothing_says_each_interval_that_it_lives) {
  AssignedRig rig;
  Process& first = start_first(rig);
  AssignedOptions options = rig.core_options(2);
  options.cordoned = true;
  options.host = "h";
  options.zone = "z";
  Process& second = rig.start(std::move(options));
  const auto count = [&] { return second.batches.size(); };
  rig.run_for(1000ms);
  const std::size_t before = count();
  rig.run_for(1000ms);
  EXPECT_GE(count() - before, 9u);
  EXPECT_LE(count() - before, 11u);
  const auto* said = std::get_if<Record>(&second.batches.back().front());
  ASSERT_NE(said, nullptr);
  ASSERT_TRUE(said->member);
  EXPECT_EQ(said->member->session, kSession);
  EXPECT_TRUE(said->member->cordoned);
  EXPECT_EQ(said->member->host, "h");
  EXPECT_EQ(said->member->zone, "z");
  EXPECT_EQ(said->member->seat, first.core.seat().epoch());
  EXPECT_EQ(said->member->seat_by, ProcessId{1});
  EXPECT_FALSE(said->member->assigning);
  EXPECT_GE(said->member->upto, rig.log(0).end() - 4);
  EXPECT_EQ(rig.led_by(first), 8u);
}

TEST(AssignedCore, half_is_handed_over_to_a_second_one_without_a_gap) {
  AssignedRig rig;
  Process& first = start_first(rig);
  const LocalTime came = rig.now();
  Process& second = rig.start(2);
  ASSERT_TRUE(rig.run_until([&] { return rig.led_by(second) == 4; }, 2000ms));
  EXPECT_LE(rig.now(), came + 2 * kInterval);
  rig.run_for(10'000ms);
  EXPECT_EQ(rig.led_by(first), 4u);
  EXPECT_EQ(rig.led_by(second), 4u);
  EXPECT_EQ(rig.unled, 0u);
  EXPECT_FALSE(second.core.seat().held_by_own());
  EXPECT_EQ(second.core.seat().holder(), ProcessId{1});
  EXPECT_EQ(first.core.counters().assignments_written, 2u);
  EXPECT_EQ(second.core.counters().assignments_written, 0u);
}

TEST(AssignedCore, exclusive_owners_hand_over_too) {
  AssignedRig rig({Mode::exclusive, 8, 2});
  Process& first = rig.start(1);
  ASSERT_TRUE(rig.run_until([&] { return rig.led_by(first) == 8; }, 10'000ms));
  Process& second = rig.start(2);
  ASSERT_TRUE(rig.run_until([&] { return rig.led_by(second) == 4; }, 10'000ms));
  rig.run_for(5000ms);
  EXPECT_EQ(rig.led_by(first), 4u);
  EXPECT_EQ(rig.led_by(second), 4u);
}

// Mutation leaves_silently. Rule A8: one batch of records, so that none is missing.
TEST(AssignedCore, an_assigner_that_leaves_names_successors) {
  AssignedRig rig;
  Process& first = start_first(rig);
  Process& second = start_second(rig, first);
  rig.close(first, 10'000ms);
  std::vector<AssignmentType> wrote;
  for (const Decoded& decoded : first.batch_with(AssignmentType::leave)) {
    if (const auto* record = std::get_if<AssignmentRecord>(&decoded)) {
      wrote.push_back(record->type);
    }
  }
  EXPECT_EQ(wrote, (std::vector{AssignmentType::assign, AssignmentType::leave}));
  EXPECT_TRUE(rig.run_until([&] { return first.closed; }, 2000ms));
  EXPECT_EQ(rig.led_by(second), 8u);
  EXPECT_EQ(rig.unled, 0u);
  EXPECT_TRUE(rig.run_until([&] { return second.core.seat().held_by_own(); }, kInterval));
  rig.run_for(5000ms);
  EXPECT_EQ(rig.led_by(second), 8u);
  EXPECT_EQ(rig.unled, 0u);
  EXPECT_EQ(second.core.counters().deaths, 0u);
}

TEST(AssignedCore, a_member_that_leaves_hands_over_what_it_has) {
  AssignedRig rig;
  Process& first = start_first(rig);
  Process& second = start_second(rig, first);
  rig.close(second, 10'000ms);
  const auto batch = second.batch_with(AssignmentType::leave);
  ASSERT_FALSE(batch.empty());
  EXPECT_TRUE(rig.run_until([&] { return second.closed; }, 2000ms));
  EXPECT_EQ(rig.led_by(first), 8u);
  rig.run_for(5000ms);
  EXPECT_EQ(rig.unled, 0u);
  EXPECT_EQ(first.core.counters().deaths, 0u);
  EXPECT_EQ(rig.led_by(first), 8u);
}

TEST(AssignedCore, a_member_that_cordons_itself_hands_over_and_takes_its_share_later) {
  AssignedRig rig;
  const std::vector<Process*> all = rig.start_all(2);
  Process& first = *all[0];
  Process& second = *all[1];
  rig.watch = true;
  const LocalTime told = rig.now();
  rig.step(second, Cordoned{true});
  EXPECT_TRUE(rig.run_until([&] { return rig.led_by(first) == 8; }, 2000ms));
  EXPECT_LE(rig.now(), told + 2 * kInterval);
  EXPECT_EQ(rig.unled, 0u);
  // The last one that takes anything keeps what it leads, though it assigns.
  rig.step(first, Cordoned{true});
  rig.run_for(10'000ms);
  EXPECT_EQ(rig.led_by(first), 8u);
  EXPECT_TRUE(first.core.seat().held_by_own());
  rig.step(second, Cordoned{false});
  EXPECT_TRUE(rig.run_until([&] { return rig.led_by(second) == 8; }, 2000ms));
  rig.step(first, Cordoned{false});
  EXPECT_TRUE(rig.run_until([&] { return rig.led_by(first) == 4; }, 2000ms));
  EXPECT_EQ(rig.unled, 0u);
}

TEST(AssignedCore, who_is_cordoned_from_the_start_takes_nothing) {
  AssignedRig rig;
  Process& first = rig.start(1);
  rig.step(first, Cordoned{true});
  rig.run_for(10'000ms);
  EXPECT_EQ(rig.led(), 0u);
  Process& second = rig.start(2);
  EXPECT_TRUE(rig.run_until([&] { return rig.led_by(second) == 8; }, 5000ms));
  EXPECT_EQ(rig.led_by(first), 0u);
}

TEST(AssignedCore, the_last_one_leaves_without_waiting_for_a_successor) {
  AssignedRig rig;
  Process& first = start_first(rig);
  rig.watch = false;
  rig.close(first, 2000ms);
  EXPECT_TRUE(rig.run_until([&] { return first.closed; }, 2000ms + kLease));
  EXPECT_EQ(rig.assignments(AssignmentType::leave).size(), 1u);
  EXPECT_TRUE(first.notices.empty()) << "that nobody takes partitions is no news then";
}

TEST(AssignedCore, a_killed_member_is_replaced_after_its_session) {
  AssignedRig rig;
  Process& first = start_first(rig);
  Process& second = start_second(rig, first);
  rig.watch = false;
  const LocalTime killed = rig.now();
  rig.kill(second);
  ASSERT_TRUE(rig.run_until([&] { return rig.led_by(first) == 8; }, 5000ms));
  EXPECT_LE(rig.now(), killed + kSession + 2ms);
  EXPECT_EQ(first.core.counters().deaths, 1u);
}

TEST(AssignedCore, the_seat_moves_when_its_holder_dies) {
  AssignedRig rig;
  Process& first = start_first(rig);
  Process& second = start_second(rig, first);
  Process& third = rig.start(3);
  rig.run_for(2000ms);
  ASSERT_EQ(rig.led(), 8u);
  rig.watch = false;
  const std::uint64_t assigned = second.core.counters().assignments_obeyed;
  const LocalTime killed = rig.now();
  rig.kill(first);
  ASSERT_TRUE(rig.run_until([&] { return rig.led() == 8; }, 5000ms));
  EXPECT_LE(rig.now(), killed + kSession + 2 * kInterval);
  EXPECT_TRUE(second.core.seat().held_by_own());
  EXPECT_EQ(third.core.seat().holder(), ProcessId{2});
  EXPECT_GT(second.core.counters().assignments_obeyed, assigned);
  rig.run_for(5000ms);
  EXPECT_EQ(rig.led_by(second), 4u);
  EXPECT_EQ(rig.led_by(third), 4u);
  EXPECT_EQ(third.core.counters().seats_claimed, 0u);
}

// A2 and A4: one that writes and does not read loses the seat, and nothing of it moves before that.
TEST(AssignedCore, a_holder_that_reads_nothing_loses_the_seat) {
  AssignedRig rig;
  Process& first = start_first(rig);
  Process& second = start_second(rig, first);
  rig.watch = false;
  const LocalTime cut = rig.now();
  first.hold = true;
  ASSERT_TRUE(rig.run_until([&] { return second.core.seat().held_by_own(); }, 5000ms));
  EXPECT_GE(rig.now(), cut + kSession);
  EXPECT_LE(rig.now(), cut + kLease + 4 * kInterval);
  first.hold = false;
  rig.settle();
  rig.run_for(10'000ms);
  EXPECT_EQ(first.core.seat().holder(), ProcessId{2});
  EXPECT_EQ(second.core.counters().seats_claimed, 1u);
  EXPECT_EQ(rig.led(), 8u);
}

// A2: a fetch quota, or a far broker. It reads its own records, but each too late to prove that
// somebody is dead.
TEST(AssignedCore, a_holder_that_reads_too_late_to_judge_loses_the_seat) {
  AssignedRig rig;
  const auto all = rig.start_all(3);
  Process& first = *all[0];
  Process& second = *all[1];
  ASSERT_TRUE(first.core.seat().held_by_own());
  while (first.late < kLease * 3 / 2) {  // it falls behind, and always reads something
    first.late += kInterval / 2;
    rig.run_for(kInterval);
  }
  rig.kill(*all[2]);
  ASSERT_TRUE(rig.run_until([&] { return rig.led() == 8; }, 5000ms));
  EXPECT_TRUE(second.core.seat().held_by_own());
}

TEST(AssignedCore, an_assignment_that_was_not_stored_is_written_again) {
  AssignedRig rig;
  Process& first = rig.start(1);
  first.fail_assignments = true;
  rig.run_for(1000ms);
  EXPECT_EQ(rig.led_by(first), 0u);
  const std::uint64_t written = first.core.counters().assignments_written;
  EXPECT_GE(written, 2u);
  EXPECT_LE(written, 10u);  // and not without a pause
  first.fail_assignments = false;
  EXPECT_TRUE(rig.run_until([&] { return rig.led_by(first) == 8; }, 2 * kInterval));
}

TEST(AssignedCore, an_assignment_of_a_former_assigner_is_not_obeyed) {
  AssignedRig rig;
  Process& first = start_first(rig);
  Process& second = start_second(rig, first);
  const std::uint64_t version = second.core.designations().version();
  AssignmentRecord stale = assign(1, {5, 0}, {{2, "0-7"}});
  rig.append(encode_record(stale));
  stale.seat = first.core.seat().epoch();
  stale.id = ProcessId{3};  // not its seat
  rig.append(encode_record(stale));
  stale.id = ProcessId{1};
  stale.lane = Lane{1};
  rig.append(encode_record(stale));
  EXPECT_EQ(second.core.designations().version(), version);
  EXPECT_EQ(second.core.counters().assignments_refused, 2u);
  const std::uint64_t obeyed = second.core.counters().assignments_obeyed;
  stale.lane = Lane{0};
  rig.append(encode_record(stale));  // and this is one that counts
  EXPECT_EQ(second.core.counters().assignments_refused, 2u);
  EXPECT_GT(second.core.counters().assignments_obeyed, obeyed);
  EXPECT_GT(second.core.designations().version(), version);
}

// A3: it has not read the seat claim, and knows of it by a member that had.
TEST(AssignedCore, a_late_reader_is_assigned_to) {
  AssignedRig rig;
  Process& first = start_first(rig);
  rig.run_for(5000ms);
  Process& late = rig.start(2, rig.log(0).end());
  ASSERT_TRUE(rig.run_until([&] { return rig.led_by(late) == 4; }, 1000ms));
  EXPECT_EQ(late.core.seat().holder(), ProcessId{1});
  rig.run_for(5000ms);
  EXPECT_EQ(rig.led_by(first), 4u);
  EXPECT_EQ(rig.unled, 0u);
}

// "One configuration": records with other settings make nobody a member.
TEST(AssignedCore, who_has_other_settings_is_no_member) {
  AssignedRig rig;
  Process& first = start_first(rig);
  Record other = told::renewal(9);
  other.since = rig.broker_now().time_since_epoch().count() + 1;  // it came last
  other.settings = rig.core_options(9).core.settings;
  other.settings->mode = "non_exclusive";
  other.settings->variation = "claimed";
  rig.append(encode_record(other));
  EXPECT_EQ(first.core.members().find(ProcessId{9}), nullptr);
  other.settings.reset();
  rig.append(encode_record(other));
  EXPECT_EQ(first.core.members().find(ProcessId{9}), nullptr);
  other.settings = first.core.claims().options().settings;
  rig.append(encode_record(other));
  EXPECT_NE(first.core.members().find(ProcessId{9}), nullptr);
}

TEST(AssignedCore, long_assignments_are_split_over_records) {
  AssignedRig rig({Mode::non_exclusive, 20'000, 1});
  Process& first = rig.start(1);
  ASSERT_TRUE(rig.run_until([&] { return rig.led_by(first) == 20'000; }, 3000ms));
  const auto written = rig.assignments(AssignmentType::assign);
  ASSERT_EQ(written.size(), 2u);
  std::size_t named = 0;
  for (const AssignmentRecord& record : written) {
    ASSERT_EQ(record.designations.size(), 1u);
    named += record.designations[0].partitions.size();
  }
  EXPECT_EQ(named, 20'000u);
  Process& second = rig.start(2);
  EXPECT_TRUE(rig.run_until([&] { return rig.led_by(second) == 10'000; }, 3000ms));
}

// What was assigned before, and is over, is read again.
TEST(AssignedCore, a_tail_that_starts_anew_moves_nothing) {
  for (const Mode mode : {Mode::non_exclusive, Mode::exclusive}) {
    AssignedRig rig({mode, 8, 2});
    Process& first = rig.start(1);
    ASSERT_TRUE(rig.run_until([&] { return rig.led_by(first) == 8; }, 10'000ms));
    Process& second = rig.start(2);
    ASSERT_TRUE(rig.run_until([&] { return rig.led_by(second) == 4; }, 10'000ms));
    rig.run_for(2000ms);
    for (Process* const process : {&first, &second}) {
      const std::size_t claims = rig.claims();
      rig.watch = true;
      rig.restart_tail(*process, 0);
      rig.run_for(5000ms);
      // It claims again what it had in this log, as after every gap, and nothing else.
      EXPECT_EQ(rig.claims(), claims + 1);
      EXPECT_EQ(rig.led_by(first), 4u);
      EXPECT_EQ(rig.led_by(second), 4u);
      EXPECT_EQ(rig.unled, 0u);
      EXPECT_EQ(first.core.members().false_deaths(), 0u);
    }
  }
}

// What a dead member wrote before its death is no sign that it lives.
TEST(AssignedCore, a_tail_that_starts_anew_revives_nobody) {
  AssignedRig rig;
  Process& first = start_first(rig);
  Process& second = start_second(rig, first);
  rig.watch = false;
  rig.kill(second);
  ASSERT_TRUE(rig.run_until([&] { return rig.led_by(first) == 8; }, 5000ms));
  rig.restart_tail(first, 0);
  EXPECT_FALSE(first.core.members().lives(ProcessId{2}));
  rig.run_for(5000ms);
  EXPECT_EQ(first.core.members().false_deaths(), 0u);
  EXPECT_EQ(first.core.counters().deaths, 1u);
  EXPECT_EQ(rig.led_by(first), 8u);
}

}  // namespace
}  // namespace neliroute
