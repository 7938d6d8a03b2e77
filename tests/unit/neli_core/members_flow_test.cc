// What is time of log 0 (docs/protocol.md, "Flow"): nothing that a silent member wrote before, but
// its next renewal. Else those who know it would see more time than others.
#include <gtest/gtest.h>

#include "tests/unit/neli_core/members_rig.h"

namespace neliroute {
namespace {

using namespace std::chrono_literals;
using told::kInterval;
using told::kOther;
using told::kOwn;
using told::renewal;

// Who began to read after its last renewal does not know it, and saw a gap where others saw none:
// they did not agree on who was dead.
TEST_F(MembersTest, records_of_the_dead_are_no_flow_until_their_next_renewal) {
  Members newcomer{{ProcessId{4}, kInterval}};
  const auto both = [&](const Record& record) {
    read(record);
    newcomer.read(record, told::seen(now));
    newcomer.tick(now);
  };
  read(renewal(3, 500ms));  // before the newcomer read
  for (int i = 0; i < 12; ++i, now += 50ms) both(renewal(1, 60'000ms));
  ASSERT_FALSE(members.lives(ProcessId{3}));
  both(renewal(2, 500ms));
  now += 240ms;
  hear(ProcessId{3});
  newcomer.heard(ProcessId{3}, told::seen(now));
  now += 20ms;
  both(renewal(1, 60'000ms));  // a gap, for both
  for (int i = 0; i < 10; ++i) {
    ASSERT_TRUE(members.lives(kOther)) << i;
    ASSERT_TRUE(newcomer.lives(kOther)) << i;
    now += 50ms;
    both(renewal(1, 60'000ms));
  }
  EXPECT_FALSE(members.lives(kOther));
  EXPECT_FALSE(newcomer.lives(kOther));
}

// Nobody is dead for itself: it sees by the flow that others take it for dead.
TEST_F(MembersTest, own_records_after_a_silence_are_no_flow_until_the_next_renewal) {
  read(renewal(1, 500ms));
  for (int i = 0; i < 12; ++i) {
    now += 50ms;
    read(renewal(2, 500ms));
  }
  const microseconds flowed = members.flow().total();
  for (int i = 0; i < 2; ++i) {
    now += 25ms;
    hear(kOwn);
    EXPECT_EQ(members.flow().total(), flowed);
  }
  read(renewal(1, 500ms));
  EXPECT_EQ(members.flow().total(), flowed + 50ms);
}

// For others it is dead, and no gap gives the dead another session: this process must not give
// itself one either, or its records are time to itself alone.
TEST_F(MembersTest, own_records_after_a_silence_and_a_gap_are_no_flow_until_the_next_renewal) {
  Members other{{kOther, kInterval}};
  const auto both = [&](const Record& record) {
    read(record);
    other.read(record, told::seen(now));
    other.tick(now);
  };
  const auto others_write_for = [&](milliseconds duration) {
    for (const LocalTime end = now + duration; now < end;) {
      now += 50ms;
      both(renewal(2, 500ms));
    }
  };
  both(renewal(1, 500ms));
  both(renewal(3, 500ms));
  others_write_for(300ms);
  both(renewal(3, 500ms));  // it falls silent, too, but is not dead before the gap
  others_write_for(200ms);
  ASSERT_FALSE(other.lives(kOwn));
  now += 300ms;
  both(renewal(2, 500ms));
  others_write_for(450ms);
  for (int i = 0; i < 2; ++i) {  // what this process wrote before others took it for dead
    now += 50ms;
    hear(kOwn);
    other.heard(kOwn, told::seen(now));
    other.tick(now);
    EXPECT_TRUE(other.lives(ProcessId{3}));
    EXPECT_TRUE(members.lives(ProcessId{3}));
  }
  EXPECT_EQ(members.flow().total(), other.flow().total());
  both(renewal(1, 500ms));
  EXPECT_TRUE(other.lives(kOwn));
  EXPECT_FALSE(other.lives(ProcessId{3}));
  EXPECT_FALSE(members.lives(ProcessId{3}));
  now += 50ms;
  const microseconds flowed = members.flow().total();
  hear(kOwn);  // it lives again
  EXPECT_EQ(members.flow().total(), flowed + 50ms);
}

}  // namespace
}  // namespace neliroute
