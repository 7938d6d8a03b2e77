// Zeebe's "Priority based election": what it rejects and we have, a transfer of leadership.
#include <gtest/gtest.h>

#include "tests/paper/scene.h"

namespace neliroute::paper {
namespace {

using namespace std::chrono_literals;

// zeebe-priority-election: "Raft paper proposes a protocol for transferring leadership from one
// node to the other."
// zeebe-priority-election: "This protocol is guaranteed to transfer the leadership (in case of no
// failures)."
// zeebe-priority-election: "The leadership transfer happens when it is externally triggered."
TEST(Zeebe, a_process_that_is_asked_to_leave_hands_its_leadership_over) {
  for (const Mode mode : {Mode::exclusive, Mode::non_exclusive}) {
    Scene scene(mode);
    auto& a = scene.start("a", "0-1");
    scene.start("b");
    scene.settle_in();
    scene.stage.rig().step(a, CloseRequested{scene.now() + 10s});
    EXPECT_TRUE(a.left_group);
    scene.run(500ms);
    scene.assign("b", "0-1");
    EXPECT_TRUE(scene.leads("b", 0) && scene.leads("b", 1));
    EXPECT_FALSE(scene.leads("a", 0) || scene.leads("a", 1));
    EXPECT_TRUE(a.closed) << "long before its bound";
    scene.run(10s);
    EXPECT_EQ(scene.unowned(), 0us);
    EXPECT_EQ(scene.shared(), 0us);
  }
}

}  // namespace
}  // namespace neliroute::paper
