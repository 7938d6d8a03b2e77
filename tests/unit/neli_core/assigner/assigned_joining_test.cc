// "One configuration": a member writes nothing before it may join, not even that it lives.
#include <gtest/gtest.h>

#include <algorithm>

#include "neli_core/assigner/assigned_core.h"
#include "neli_core/log/log_progress.h"
#include "tests/unit/neli_core/assigner/assigned_rig.h"
#include "tests/world/memory_log.h"

namespace neliroute {
namespace {

using namespace std::chrono_literals;
using told::AssignedRig;
using told::kInterval;
using told::kSession;

/// A newcomer that is driven by hand: what it wrote, and what it refused with.
struct Newcomer {
  explicit Newcomer(const AssignedRig& rig)
      : core(*AssignedCore::make(rig.core_options(2))), now(rig.now()) {
    core.tick(now);
  }

  void step(const Event& event) {
    core.step(event, now);
    collect();
  }
  void run_for(milliseconds duration) {
    for (const LocalTime end = now + duration; now < end;) {
      const LocalTime due = core.next_deadline();
      now = std::min({end, now + kInterval, due > now ? due : end});
      core.tick(now);
      collect();
    }
  }
  void collect() {
    Ready ready = core.take_ready();
    for (const Write& write : ready.writes) wrote.push_back(decode_record(write.value));
    if (ready.refused) refused = ready.refused;
  }

  AssignedCore core;
  LocalTime now;
  std::vector<Decoded> wrote;
  std::optional<Error> refused;
};

// Mutation joins_at_once.
TEST(AssignedJoining, who_has_not_read_yet_what_the_logs_held_writes_nothing) {
  AssignedRig rig;
  Newcomer newcomer(rig);
  newcomer.step(tail_at(Log{0}, 0, 100));
  newcomer.run_for(kHistoryBound - 1ms);
  EXPECT_TRUE(newcomer.wrote.empty());
  newcomer.step(LogPosition{Log{0}, 100});
  ASSERT_FALSE(newcomer.wrote.empty());
  const auto* const first = std::get_if<Record>(&newcomer.wrote.front());
  ASSERT_NE(first, nullptr);
  ASSERT_TRUE(first->member);
  EXPECT_EQ(first->member->session, kSession);
}

TEST(AssignedJoining, who_cannot_read_what_the_logs_held_joins_after_three_seconds) {
  AssignedRig rig;
  Newcomer newcomer(rig);
  newcomer.step(tail_at(Log{0}, 0, 100));
  newcomer.run_for(kHistoryBound + 1ms);
  EXPECT_FALSE(newcomer.wrote.empty());
}

TEST(AssignedJoining, who_has_other_settings_refuses_without_a_record) {
  AssignedRig rig;
  Newcomer newcomer(rig);
  Record senior = told::renewal(9);
  senior.since = rig.broker_now().time_since_epoch().count();
  senior.settings = rig.core_options(9).core.settings;
  senior.settings->mode = "exclusive";
  senior.settings->variation = "claimed+assigner";
  const Decoded said = decode_record(encode_record(senior));
  newcomer.step(tail_at(Log{0}, 0, 1));
  newcomer.step(Received{Log{0}, 0, rig.broker_now(), true, &said});
  newcomer.run_for(kInterval);  // it may be of a process long gone
  EXPECT_FALSE(newcomer.refused);
  newcomer.step(Received{Log{0}, 1, rig.broker_now(), true, &said});
  newcomer.run_for(10 * kInterval);
  ASSERT_TRUE(newcomer.refused);
  EXPECT_EQ(newcomer.refused->code(), Errc::settings_conflict);
  EXPECT_TRUE(newcomer.core.closed());
  EXPECT_TRUE(newcomer.wrote.empty());
}

TEST(AssignedJoining, who_is_closed_before_it_has_joined_says_nothing_of_leaving) {
  AssignedRig rig;
  Newcomer newcomer(rig);
  newcomer.step(tail_at(Log{0}, 0, 100));
  newcomer.step(CloseRequested{newcomer.now + 1s});
  newcomer.run_for(2s);
  EXPECT_TRUE(newcomer.core.closed());
  EXPECT_TRUE(newcomer.wrote.empty());
}

}  // namespace
}  // namespace neliroute
