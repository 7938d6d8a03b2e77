// What a member makes of records by where and when it reads them: in another log, a second time, in
// the history, half an assignment, after a gap (rules A1, A3 and A7).
#include <gtest/gtest.h>

#include "neli_core/assigner/assigned_core.h"
#include "tests/unit/neli_core/assigner/assigned_rig.h"
#include "tests/world/memory_log.h"

namespace neliroute {
namespace {

using namespace std::chrono_literals;
using told::AssignedRig;
using told::assignment_in;
using told::kInterval;
using told::kLease;
using told::kSession;
using told::Process;

/// Reads that record again.
void read_again(AssignedRig& rig, Process& process, std::int64_t offset) {
  const StoredRecord record = *rig.log(0).find(offset);
  rig.step(process, Received{Log{0}, offset, record.stamped, true, record.value.get()});
}

std::int64_t first_of(const AssignedRig& rig, AssignmentType type) {
  std::int64_t offset = 0;
  while (assignment_in(*rig.log(0).records[static_cast<std::size_t>(offset)].value, type) ==
         nullptr) {
    ++offset;
  }
  return offset;
}

std::size_t assignments_by(const AssignedRig& rig, std::uint64_t id) {
  std::size_t count = 0;
  for (const StoredRecord& stored : rig.log(0).records) {
    const auto* record = std::get_if<AssignmentRecord>(stored.value.get());
    count += record != nullptr && record->id == ProcessId{id};
  }
  return count;
}

/// What it last said of itself.
MemberFields last_said(const Process& process) {
  for (auto batch = process.batches.rbegin(); batch != process.batches.rend(); ++batch) {
    for (const Decoded& decoded : *batch) {
      const auto* record = std::get_if<Record>(&decoded);
      if (record != nullptr && record->member) return *record->member;
    }
  }
  ADD_FAILURE() << "it never said anything";
  return {};
}

TEST(AssignedReading, what_assigns_counts_in_log_0_only) {
  AssignedRig rig({Mode::non_exclusive, 8, 2});
  const auto all = rig.start_all(2);
  const std::uint64_t version = all[1]->core.designations().version();
  const auto append = [&](const std::string& value) {
    rig.log(1).append(read_value(value), rig.broker_now());
  };
  append(encode_record(told::assign(1, all[0]->core.seat().epoch(), {{2, "0-7"}})));
  AssignmentRecord other = told::assign(2, {}, {});
  other.type = AssignmentType::seat_claim;
  append(encode_record(other));
  other.type = AssignmentType::leave;
  append(encode_record(other));
  Record member = told::renewal(9);
  member.settings = all[0]->core.claims().options().settings;
  append(encode_record(member));
  rig.settle();
  for (const Process* process : all) {
    EXPECT_EQ(process->core.designations().version(), version);
    EXPECT_EQ(process->core.seat().holder(), ProcessId{1});
    EXPECT_TRUE(process->core.members().lives(ProcessId{2}));
    EXPECT_EQ(process->core.members().find(ProcessId{9}), nullptr);
  }
  rig.append(encode_record(member));
  EXPECT_NE(all[0]->core.members().find(ProcessId{9}), nullptr) << "where it is one";
}

TEST(AssignedReading, a_record_that_is_read_a_second_time_says_nothing_new) {
  AssignedRig rig;
  const auto all = rig.start_all(2);
  Process& second = *all[1];
  rig.start(3);  // so that the first assignment is not the last
  rig.run_for(2000ms);
  ASSERT_EQ(rig.assignments(AssignmentType::assign).size(), 2u);
  const std::uint64_t version = second.core.designations().version();
  const std::uint64_t refused = second.core.counters().assignments_refused;
  const Epoch seat = second.core.seat().epoch();
  read_again(rig, second, first_of(rig, AssignmentType::assign));
  read_again(rig, second, first_of(rig, AssignmentType::seat_claim));
  EXPECT_EQ(second.core.designations().version(), version);
  EXPECT_EQ(second.core.counters().assignments_refused, refused);
  EXPECT_EQ(second.core.seat().epoch(), seat);
}

// It would go on to say that it reads what it writes.
TEST(AssignedReading, an_own_record_that_is_read_a_second_time_is_no_sign_that_it_reads) {
  AssignedRig rig;
  const auto all = rig.start_all(2);
  Process& first = *all[0];
  std::int64_t own = rig.log(0).end() - 1;
  while (rig.log(0).find(own)->record()->id != ProcessId{1}) --own;
  EXPECT_TRUE(last_said(first).assigning);
  first.hold = true;
  for (int i = 0; i < 6; ++i) {
    rig.run_for(kInterval);
    read_again(rig, first, own);
  }
  rig.run_for(kInterval);
  EXPECT_FALSE(last_said(first).assigning);
}

// A3: who starts there believes it. One more, and it would vouch for a claim that it has not read.
TEST(AssignedReading, says_exactly_how_far_it_has_read) {
  AssignedRig rig;
  const auto all = rig.start_all(2);
  all[1]->hold = true;
  const std::int64_t next = all[1]->next[0];
  rig.run_for(2 * kInterval);
  ASSERT_GT(rig.log(0).end(), next);
  EXPECT_EQ(last_said(*all[1]).upto, next);
}

TEST(AssignedReading, a_gap_in_log_0_takes_the_seat_and_one_in_another_log_does_not) {
  AssignedRig rig({Mode::non_exclusive, 8, 2});
  const auto all = rig.start_all(2);
  AssignedCore& core = all[0]->core;
  core.step(GapFound{Log{1}, GapReason::out_of_range}, rig.now());
  (void)core.take_ready();
  EXPECT_TRUE(core.seat().held_by_own());
  core.step(GapFound{Log{0}, GapReason::out_of_range}, rig.now());
  (void)core.take_ready();
  EXPECT_FALSE(core.seat().known());
  EXPECT_FALSE(core.assignment_status()->assigns);
}

// A7: what it read so far of the history may be over. Neither does it take it for a free seat. If
// that takes longer than T, another member assigns in its place (A2): its own records in a history
// prove no death.
TEST(AssignedReading, while_log_0_is_read_anew_nobody_assigns_or_claims_the_seat) {
  AssignedRig rig;
  const auto all = rig.start_all(3);
  for (std::size_t i = 0; i < 2; ++i) {
    Process& process = *all[i];
    process.hold = true;
    process.next[0] = 0;
    const std::int64_t end = rig.log(0).end();
    const std::size_t written = assignments_by(rig, i + 1);
    const LocalTime began = rig.now();
    ASSERT_TRUE(process.core.seat().held_by_own());
    rig.step(process, tail_at(Log{0}, 0, end));
    while (process.next[0] < end - 1) {
      rig.read(process, 0, 1);
      rig.run_for(20ms);
      ASSERT_EQ(assignments_by(rig, i + 1), written) << process.next[0] << " of " << end;
    }
    process.hold = false;
    rig.settle();
    rig.run_for(5000ms);
    EXPECT_EQ(rig.led(), 8u);
    ASSERT_GT(rig.now(), began + kLease);
    EXPECT_NE(all[2]->core.seat().holder(), ProcessId{i + 1});
  }
}

// A7: two intervals, in which every owner renews. They count from the end of the history.
TEST(AssignedReading, waits_for_the_owners_in_a_log_that_is_read_anew) {
  enum class End { never, by_record, by_position };
  for (const End end : {End::never, End::by_record, End::by_position}) {
    AssignedRig rig({Mode::non_exclusive, 8, 2});
    const auto all = rig.start_all(3);
    Process& first = *all[0];
    first.hold = true;
    first.next[1] = 0;
    rig.step(first, tail_at(Log{1}, 0, rig.log(1).end()));
    const LocalTime restarted = rig.now();
    LocalTime from = restarted;
    const std::size_t written = assignments_by(rig, 1);
    rig.close(*all[2], 10'000ms);
    while (assignments_by(rig, 1) == written && rig.now() < restarted + 2000ms) {
      rig.read(first, 0, 100);
      if (rig.now() == restarted + 150ms && end != End::never) {
        from = rig.now();
        if (end == End::by_record) rig.read(first, 1, 1000);
        if (end == End::by_position) {
          first.next[1] = rig.log(1).end();
          rig.step(first, LogPosition{Log{1}, first.next[1]});
        }
      }
      rig.run_for(10ms);
    }
    EXPECT_GE(rig.now(), from + 2 * kInterval);
    EXPECT_LE(rig.now(), from + 3 * kInterval);
  }
}

// A1, mutation silence_by_reader: each stall began everybody's silence anew.
TEST(AssignedReading, judges_what_it_reads_late_as_if_it_had_read_it_at_once) {
  AssignedRig rig;
  const auto all = rig.start_all(3);
  Process& first = *all[0];
  rig.kill(*all[2]);
  for (int stall = 0; stall < 3; ++stall) {  // more than 2.5 intervals each, and it assigns
    first.hold = true;
    rig.run_for(3 * kInterval);
    first.hold = false;
    rig.settle();
    rig.run_for(10ms);
  }
  EXPECT_FALSE(first.core.members().lives(ProcessId{3}));
  EXPECT_TRUE(rig.run_until([&] { return rig.led() == 8; }, kInterval)) << "named at once";
}

// A1 and A2, the same mutation: each burst was a gap, so that the dead lived for six of them, and
// the lag of the one that reads so was nobody's.
TEST(AssignedReading, judges_what_it_reads_in_bursts_by_its_own_records_where_writers_stamp) {
  AssignedRig rig;
  std::vector<Process*> all;
  for (std::uint64_t id = 1; id <= 3; ++id) {
    AssignedOptions options = rig.core_options(id);
    options.core.believe_broker_time = false;
    all.push_back(&rig.start(options));
    rig.run_for(10ms);
  }
  ASSERT_TRUE(rig.run_until([&] { return rig.led() == 8; }, 10'000ms));
  rig.run_for(5000ms);
  Process& first = *all[0];
  ASSERT_TRUE(first.core.seat().held_by_own());
  rig.kill(*all[2]);
  const auto burst = [&] {
    first.hold = true;
    rig.run_for(kSession * 8 / 5);
    first.hold = false;
    rig.settle();
    rig.run_for(10ms);
  };
  for (int i = 0; i < 3; ++i) burst();
  EXPECT_FALSE(first.core.members().lives(ProcessId{3}));
  EXPECT_EQ(first.core.members().false_deaths(), 0u);
  for (int i = 0; i < 3; ++i) burst();
  EXPECT_EQ(rig.led(), 8u);
  EXPECT_FALSE(first.core.seat().held_by_own()) << "it yields to one that reads better";
}

// A dead assigner's records in the history are no sign that it lives.
TEST(AssignedReading, a_tail_that_starts_anew_revives_no_former_assigner) {
  AssignedRig rig;
  const auto all = rig.start_all(3);
  rig.kill(*all[0]);
  ASSERT_TRUE(rig.run_until([&] { return rig.led() == 8; }, 5000ms));
  rig.run_for(2000ms);
  Process& second = *all[1];
  second.hold = true;
  second.next[0] = 0;
  rig.step(second, tail_at(Log{0}, 0, rig.log(0).end()));
  while (second.next[0] < rig.log(0).end()) {
    rig.read(second, 0, 1);
    ASSERT_FALSE(second.core.members().lives(ProcessId{1})) << second.next[0];
  }
  EXPECT_EQ(second.core.members().false_deaths(), 0u);
}

// A4: of a history only the outcome counts, and that something was taken is part of it: it gives up
// what it leads, and the other gets it.
TEST(AssignedReading, what_a_history_says_was_taken_is_given_up) {
  for (const Mode mode : {Mode::non_exclusive, Mode::exclusive}) {
    AssignedRig rig({mode, 8, 1});
    const auto all = rig.start_all(2);
    Process& second = *all[1];
    second.hold = true;
    const std::size_t written = assignments_by(rig, 1);
    Process& third = rig.start(3);
    rig.run_for(kInterval + kInterval / 2);
    ASSERT_GT(assignments_by(rig, 1), written);
    second.hold = false;
    rig.restart_tail(second, second.next[0] - 1);
    rig.run_for(5000ms);
    EXPECT_GE(rig.led_by(third), 2u) << rig.describe();
    EXPECT_LE(rig.led_by(second), 3u);
    const std::size_t claims = rig.claims();
    rig.run_for(10'000ms);
    EXPECT_EQ(rig.claims(), claims);
    EXPECT_EQ(all[0]->core.assignment_status()->given_up, 0u);
  }
}

// A8: also while an assignment of its own is on its way.
TEST(AssignedReading, a_leaver_names_its_successors_in_the_batch_in_which_it_leaves) {
  AssignedRig rig;
  const auto all = rig.start_all(2);
  Process& first = *all[0];
  first.hold = true;
  rig.start(3);
  const std::uint64_t written = first.core.counters().assignments_written;
  for (int i = 0; i < 200 && first.core.counters().assignments_written == written; ++i) {
    rig.read(first, 0, 1);
    rig.run_for(5ms);
  }
  ASSERT_GT(first.core.counters().assignments_written, written);
  rig.step(first, CloseRequested{rig.now() + 5000ms});
  std::vector<AssignmentType> types;
  for (const Decoded& decoded : first.batch_with(AssignmentType::leave)) {
    const auto* record = std::get_if<AssignmentRecord>(&decoded);
    if (record != nullptr) types.push_back(record->type);
  }
  ASSERT_GE(types.size(), 2u);
  EXPECT_EQ(types.front(), AssignmentType::assign);
  EXPECT_EQ(types.back(), AssignmentType::leave);
}

// A7: half of an assignment is no ground to plan on.
TEST(AssignedReading, plans_nothing_while_part_of_its_assignment_is_not_read_back) {
  AssignedRig rig({Mode::non_exclusive, 300, 1});
  AssignedOptions options = rig.core_options(1);
  options.core.record_bytes_max = 500;
  Process& first = rig.start(std::move(options));
  rig.run_for(2 * kInterval - 1ms);
  ASSERT_EQ(first.core.counters().assignments_written, 0u);
  first.hold = true;
  rig.run_for(2ms);
  const std::uint64_t written = first.core.counters().assignments_written;
  ASSERT_GE(written, 3u);
  while (first.core.counters().assignments_obeyed == 0) rig.read(first, 0, 1);
  rig.run_for(kInterval);
  EXPECT_EQ(first.core.counters().assignments_written, written);
  first.hold = false;
  rig.settle();
  EXPECT_EQ(rig.led_by(first), 300u);
  rig.run_for(5 * kInterval);
  EXPECT_EQ(first.core.counters().assignments_written, written);
}

}  // namespace
}  // namespace neliroute
