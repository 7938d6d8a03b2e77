// Members that one of them assigns to, where records are lost, refused, or a log is away.
#include "neli_core/assigner/assigned_core.h"

#include <gtest/gtest.h>

#include "tests/unit/neli_core/assigner/assigned_rig.h"

namespace neliroute {
namespace {

using namespace std::chrono_literals;
using told::AssignedRig;
using told::kInterval;
using told::kLease;
using told::kSession;
using told::Process;

std::size_t renewals_of(const Process& process) {
  std::size_t count = 0;
  for (const auto& batch : process.batches) {
    for (const Decoded& decoded : batch) {
      const auto* record = std::get_if<Record>(&decoded);
      count += record != nullptr && record->type == RecordType::renewal;
    }
  }
  return count;
}

// A5 would keep it named, and it would end with its bound, with nobody to lead.
TEST(AssignedFaults, a_leaver_whose_leave_is_lost_hands_over_all_the_same) {
  AssignedRig rig;
  const auto all = rig.start_all(3);
  rig.watch = true;
  for (Process* const leaver : {all[1], all[0]}) {  // an owner, and who assigns
    leaver->lose_leave = true;
    leaver->fail_assignments = true;
    rig.close(*leaver, 2 * kLease + kSession);
    const LocalTime asked = rig.now();
    EXPECT_TRUE(rig.run_until([&] { return leaver->closed; }, 5000ms));
    EXPECT_LE(rig.now(), asked + 4 * kInterval);
    rig.run_for(2000ms);
  }
  EXPECT_EQ(rig.led_by(*all[2]), 8u);
  EXPECT_EQ(rig.unled, 0u);
  EXPECT_EQ(all[2]->core.counters().deaths, 0u);
}

// One record a death and member would be a flood: only who must act on a death proves it at once.
TEST(AssignedFaults, only_the_assigner_asks_at_once_whether_a_member_is_dead) {
  AssignedRig rig;
  const auto all = rig.start_all(8);
  ASSERT_TRUE(all[0]->core.seat().held_by_own());
  rig.kill(*all[7]);
  std::vector<std::size_t> before;
  for (const Process* process : all) before.push_back(renewals_of(*process));
  rig.run_for(kSession + 10ms);
  EXPECT_EQ(all[0]->core.counters().deaths, 1u);
  for (std::size_t i = 1; i < 7; ++i) {
    // Renewals of what it leads more now are counted, too.
    EXPECT_LE(renewals_of(*all[i]) - before[i], 5u + 2u) << i;
  }
}

TEST(AssignedFaults, a_holder_that_cannot_write_one_of_the_logs_lets_another_assign) {
  AssignedRig rig({Mode::non_exclusive, 8, 2});
  const auto all = rig.start_all(3);
  Process& first = *all[0];
  first.forbidden = {1};
  const LocalTime cut = rig.now();
  ASSERT_TRUE(rig.run_until([&] { return all[1]->core.seat().held_by_own(); }, 20'000ms));
  EXPECT_LE(rig.now(), cut + 3 * kLease + kSession + 5 * kInterval);
  EXPECT_EQ(first.notices.size(), 1u);
  // It is given up in that log, and nowhere else.
  ASSERT_TRUE(rig.run_until([&] { return rig.led() == 8; }, 20'000ms));
  for (std::uint32_t p = 0; p < 8; ++p) {
    const bool named = all[1]->core.designations().at(Partition{p}).id == ProcessId{1};
    EXPECT_FALSE(p % 2 == 1 && named) << p;
  }
  rig.run_for(10'000ms);
  EXPECT_EQ(rig.led(), 8u);
  EXPECT_TRUE(all[1]->core.seat().held_by_own());
  EXPECT_EQ(all[1]->core.counters().seats_claimed, 1u);
  first.forbidden.clear();
  rig.run_for(10'000ms);
  EXPECT_TRUE(all[1]->core.seat().held_by_own());  // it heals, and claims nothing back
}

// The seat goes round, slowly, and what is in the other log is not disturbed.
TEST(AssignedFaults, a_log_that_is_away_for_all_moves_nothing_in_the_others) {
  AssignedRig rig({Mode::non_exclusive, 8, 2});
  const auto all = rig.start_all(3);
  for (Process* const process : all) process->forbidden = {1};
  rig.run_for(5000ms);
  const std::size_t claims = rig.claims();
  std::uint64_t before = 0;
  for (const Process* process : all) before += process->core.counters().seats_claimed;
  rig.run_for(60'000ms);
  std::uint64_t seats = 0;
  for (const Process* process : all) seats += process->core.counters().seats_claimed;
  EXPECT_LE(seats - before, 20u);
  EXPECT_EQ(rig.claims(), claims);
  EXPECT_EQ(rig.led(), 4u);
  for (Process* const process : all) process->forbidden.clear();
  EXPECT_TRUE(rig.run_until([&] { return rig.led() == 8; }, 5000ms));
}

TEST(AssignedFaults, who_alone_cannot_read_a_log_ends_once_others_have_had_their_time_there) {
  AssignedRig rig({Mode::non_exclusive, 8, 2});
  rig.options.serve_stale = 120s;
  const auto all = rig.start_all(3);
  Process& owner = *all[2];
  owner.cut_off.insert(Log{1});
  const auto leads_there = [&] {
    std::size_t led = 0;
    for (std::uint32_t p = 1; p < 8; p += 2) led += owner.leads(p, rig.now());
    return led;
  };
  ASSERT_GT(leads_there(), 0u);
  // A lease until it is stale, and twice the time of A5: of itself, and of the others.
  rig.run_for(kLease + 2 * (2 * kSession + 4 * kInterval) + 4 * kInterval);
  EXPECT_EQ(leads_there(), 0u);
  EXPECT_EQ(rig.led_by(*all[0]) + rig.led_by(*all[1]) + rig.led_by(owner), 8u);
}

// The next assigner has not named anybody yet, and cannot know who had time before.
TEST(AssignedFaults, who_alone_cannot_read_a_log_gives_another_assigner_its_own_time) {
  AssignedRig rig({Mode::non_exclusive, 8, 2});
  rig.options.serve_stale = 120s;
  const auto all = rig.start_all(3);
  Process& owner = *all[2];
  Process& next = *all[1];
  next.fail_assignments = true;
  owner.cut_off.insert(Log{1});
  const auto leads_there = [&] {
    std::size_t led = 0;
    for (std::uint32_t p = 1; p < 8; p += 2) led += owner.leads(p, rig.now());
    return led;
  };
  constexpr milliseconds kTime = 2 * kSession + 4 * kInterval;
  rig.run_for(kLease + 2 * kTime - kInterval);
  ASSERT_GT(leads_there(), 0u);
  rig.kill(*all[0]);
  ASSERT_TRUE(rig.run_until([&] { return next.core.seat().held_by_own(); }, 5 * kSession));
  rig.run_for(kTime - 2 * kInterval);
  EXPECT_GT(leads_there(), 0u);
  rig.run_for(4 * kInterval);
  EXPECT_EQ(leads_there(), 0u);
}

// Another was named for what it leads there, in the moment in which the log fell silent.
TEST(AssignedFaults, who_hands_over_as_a_log_falls_silent_for_all_serves_on_until_it_is_back) {
  AssignedRig rig({Mode::non_exclusive, 8, 2});
  rig.options.serve_stale = 120s;
  const auto all = rig.start_all(3);
  Process& owner = *all[2];
  const std::size_t led = rig.led_by(owner);
  owner.cut_off.insert(Log{1});
  rig.run_for(kLease / 2);
  rig.order({OverrideVerb::cordon, "p3", {}, 0});
  for (Process* const process : all) process->cut_off.insert(Log{1});
  rig.watch = true;
  rig.run_for(60'000ms);
  EXPECT_EQ(rig.unled, 0u);
  EXPECT_LT(rig.led_by(owner), led);  // what is in log 0 it handed over
  EXPECT_GT(rig.led_by(owner), 0u);
  for (Process* const process : all) {
    process->cut_off.clear();
    rig.arrive(*process);
  }
  EXPECT_TRUE(rig.run_until([&] { return rig.led_by(owner) == 0; }, 10'000ms));
  EXPECT_EQ(rig.unled, 0u);
}

TEST(AssignedFaults, the_only_member_keeps_the_seat_without_one_of_the_logs) {
  AssignedRig rig({Mode::non_exclusive, 8, 2});
  const auto all = rig.start_all(1);
  all[0]->forbidden = {1};
  rig.run_for(20'000ms);
  EXPECT_TRUE(all[0]->core.seat().held_by_own());
  EXPECT_TRUE(all[0]->notices.empty());
}

// It has missed nothing.
TEST(AssignedFaults, a_tail_that_goes_on_where_it_was_forgets_nothing) {
  AssignedRig rig;
  const auto all = rig.start_all(2);
  const std::size_t claims = rig.claims();
  for (Process* const process : all) {
    rig.restart_tail(*process, rig.log(0).end());
    EXPECT_TRUE(process->core.seat().known());
  }
  const LocalTime restarted = rig.now();
  rig.watch = true;
  rig.close(*all[1], 10'000ms);
  EXPECT_TRUE(rig.run_until([&] { return all[1]->closed; }, 5000ms));
  EXPECT_LE(rig.now(), restarted + kInterval);
  EXPECT_EQ(rig.unled, 0u);
  EXPECT_LE(rig.claims(), claims + 1);
}

// Its lease is over, and what it led is not free before its application has finished: it lives all
// the same.
TEST(AssignedFaults, a_member_whose_barriers_run_says_that_it_lives) {
  AssignedRig rig({Mode::exclusive, 4, 1});
  const auto all = rig.start_all(2);
  Process& second = *all[1];
  second.keep_barriers = true;
  second.hold = true;  // it writes, and does not read it back
  ASSERT_TRUE(rig.run_until([&] { return rig.led_by(second) == 0; }, 2 * kLease));
  second.hold = false;
  const std::size_t before = renewals_of(second);
  rig.run_for(kSession + 2 * kInterval);
  EXPECT_GE(renewals_of(second) - before, 6u);
  EXPECT_EQ(all[0]->core.counters().deaths, 0u);
}

TEST(AssignedFaults, assignments_keep_to_the_limit_of_a_record) {
  AssignedRig rig({Mode::non_exclusive, 300, 1});
  AssignedOptions options = rig.core_options(1);
  options.core.record_bytes_max = 500;
  Process& first = rig.start(std::move(options));
  ASSERT_TRUE(rig.run_until([&] { return rig.led_by(first) == 300; }, 3000ms));
  std::size_t longest = 0;
  for (const AssignmentRecord& record : rig.assignments(AssignmentType::assign)) {
    longest = std::max(longest, encode_record(record).size());
  }
  EXPECT_LE(longest, 500u);
  EXPECT_GE(rig.assignments(AssignmentType::assign).size(), 5u);
}

// Thousands of names of one partition each: it is the names that fill a record.
TEST(AssignedFaults, assignments_to_many_members_keep_to_the_limit_of_a_record) {
  AssignedRig rig({Mode::non_exclusive, 60, 1});
  AssignedOptions options = rig.core_options(1);
  options.core.record_bytes_max = 500;
  Process& first = rig.start(std::move(options));
  for (std::uint64_t id = 2; id <= 30; ++id) {
    Record member = told::renewal(id);
    member.settings = first.core.claims().options().settings;
    rig.append(encode_record(member));
  }
  rig.run_for(250ms);
  const auto written = rig.assignments(AssignmentType::assign);
  ASSERT_GE(written.size(), 2u);
  for (const AssignmentRecord& record : written) EXPECT_LE(encode_record(record).size(), 500u);
}

// A5: its renewals say that it prepares, so it is not given up, however long that takes.
TEST(AssignedFaults, a_designee_whose_application_prepares_is_not_given_up) {
  AssignedRig rig;
  const auto all = rig.start_all(1);
  AssignedOptions options = rig.core_options(2);
  options.core.prepare_timeout = 5000ms;
  Process& second = rig.start(std::move(options));
  rig.run_for(12'000ms);
  EXPECT_EQ(rig.led_by(second), 4u);
  EXPECT_EQ(all[0]->core.assignment_status()->given_up, 0u);
}

// A5 waits for the longest lease of all: in a rolling change of settings they differ.
TEST(AssignedFaults, a_designee_that_waits_out_a_longer_lease_is_not_given_up) {
  AssignedRig rig({Mode::exclusive, 8, 1});
  Process& first = rig.start(1);
  rig.run_for(10ms);
  AssignedOptions options = rig.core_options(2);
  options.core.lease = 5 * kLease;
  Process& second = rig.start(std::move(options));
  rig.run_for(10ms);
  rig.start(3);
  ASSERT_TRUE(rig.run_until([&] { return rig.led() == 8; }, 30'000ms));
  rig.run_for(10'000ms);
  ASSERT_GT(rig.led_by(second), 0u);
  rig.kill(second);
  ASSERT_TRUE(rig.run_until([&] { return rig.led() == 8; }, 30'000ms));
  EXPECT_EQ(first.core.assignment_status()->given_up, 0u);
}

TEST(AssignedFaults, a_place_that_is_too_long_is_refused) {
  AssignedRig rig;
  AssignedOptions options = rig.core_options(1);
  options.host = std::string(256, 'h');
  EXPECT_FALSE(AssignedCore::make(options));
  options.host = std::string(255, 'h');
  EXPECT_TRUE(AssignedCore::make(options));
  options.zone = std::string(256, 'z');
  const auto refused = AssignedCore::make(options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Errc::bad_option);
  EXPECT_NE(refused.error().message().find("zone"), std::string::npos);
}

TEST(AssignedFaults, a_seat_priority_that_is_too_high_is_refused) {
  AssignedRig rig;
  AssignedOptions options = rig.core_options(1);
  options.seat_priority = 100;
  EXPECT_TRUE(AssignedCore::make(options));
  options.seat_priority = 101;
  const auto refused = AssignedCore::make(options);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Errc::bad_option);
  EXPECT_EQ(refused.error().message(), "seat_priority: 101 is more than 100");
}

}  // namespace
}  // namespace neliroute
