// What the application does before a process leads: it prepares before the claim, while another one
// may still lead, and warms up after it.
#include <gtest/gtest.h>

#include "tests/world/rig.h"

namespace neliroute {
namespace {

using rig::kP0;
using rig::Process;
using rig::Rig;
using rig::RigOptions;
using namespace std::chrono_literals;

constexpr milliseconds kTimeout{3000};

RigOptions options_of(Mode mode) {
  RigOptions options;
  options.mode = mode;
  options.prepare_timeout = kTimeout;
  return options;
}

/// a leads partition 0, and the group is about to give it to b.
struct Preparing : testing::TestWithParam<Mode> {
  Preparing() {
    rig.assign(a, "0");
    EXPECT_TRUE(rig.run_until([this] { return a.leads(0, rig.now()); }, 5s));
    rig.run_for(500ms);
    b.keep_prepares = b.keep_warm_ups = true;
  }
  void move_to_b() {
    rig.revoke(a, "0");
    rig.assign(b, "0");
  }
  void prepared(Process& process) {
    rig.step(process, Prepared{*PartitionRanges::parse("0")});
    rig.settle();
  }
  void warmed_up(Process& process) {
    rig.step(process, WarmedUp{*PartitionRanges::parse("0")});
    rig.settle();
  }
  /// b has claimed it, and warms up.
  void move_to_warm_b() {
    move_to_b();
    prepared(b);
    EXPECT_TRUE(rig.run_until([this] { return !b.warm_ups.empty(); }, 5s));
    // Before the interval is over, as the bound counts from now.
    rig.run_for(300ms);
  }
  /// What was held back lets it lead, and it is revoked before anything of that is carried out.
  void in_one_batch_with_its_revocation(Process& process) {
    process.steps_only = true;
    rig.release_hold(process);
    EXPECT_GT(process.claims.preparing_for(), 0ms) << "it is to warm up";
    rig.revoke(process, "0");
    process.steps_only = false;
    rig.run_for(100ms);
    EXPECT_FALSE(process.core.epoch(kP0)) << "it hands nothing over, so it does not drain";
    EXPECT_EQ(process.claims.preparing_for(), 0ms);
    EXPECT_FALSE(process.leads(0, rig.now()));
  }
  [[nodiscard]] bool exclusive() const { return GetParam() == Mode::exclusive; }
  [[nodiscard]] static std::size_t claims(const Process& process) {
    return process.records(RecordType::claim).size();
  }

  Rig rig{options_of(GetParam())};
  Process& a = rig.start(1, "a");
  Process& b = rig.start(2, "b");
};

TEST_P(Preparing, nothing_is_claimed_before_and_the_old_owner_leads_on) {
  move_to_b();
  EXPECT_EQ(b.prepares, std::vector{kP0});
  rig.run_for(kTimeout - 100ms);
  EXPECT_EQ(claims(b), 0u);
  EXPECT_TRUE(a.leads(0, rig.now()));
  EXPECT_EQ(b.core.role_state(kP0), RoleState::looking);
  prepared(b);
  EXPECT_EQ(claims(b), 1u);
  EXPECT_TRUE(rig.run_until([this] { return !b.warm_ups.empty(); }, 5s));
  EXPECT_EQ(b.prepares.size(), 1u) << "once";
}

TEST_P(Preparing, has_a_bound_after_which_it_is_claimed_all_the_same) {
  move_to_b();
  const LocalTime begun = rig.now();
  ASSERT_TRUE(rig.run_until([this] { return claims(b) > 0; }, 2 * kTimeout));
  EXPECT_EQ(rig.now(), begun + kTimeout);
  prepared(b);
  EXPECT_EQ(claims(b), 1u) << "too late, and of no use any more";
}

TEST_P(Preparing, a_process_that_warms_up_does_not_lead_and_does_not_say_so) {
  move_to_warm_b();
  EXPECT_FALSE(b.leads(0, rig.now()));
  EXPECT_EQ(b.core.role_state(kP0), RoleState::looking);
  EXPECT_EQ(b.count(TransitionKind::acquired), 0u);
  ASSERT_EQ(b.warm_ups.size(), 1u);
  EXPECT_EQ(b.warm_ups[0].epoch, *b.core.epoch(kP0));
  ASSERT_FALSE(b.records(RecordType::renewal).empty());
  for (const Record& record : b.records(RecordType::renewal)) {
    EXPECT_TRUE(record.leading.empty());
    EXPECT_TRUE(record.draining.empty());
  }
  EXPECT_EQ(a.leads(0, rig.now()), !exclusive()) << "whoever may lead on, leads on";
  warmed_up(b);
  EXPECT_TRUE(b.leads(0, rig.now()));
  ASSERT_EQ(b.count(TransitionKind::acquired), 1u);
  EXPECT_EQ(b.last(TransitionKind::acquired, 0)->epoch, b.warm_ups[0].epoch);
  rig.run_for(1s);
  EXPECT_TRUE(b.leads(0, rig.now()));
  EXPECT_FALSE(a.leads(0, rig.now()));
  EXPECT_EQ(b.warm_ups.size(), 1u) << "once";
}

TEST_P(Preparing, warming_up_has_the_same_bound) {
  move_to_warm_b();
  const LocalTime begun = b.warm_ups[0].at;
  ASSERT_TRUE(rig.run_until([this] { return b.leads(0, rig.now()); }, 2 * kTimeout));
  EXPECT_EQ(rig.now(), begun + kTimeout);
  warmed_up(b);
  EXPECT_EQ(b.count(TransitionKind::acquired), 1u);
}

TEST_P(Preparing, in_vain_is_told_and_nothing_is_claimed) {
  move_to_b();
  rig.run_for(200ms);
  rig.revoke(b, "0");
  EXPECT_EQ(b.unprepared, std::vector{kP0});
  prepared(b);
  rig.run_for(2 * kTimeout);
  EXPECT_EQ(claims(b), 0u);
  EXPECT_EQ(b.count(TransitionKind::stopped), 0u) << "it never led";
  EXPECT_EQ(b.unprepared.size(), 1u) << "once";
}

TEST_P(Preparing, that_is_done_is_in_vain_too_if_another_process_is_first) {
  move_to_b();
  b.hold = true;
  prepared(b);
  rig.revoke(b, "0");
  rig.assign(a, "0");
  rig.release_hold(b);
  EXPECT_EQ(b.unprepared, std::vector{kP0});
  EXPECT_TRUE(rig.run_until([this] { return a.leads(0, rig.now()); }, 5s));
  EXPECT_FALSE(b.leads(0, rig.now()));
}

TEST_P(Preparing, who_is_revoked_while_it_warms_up_stops_and_releases) {
  move_to_warm_b();
  rig.revoke(b, "0");
  ASSERT_EQ(b.count(TransitionKind::stopped), 1u);
  EXPECT_EQ(b.last(TransitionKind::stopped, 0)->epoch, b.warm_ups[0].epoch);
  EXPECT_EQ(b.count(TransitionKind::released), 1u);
  EXPECT_FALSE(b.core.epoch(kP0)) << "it hands nothing over, so it does not drain";
  EXPECT_TRUE(b.unprepared.empty()) << "the stop says it";
  warmed_up(b);
  EXPECT_EQ(b.count(TransitionKind::acquired), 0u);
}

TEST_P(Preparing, who_resumes_after_a_lapse_warms_up_again_and_prepares_nothing) {
  a.keep_warm_ups = true;
  a.hold = true;
  rig.run_for(1500ms);
  EXPECT_EQ(a.count(TransitionKind::stopped), 1u);
  const std::size_t prepares = a.prepares.size();
  const std::size_t warm_ups = a.warm_ups.size();
  rig.release_hold(a);
  ASSERT_TRUE(rig.run_until([&] { return a.warm_ups.size() > warm_ups; }, 5s));
  EXPECT_FALSE(a.leads(0, rig.now()));
  EXPECT_EQ(a.prepares.size(), prepares);
  warmed_up(a);
  EXPECT_TRUE(a.leads(0, rig.now()));
}

TEST_P(Preparing, who_resumes_and_is_revoked_in_one_batch_is_notified_of_neither) {
  a.hold = true;
  rig.run_for(1500ms);
  ASSERT_EQ(a.count(TransitionKind::stopped), 1u);
  const std::size_t warm_ups = a.warm_ups.size();
  in_one_batch_with_its_revocation(a);
  EXPECT_EQ(a.warm_ups.size(), warm_ups);
  EXPECT_EQ(a.count(TransitionKind::stopped), 1u) << "when its lease lapsed";
  EXPECT_TRUE(a.unprepared.empty());
}

TEST_P(Preparing, who_is_to_warm_up_and_is_revoked_in_one_batch_prepared_in_vain) {
  move_to_b();
  b.hold = true;
  prepared(b);
  rig.run_for(300ms);
  in_one_batch_with_its_revocation(b);
  EXPECT_TRUE(b.warm_ups.empty());
  EXPECT_EQ(b.count(TransitionKind::stopped), 0u);
  EXPECT_EQ(b.unprepared, std::vector{kP0});
}

TEST_P(Preparing, who_gets_back_what_it_drains_leads_on) {
  const std::size_t prepares = a.prepares.size();
  const std::size_t warm_ups = a.warm_ups.size();
  a.keep_prepares = a.keep_warm_ups = true;
  rig.revoke(a, "0");
  rig.assign(a, "0");
  rig.run_for(500ms);
  EXPECT_TRUE(a.leads(0, rig.now()));
  EXPECT_EQ(a.prepares.size(), prepares);
  EXPECT_EQ(a.warm_ups.size(), warm_ups);
}

TEST_P(Preparing, who_stopped_prepares_again_before_it_claims_again_and_who_drains_leads_on) {
  rig.append(rig::kLog, rig::claim_of(9, "0"));
  rig.settle();
  const std::size_t prepares = a.prepares.size();
  const std::size_t before = claims(a);
  a.keep_prepares = true;
  if (!exclusive()) {
    ASSERT_TRUE(rig.run_until([&] { return claims(a) > before; }, 10s));
    EXPECT_EQ(a.prepares.size(), prepares) << "it has never stopped";
    EXPECT_TRUE(a.leads(0, rig.now()));
    return;
  }
  ASSERT_TRUE(rig.run_until([&] { return a.prepares.size() > prepares; }, 10s));
  EXPECT_EQ(claims(a), before);
  EXPECT_EQ(a.count(TransitionKind::stopped), 1u);
  prepared(a);
  ASSERT_TRUE(rig.run_until([&] { return a.leads(0, rig.now()); }, 10s));
}

TEST_P(Preparing, a_member_says_how_long_it_may_take) {
  EXPECT_EQ(b.claims.preparing_for(), 0ms);
  move_to_b();
  EXPECT_EQ(b.claims.preparing_for(), kTimeout);
  rig.run_for(1s);
  EXPECT_EQ(b.claims.preparing_for(), kTimeout - 1s);
  prepared(b);
  ASSERT_TRUE(rig.run_until([this] { return !b.warm_ups.empty(); }, 5s));
  EXPECT_EQ(b.claims.preparing_for(), kTimeout);
  warmed_up(b);
  EXPECT_EQ(b.claims.preparing_for(), 0ms);
  rig.revoke(b, "0");
  EXPECT_EQ(b.claims.preparing_for(), 0ms);
}

TEST_P(Preparing, who_closes_meanwhile_is_done_at_once) {
  move_to_b();
  rig.step(b, CloseRequested{rig.now() + 10s});
  ASSERT_TRUE(rig.run_until([this] { return b.closed; }, 1s));
  EXPECT_EQ(b.unprepared, std::vector{kP0});
  EXPECT_EQ(b.claims.preparing_for(), 0ms);
}

INSTANTIATE_TEST_SUITE_P(
    , Preparing, testing::Values(Mode::exclusive, Mode::non_exclusive),
    [](const auto& mode) { return std::string(to_string(mode.param)); });

TEST(PreparingNot, is_asked_for_without_a_timeout) {
  Rig rig;
  Process& a = rig.start(1, "a");
  rig.assign(a, "0");
  ASSERT_TRUE(rig.run_until([&] { return a.leads(0, rig.now()); }, 5s));
  EXPECT_TRUE(a.prepares.empty());
  EXPECT_TRUE(a.warm_ups.empty());
}

}  // namespace
}  // namespace neliroute
