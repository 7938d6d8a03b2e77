#include <gtest/gtest.h>

#include "tests/world/rig.h"

namespace neliroute {
namespace {

using rig::Rig;
using rig::exclusive;
using namespace std::chrono_literals;

TEST(ClaimProtocol, one_process_leads_what_it_is_assigned) {
  Rig rig;
  auto& a = rig.start(1, "a");
  EXPECT_TRUE(a.subscribed);
  rig.assign(a, "0-3");
  for (std::uint32_t p = 0; p < 4; ++p) EXPECT_TRUE(a.leads(p, rig.now()));
  rig.run_for(10s);
  for (std::uint32_t p = 0; p < 4; ++p) EXPECT_TRUE(a.leads(p, rig.now()));
  EXPECT_EQ(a.count(TransitionKind::acquired), 4u);
  EXPECT_EQ(a.count(TransitionKind::stopped), 0u);
}

TEST(ClaimProtocol, a_planned_move_has_no_unowned_moment_in_non_exclusive_mode) {
  Rig rig;
  auto& a = rig.start(1, "a");
  rig.assign(a, "0-3");
  rig.run_for(1s);
  auto& b = rig.start(2, "b");
  rig.revoke(a, "2-3");
  EXPECT_TRUE(a.leads(2, rig.now()));
  rig.assign(b, "2-3");
  EXPECT_TRUE(b.leads(2, rig.now()));
  EXPECT_FALSE(a.leads(2, rig.now()));
  EXPECT_EQ(b.last(TransitionKind::acquired, 2)->at, a.last(TransitionKind::stopped, 2)->at);
}

TEST(ClaimProtocol, exclusive_mode_waits_for_the_release) {
  Rig rig(exclusive());
  auto& a = rig.start(1, "a");
  rig.assign(a, "0-3");
  EXPECT_EQ(rig.leaders(0), 0u) << "what lies below the tail's start may still be led";
  EXPECT_TRUE(rig.run_until([&] { return a.leads(0, rig.now()); }, 2s));
  rig.run_for(1s);
  auto& b = rig.start(2, "b");
  a.keep_barriers = true;
  rig.revoke(a, "2-3");
  EXPECT_TRUE(a.leads(2, rig.now()));
  rig.assign(b, "2-3");
  EXPECT_EQ(rig.leaders(2), 0u);
  rig.step(a, BarrierDone{Partition{2}, a.last(TransitionKind::stopped, 2)->epoch});
  rig.settle();
  EXPECT_TRUE(b.leads(2, rig.now()));
  EXPECT_EQ(rig.leaders(3), 0u);
}

TEST(ClaimProtocol, a_stopped_process_wakes_up_fenced) {
  Rig rig;
  auto& a = rig.start(1, "a");
  rig.assign(a, "0-3");
  rig.run_for(1s);
  a.stopped = true;
  rig.run_for(3s);
  EXPECT_FALSE(a.leads(0, rig.now()));
  a.stopped = false;
  rig.run_for(1s);
  EXPECT_TRUE(a.leads(0, rig.now()));
}

TEST(ClaimProtocol, closing_hands_over_and_ends) {
  Rig rig;
  auto& a = rig.start(1, "a");
  auto& b = rig.start(2, "b");
  rig.assign(a, "0-3");
  rig.run_for(1s);
  rig.step(a, CloseRequested{rig.now() + 5s});
  EXPECT_TRUE(a.left_group);
  EXPECT_TRUE(a.leads(0, rig.now()));
  rig.assign(b, "0-3");
  rig.run_for(1s);
  EXPECT_TRUE(a.closed);
  EXPECT_EQ(rig.leaders(0), 1u);
}

}  // namespace
}  // namespace neliroute
