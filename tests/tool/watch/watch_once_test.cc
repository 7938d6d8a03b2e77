#include "tool/watch/watch_once.h"

#include <gtest/gtest.h>

#include "tests/tool/watch/watch_rig.h"

namespace neliroute::tool {
namespace {

constexpr const char* kOwners =
    "OWNER  SLOTS  HEARD  NOTE  PARTITIONS  ENDPOINT         NEWEST EPOCH\n"
    "alpha    512  0.0 s                 4  host-alpha:7001           1:1\n"
    "    0-3\n"
    "beta     256  0.0 s                 2  host-beta:7001            1:2\n"
    "    4,6\n";

WatchRig two_owners() {
  WatchRig rig(1024, 8);
  rig.tell({0, 1, 2, 3}, WatchRig::led(kAlpha));
  rig.tell({4, 6}, WatchRig::led(kBeta));
  return rig;
}

TEST(WatchOnceTest, OwnersWithTheirPartitionsAndThoseWithoutOwner) {
  WatchRig rig = two_owners();
  rig.tell({5}, WatchRig::nobodys(Verdict::unowned));
  EXPECT_EQ(once_text(rig.model), std::string(kOwners) +
                                      "unowned: 1 partitions\n    5\n"
                                      "unknown: 1 partitions\n    7");
}

TEST(WatchOnceTest, NoNameIsCutAndRangesAreWrapped) {
  WatchRig rig(128, 128);
  const std::string name(100, 'n');
  for (std::uint32_t p = 0; p < 128; p += 2) rig.tell({p}, WatchRig::led(process(name, 1)));
  const std::string text = once_text(rig.model);
  EXPECT_NE(text.find("\n" + name + "  "), std::string::npos) << text;
  EXPECT_NE(text.find("\n    0,2,4,"), std::string::npos) << text;
  EXPECT_NE(text.find(",\n    "), std::string::npos) << text;
}

TEST(WatchOnceTest, WhoAssignsAndWhatIsOnTheWay) {
  WatchRig rig = two_owners();
  ObservedRoute moving = WatchRig::led(kAlpha);
  moving.designee = kBeta;
  rig.tell({0, 1, 3}, moving);
  ObservedMember gamma = WatchRig::member(process("gamma", 3));
  gamma.state = MemberState::silent;
  ObservedMember beta = WatchRig::member(kBeta, 2);
  beta.seat_priority = 90;
  rig.assign(kAlpha, {WatchRig::member(kAlpha), beta, gamma});
  const std::string text = once_text(rig.model);
  EXPECT_NE(text.find("assigns, 3 to hand over"), std::string::npos) << text;
  EXPECT_NE(text.find("weight 2, seat priority 90, 3 to come"), std::string::npos) << text;
  EXPECT_NE(text.find("\ngamma      -      -  silent  "), std::string::npos) << text;
  EXPECT_TRUE(text.ends_with("\nassigned by alpha; 2 members\n"
                             "operators' overrides: see `neliroute overrides`")) << text;
  ObservedOverrides overrides;
  overrides.moves_paused = true;
  rig.assign(nullptr, {}, {}, std::make_shared<const ObservedOverrides>(overrides));
  EXPECT_NE(once_text(rig.model).find("\nnobody assigns, moves are paused; 2 members\n"),
            std::string::npos) << once_text(rig.model);
}

}  // namespace
}  // namespace neliroute::tool
