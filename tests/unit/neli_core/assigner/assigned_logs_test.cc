// Who assigns among members of a topic with two logs: what is read in log 1 says nothing of log 0
// (rules A1, A2 and A7).
#include <gtest/gtest.h>

#include "neli_core/assigner/assigned_core.h"
#include "tests/unit/neli_core/assigner/assigned_rig.h"
#include "tests/world/memory_log.h"

namespace neliroute {
namespace {

using namespace std::chrono_literals;
using told::AssignedRig;
using told::kInterval;
using told::kLease;
using told::Process;

struct TwoLogs : AssignedRig {
  TwoLogs() : AssignedRig({Mode::non_exclusive, 8, 2}) {}
};

// A1: whoever reads its own record in log 0 has read there what others wrote before. Log 0 comes
// slowly here; that log 1 comes at once makes none of the others dead.
TEST(AssignedLogs, an_own_record_in_log_1_proves_nobody_dead) {
  TwoLogs rig;
  const auto all = rig.start_all(3);
  Process& first = *all[0];
  first.hold = true;
  for (int i = 0; i < 40; ++i) {
    rig.run_for(50ms);
    rig.read(first, 1, 100);
    if (i % 4 == 3) rig.read(first, 0, 1);
  }
  EXPECT_EQ(first.core.counters().deaths, 0u);
}

// A2: it cannot know of a claim of its seat.
TEST(AssignedLogs, who_reads_nothing_but_log_1_loses_its_seat) {
  TwoLogs rig;
  const auto all = rig.start_all(3);
  Process& first = *all[0];
  first.hold = true;
  for (const LocalTime cut = rig.now(); rig.now() < cut + kLease + 4 * kInterval;) {
    rig.run_for(20ms);
    rig.read(first, 1, 100);
  }
  EXPECT_TRUE(all[1]->core.seat().held_by_own());
}

// A1: silence counts while something else is read in log 0. Nobody could write there.
TEST(AssignedLogs, nobody_is_dead_after_an_outage_of_log_0) {
  TwoLogs rig;
  const auto all = rig.start_all(3);
  for (Process* const process : all) process->forbidden = {0};
  rig.run_for(kLease + kLease / 2);
  all[1]->forbidden.clear();
  all[2]->forbidden.clear();
  rig.run_for(3 * kInterval);
  all[0]->forbidden.clear();
  rig.run_for(5000ms);
  std::uint64_t seats_claimed = 0;
  for (const Process* process : all) {
    seats_claimed += process->core.counters().seats_claimed;
    EXPECT_EQ(process->core.counters().deaths, 0u);
  }
  EXPECT_EQ(seats_claimed, 1u);
}

TEST(AssignedLogs, a_tail_of_log_1_that_starts_anew_forgets_neither_seat_nor_overrides) {
  for (const bool from_the_first_record : {false, true}) {
    TwoLogs rig;
    const auto all = rig.start_all(2);
    rig.order({OverrideVerb::cordon, "p3", {}, 0});
    Process& second = *all[1];
    second.hold = true;
    rig.run_for(50ms);
    const std::int64_t from = from_the_first_record ? 0 : rig.log(1).end();
    second.next[1] = from;
    rig.step(second, tail_at(Log{1}, from, rig.log(1).end()));
    EXPECT_TRUE(second.core.seat().known());
    EXPECT_EQ(second.core.seat().holder(), ProcessId{1});
    EXPECT_TRUE(second.core.overrides().known());
    EXPECT_TRUE(second.core.overrides().standing().cordoned.contains("p3"));
  }
}

}  // namespace
}  // namespace neliroute
