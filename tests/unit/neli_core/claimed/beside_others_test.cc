// "Serving on" of docs/protocol.md, where a member assigns: how long an owner whose log is silent
// leads beside another that is named.
#include <gtest/gtest.h>

#include <utility>

#include "tests/world/rig.h"

namespace neliroute {
namespace {

using rig::kLog;
using rig::Rig;
using rig::RigOptions;
using namespace std::chrono_literals;

/// A process that a member assigns to, as its core tells it what it reads in log 0. It leads
/// partitions 1 and 3, which are in log 1, and serves for 4 s beside another that is named.
struct BesideOthers : testing::Test {
  static RigOptions two_logs() {
    RigOptions options;
    options.serve_stale = 60s;
    options.logs = 2;
    return options;
  }
  static rig::Process& start(Rig& rig) {
    CoreOptions core = rig.core_options(1, "a");
    core.serve_stale_beside = 4s;
    auto& process = rig.start(core);
    dynamic_cast<ClaimProtocol&>(process.core).keep_renewing(true);
    rig.assign(process, "1,3");
    rig.run_for(1500ms);
    return process;
  }
  void SetUp() override { ASSERT_TRUE(leads(1) && leads(3)); }

  [[nodiscard]] bool leads(std::uint32_t p) const { return a.leads(p, rig.now()); }
  void name_another(const std::string& parts) {
    rig.revoke(a, parts);
    claims.named_for_others(*PartitionRanges::parse(parts));
  }
  /// The assigner says each interval that it lives, and does not read these logs.
  void run_for(milliseconds duration, const std::string& unread = "") {
    const LocalTime end = rig.now() + duration;
    while (rig.now() < end) {
      rig.run_for(100ms);
      if (!a.cut_off.contains(kLog)) claims.assigner_reads(*PartitionRanges::parse(unread));
    }
  }
  void fall_silent_in(std::uint32_t log) { a.cut_off.insert(Log{log}); }
  void come_back() {
    a.cut_off.clear();
    for (const RereadRequest& request : std::exchange(a.owed_rereads, {})) {
      rig.step(a, rig.log(request.log.value()).answer(request));
    }
    rig.arrive(a);
  }

  Rig rig{two_logs()};
  rig::Process& a = start(rig);
  ClaimProtocol& claims = dynamic_cast<ClaimProtocol&>(a.core);
};

TEST_F(BesideOthers, another_that_is_named_has_its_time_and_then_it_ends) {
  // Before the silence: nothing shows that the other one could claim.
  name_another("3");
  fall_silent_in(1);
  run_for(3s);
  name_another("1");
  run_for(3900ms);
  EXPECT_TRUE(leads(1));
  run_for(200ms);
  EXPECT_FALSE(leads(1));
  EXPECT_GT(a.last(TransitionKind::stopped, 1)->at, rig.now() - 200ms);
  run_for(10s);
  EXPECT_TRUE(leads(3));
}

TEST_F(BesideOthers, as_long_as_others_are_named_again_none_of_them_leads) {
  fall_silent_in(1);
  run_for(3s);
  for (int i = 0; i < 5; ++i) {
    name_another("1");
    run_for(3s);
    EXPECT_TRUE(leads(1)) << i;
  }
  run_for(1200ms);
  EXPECT_FALSE(leads(1));
}

// Mutation ends_unread. It names nobody in such a log, so whoever it named before has had no time.
TEST_F(BesideOthers, nobody_has_had_time_in_a_log_that_the_assigner_does_not_read) {
  fall_silent_in(1);
  run_for(3s);
  name_another("1");
  run_for(500ms);
  run_for(20s, "1");
  EXPECT_TRUE(leads(1));
  run_for(3900ms, "0");
  EXPECT_TRUE(leads(1));
  run_for(300ms);
  EXPECT_FALSE(leads(1));
}

TEST_F(BesideOthers, that_the_assigner_does_not_read_a_log_begins_nobody_s_time) {
  fall_silent_in(1);
  run_for(10s, "1");
  run_for(20s);
  EXPECT_TRUE(leads(1));
}

TEST_F(BesideOthers, nobody_has_had_time_while_log_0_stood_still) {
  fall_silent_in(1);
  run_for(3s);
  name_another("1");
  run_for(500ms);
  fall_silent_in(0);
  run_for(20s);
  a.cut_off.erase(kLog);
  rig.settle();
  run_for(3900ms);
  EXPECT_TRUE(leads(1));
  run_for(500ms);
  EXPECT_FALSE(leads(1));
}

TEST_F(BesideOthers, what_is_read_again_is_nobody_s_time) {
  fall_silent_in(1);
  run_for(4s);
  name_another("1");
  run_for(200ms);
  rig.restart_tail(a, kLog, 0);
  run_for(1s);
  EXPECT_TRUE(leads(1));
}

TEST_F(BesideOthers, it_ends_only_while_somebody_assigns) {
  fall_silent_in(1);
  run_for(3s);
  name_another("1");
  rig.run_for(20s);
  EXPECT_TRUE(leads(1));
  run_for(100ms);
  EXPECT_FALSE(leads(1));
}

TEST_F(BesideOthers, with_another_assigner_its_time_begins_anew) {
  fall_silent_in(1);
  run_for(3s);
  name_another("1");
  run_for(3500ms);
  claims.assigner_begins();
  run_for(3900ms);
  EXPECT_TRUE(leads(1));
  run_for(200ms);
  EXPECT_FALSE(leads(1));
}

TEST_F(BesideOthers, another_assigner_ends_nothing_where_nobody_else_was_named) {
  fall_silent_in(1);
  run_for(3s);
  claims.assigner_begins();
  run_for(20s);
  EXPECT_TRUE(leads(1));
}

TEST_F(BesideOthers, who_is_named_again_in_the_same_silence_serves_on) {
  fall_silent_in(1);
  run_for(3s);
  name_another("1");
  run_for(2s);
  rig.assign(a, "1");  // the other one died before it led
  run_for(20s);
  EXPECT_TRUE(leads(1));
}

TEST_F(BesideOthers, who_leaves_drains_to_its_bound) {
  fall_silent_in(1);
  run_for(3s);
  name_another("1");
  run_for(2s);
  const LocalTime bound = rig.now() + 10s;
  rig.step(a, CloseRequested{bound});
  run_for(9900ms);
  EXPECT_TRUE(leads(1));
}

// The log came back for a moment: what ends the first silence says nothing of the next.
TEST_F(BesideOthers, that_another_was_named_in_one_silence_ends_nothing_in_the_next) {
  fall_silent_in(1);
  run_for(3s);
  name_another("1");
  run_for(1s);
  come_back();
  run_for(1500ms);
  fall_silent_in(1);
  run_for(20s);
  EXPECT_TRUE(leads(1));
}

}  // namespace
}  // namespace neliroute
