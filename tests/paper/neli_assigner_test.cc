// E. Koutanov, "Non-Exclusive Leader Induction in Highly Available Systems": what the paper says of
// its group, of a lane where a member assigns. Who names an assignee makes no difference to what
// the definition and the sentences on exclusivity state. The sentences themselves are quoted at the
// tests of the same subject in neli_definition_test.cc, neli_overview_test.cc and
// neli_exclusivity_test.cc.
#include <gtest/gtest.h>

#include "tests/paper/scene.h"
#include "tests/paper/store.h"

namespace neliroute::paper {
namespace {

using namespace std::chrono_literals;

constexpr Mode kModes[] = {Mode::exclusive, Mode::non_exclusive};

/// What two clocks may drift apart by in a few sessions, and the times of the rounds.
constexpr microseconds kClose = 20ms;

scenario::StageOptions assigned(Mode mode, std::uint32_t partitions = 2) {
  auto options = scenario::options_for(mode, Profile::balanced, Assignment::assigner);
  options.rig.partitions = partitions;
  return options;
}

/// These take part, and have shared everything out.
void start_all(Scene& scene, std::initializer_list<const char*> names) {
  for (const char* name : names) scene.start(name);
  scene.run(20s);
}

std::size_t led_by(Scene& scene, const std::string& name) {
  std::size_t count = 0;
  for (std::uint32_t p = 0; p < scene.stage.options().rig.partitions; ++p) {
    count += scene.leads(name, p);
  }
  return count;
}

/// Of two, the one that leads the partition, and the other.
std::pair<std::string, std::string> leader_and_other(Scene& scene) {
  return scene.leads("a") ? std::pair{"a", "b"} : std::pair{"b", "a"};
}

TEST(NeliAssigner, processes_contend_and_one_of_them_gets_each_role) {
  for (const Mode mode : kModes) {
    Scene scene(assigned(mode, 3));
    start_all(scene, {"a", "b", "c", "d"});
    for (std::uint32_t p = 0; p < 3; ++p) {
      EXPECT_EQ(scene.leaders(p), 1u);
      EXPECT_EQ(scene.shared(Partition{p}), 0us);
    }
  }
}

TEST(NeliAssigner, no_role_is_dormant) {
  for (const std::uint32_t partitions : {1u, 2u, 3u, 7u, 16u}) {
    Scene scene(assigned(Mode::non_exclusive, partitions));
    start_all(scene, {"a"});
    for (std::uint32_t slot = 0; slot < 16; ++slot) {
      EXPECT_EQ(scene.route("a", slot).verdict, Verdict::local) << slot << " of " << partitions;
    }
  }
}

TEST(NeliAssigner, the_number_of_partitions_varies_slightly_from_process_to_process) {
  Scene scene(assigned(Mode::non_exclusive, 7));
  start_all(scene, {"a", "b", "c"});
  for (const char* name : {"a", "b", "c"}) {
    EXPECT_GE(led_by(scene, name), 2u);
    EXPECT_LE(led_by(scene, name), 3u);
  }
}

// Each lane has an assigner of its own, which moves nothing of the other's.
TEST(NeliAssigner, another_group_is_another_lane_whose_assigner_means_nothing_here) {
  Scene scene(assigned(Mode::exclusive));
  start_all(scene, {"a"});
  const Epoch epoch = scene.epoch("a");
  scene.start("x", "", Lane{1});
  scene.run(20s);
  EXPECT_TRUE(scene.leads("a"));
  EXPECT_TRUE(scene.leads("x"));
  EXPECT_EQ(scene.epoch("a"), epoch);
  EXPECT_EQ(scene.process("a").count(TransitionKind::stopped), 0u);
  EXPECT_TRUE(scene.process("x").core.assignment_status()->assigns);
}

TEST(NeliAssigner, who_is_cut_off_lapses_after_T) {
  for (const Mode mode : kModes) {
    Scene scene(assigned(mode));
    start_all(scene, {"a", "b"});
    const auto& [leader, other] = leader_and_other(scene);
    const LocalTime end = scene.lease_end(leader);
    scene.stage.cut_log(scene.actor(leader));
    scene.run(std::chrono::floor<milliseconds>(end - scene.now()) - 1ms);
    EXPECT_TRUE(scene.leads(leader));
    EXPECT_EQ(scene.lease_end(leader), end) << "it ceased to move";
    scene.run(2ms);
    EXPECT_FALSE(scene.leads(leader));
  }
}

// The session is the member's own here, and the broker honours nothing.
TEST(NeliAssigner, T_against_the_session_decides_between_overlap_and_gap) {
  for (const Mode mode : kModes) {
    Scene scene(assigned(mode));
    start_all(scene, {"a", "b"});
    const auto& options = scene.stage.options();
    const auto& [leader, other] = leader_and_other(scene);
    const LocalTime cut = scene.now();
    scene.process(leader).stopped = true;  // it may wake up, and be asked
    scene.run(30s);
    ASSERT_TRUE(scene.leads(other));
    const microseconds taken = scene.process(other).last(TransitionKind::acquired, 0)->at - cut;
    EXPECT_GE(taken, options.session - options.rig.interval);
    EXPECT_LE(taken, options.session + options.rig.interval + kClose);
    if (mode == Mode::exclusive) {
      EXPECT_EQ(scene.shared(), 0us);
    } else {
      EXPECT_GE(scene.shared(), options.rig.lease - options.session - options.rig.interval);
      EXPECT_LE(scene.shared(), options.rig.lease - options.session + options.rig.interval);
    }
  }
}

TEST(NeliAssigner, at_most_one_leads_through_any_number_of_moves) {
  Scene scene(assigned(Mode::exclusive));
  start_all(scene, {"a", "b"});
  std::size_t moves = 0;
  std::string last = "b";
  for (int i = 0; i < 12; ++i) {
    const std::string next = "p" + std::to_string(i);
    scene.start(next);
    scene.run(milliseconds{137 * i});
    if (i % 3 == 0) {
      scene.crash(last);
    } else if (i % 3 == 1) {
      scene.stage.cut_log(scene.actor(last));
    } else {
      scene.process(last).stopped = true;
    }
    scene.run(15s);
    EXPECT_EQ(scene.leaders(0), 1u) << i;
    EXPECT_EQ(scene.leaders(1), 1u) << i;
    moves += scene.process(next).count(TransitionKind::acquired);
    last = next;
  }
  EXPECT_EQ(scene.shared(kP0) + scene.shared(kP1), 0us);
  EXPECT_GE(moves, 12u) << "and it did move";
}

TEST(NeliAssigner, a_backlog_of_own_renewals_refreshes_nothing) {
  Scene scene(assigned(Mode::exclusive));
  start_all(scene, {"a", "b"});
  const auto [leader, other] = leader_and_other(scene);
  auto& p = scene.process(leader);
  const Epoch led = p.last(TransitionKind::acquired, 0)->epoch;
  p.hold = true;  // what it renews from here on is buffered
  scene.run(1s);
  p.stopped = true;
  scene.run(2 * scene.stage.options().session);
  EXPECT_TRUE(scene.leads(other));
  p.stopped = false;
  EXPECT_FALSE(p.leads(0, scene.now()));
  scene.stage.rig().release_hold(p);
  EXPECT_FALSE(p.leads(0, scene.now()));
  EXPECT_EQ(p.last(TransitionKind::acquired, 0)->epoch, led) << "not even for a moment";
  EXPECT_EQ(scene.shared(), 0us);
}

// That an assignment is given to one only is no assumption of ours: two that both believe that they
// assign take turns at worst.
TEST(NeliAssigner, two_that_both_assign_make_no_two_leaders) {
  Scene scene(assigned(Mode::exclusive));
  start_all(scene, {"a", "b"});
  ASSERT_TRUE(scene.process("a").core.assignment_status()->assigns);
  scene.process("a").hold = true;  // it does not read that it was replaced
  scene.start("c");
  scene.run(8s);  // it says for a session that it reads, and is waited for as long again
  EXPECT_TRUE(scene.process("b").core.assignment_status()->assigns);
  EXPECT_TRUE(scene.process("a").core.assignment_status()->assigns);
  scene.stage.heal(scene.actor("a"));
  scene.run(20s);
  EXPECT_FALSE(scene.process("a").core.assignment_status()->assigns);
  for (const Partition p : {kP0, kP1}) {
    EXPECT_EQ(scene.shared(p), 0us);
    EXPECT_EQ(scene.leaders(p.value()), 1u);
  }
}

TEST(NeliAssigner, between_check_and_write_only_the_epoch_protects) {
  Scene scene(assigned(Mode::exclusive));
  start_all(scene, {"a", "b"});
  const auto [leader, other] = leader_and_other(scene);
  ASSERT_TRUE(scene.leads(leader)) << "the check succeeds";
  const Epoch checked = scene.epoch(leader);
  scene.process(leader).stopped = true;
  scene.run(10s);
  Store fenced;
  ASSERT_TRUE(fenced.write(scene.epoch(other), "by the successor"));
  EXPECT_FALSE(fenced.write(checked, "by one that slept"));
  EXPECT_EQ(fenced.value(), "by the successor");
}

// A shorter session makes a shorter gap, whatever a broker was set to.
TEST(NeliAssigner, one_group_has_a_gap_of_a_session_when_its_leader_crashes) {
  for (const Profile profile : {Profile::steady, Profile::balanced, Profile::fast}) {
    auto options = scenario::options_for(Mode::non_exclusive, profile, Assignment::assigner);
    Scene scene(options);
    for (const char* name : {"a", "b"}) scene.start(name);
    scene.run(60s);
    const auto [leader, other] = leader_and_other(scene);
    scene.crash(leader);
    scene.run(60s);
    EXPECT_TRUE(scene.leads(other));
    EXPECT_GE(scene.unowned(), options.session - options.rig.interval);
    EXPECT_LE(scene.unowned(), options.session + kClose);
  }
}

}  // namespace
}  // namespace neliroute::paper
