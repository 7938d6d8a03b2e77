// What may lie between two times that a process acquires a partition without having been told that
// it stopped (docs/operating.md, Fencing): whether what it keeps in memory is right still.
#include <gtest/gtest.h>

#include "tests/world/rig.h"

namespace neliroute {
namespace {

using rig::kP0;
using rig::Rig;
using rig::RigOptions;
using namespace std::chrono_literals;

struct TwoAcquisitions {
  explicit TwoAcquisitions(Mode mode) : rig(options_of(mode)) {
    rig.assign(a, "0");
    EXPECT_TRUE(rig.run_until([this] { return a.leads(0, rig.now()); }, 5s));
    rig.run_for(500ms);  // a claim may follow the one before after an interval
    first = *a.core.epoch(kP0);
  }
  static RigOptions options_of(Mode mode) {
    RigOptions options;
    options.mode = mode;
    return options;
  }
  /// The group takes it from a, gives it to b, and back: what b says of its leading comes into the
  /// log behind a's second claim, which a has not read yet.
  void there_and_back() {
    rig.revoke(a, "0");
    b.hold = true;
    rig.assign(b, "0");
    b.hold_writes = true;
    rig.release_hold(b);
    rig.revoke(b, "0");
    a.hold = true;
    rig.assign(a, "0");
    b.hold_writes = false;
    rig.arrive(b);
  }
  /// How often a was notified that it stopped, before it was notified of this acquisition.
  [[nodiscard]] std::size_t stops_before_the_last_acquisition() const {
    std::size_t stops = 0;
    std::size_t at_last = 0;
    for (const Transition& t : a.transitions) {
      if (t.kind == TransitionKind::stopped) ++stops;
      if (t.kind == TransitionKind::acquired) at_last = stops;
    }
    return at_last;
  }

  Rig rig;
  rig::Process& a = rig.start(1, "a");
  rig::Process& b = rig.start(2, "b");
  Epoch first;
};

TEST(AcquiredAgain, non_exclusive_another_process_may_have_led_in_between) {
  TwoAcquisitions story(Mode::non_exclusive);
  story.there_and_back();
  ASSERT_EQ(story.b.count(TransitionKind::acquired), 1u);
  EXPECT_TRUE(story.b.leads(0, story.rig.now()));
  EXPECT_TRUE(story.a.leads(0, story.rig.now()));
  const Epoch between = story.b.last(TransitionKind::acquired, 0)->epoch;
  story.rig.release_hold(story.a);
  const Epoch again = story.a.last(TransitionKind::acquired, 0)->epoch;
  EXPECT_LT(story.first, between);
  EXPECT_LT(between, again);
  EXPECT_EQ(story.stops_before_the_last_acquisition(), 0u) << "it led on, and must read again";
}

TEST(AcquiredAgain, exclusive_a_foreign_claim_in_between_is_a_stop_in_between) {
  TwoAcquisitions story(Mode::exclusive);
  story.there_and_back();
  story.rig.release_hold(story.a);
  ASSERT_TRUE(story.rig.run_until([&] { return story.a.leads(0, story.rig.now()); }, 10s));
  EXPECT_LT(story.first, story.a.last(TransitionKind::acquired, 0)->epoch);
  EXPECT_EQ(story.stops_before_the_last_acquisition(), 1u);
}

// It has the partition back before anybody else wanted it, and a store may ask for a greater epoch.
TEST(AcquiredAgain, in_both_modes_without_a_stop_where_nobody_claimed) {
  for (const Mode mode : {Mode::exclusive, Mode::non_exclusive}) {
    TwoAcquisitions story(mode);
    story.rig.revoke(story.a, "0");
    story.rig.assign(story.a, "0");
    ASSERT_EQ(story.a.count(TransitionKind::acquired), 2u);
    EXPECT_EQ(story.a.last(TransitionKind::acquired, 0)->epoch, story.first);
    story.rig.step(story.a,
                   EpochRefused{kP0, Epoch{story.first.incarnation, story.first.offset + 1}});
    story.rig.run_for(200ms);
    ASSERT_EQ(story.a.count(TransitionKind::acquired), 3u);
    EXPECT_LT(story.first, story.a.last(TransitionKind::acquired, 0)->epoch);
    EXPECT_EQ(story.a.count(TransitionKind::stopped), 0u);
  }
}

}  // namespace
}  // namespace neliroute
