// Rule 6 where a tail reads the newest record of each writer only, and not all.
#include <gtest/gtest.h>

#include "tests/world/rig.h"

namespace neliroute {
namespace {

using rig::claim_of;
using rig::exclusive;
using rig::kLog;
using rig::kP0;
using rig::Rig;
using namespace std::chrono_literals;

// The records that it reads may be older than those that it does not.
TEST(Rule6, no_stamp_dates_what_a_tail_may_have_left_out) {
  for (const bool unread : {false, true}) {
    Rig rig(exclusive());
    ClaimProtocol core = std::move(*ClaimProtocol::make(rig.core_options(1, "a")));
    core.tick(rig.now());
    core.step(TailStarted{kLog, 1, 2, unread ? Below::unread : Below::older}, rig.now());
    const LocalTime l0 = rig.now();
    const Decoded old = decode_record(encode_record(claim_of(7, "1")));
    core.step(Received{kLog, 1, rig.broker_now() - 1h, true, &old}, l0);
    core.step(GroupAssigned{*PartitionRanges::parse("0")}, l0);
    const Ready ready = core.take_ready();
    ASSERT_EQ(ready.writes.size(), 1u);
    const Decoded claim = decode_record(ready.writes[0].value);
    core.step(Received{kLog, 2, rig.broker_now(), true, &claim}, l0);
    EXPECT_EQ(core.leads(kP0, l0), !unread) << "it waits for a lease from L0";
  }
}

// A log may hold a seat claim and nothing else: then nobody has stated a lease.
TEST(Rule6, where_the_newest_of_each_is_read_no_lease_is_longer_than_it_says) {
  for (const Below below : {Below::unread, Below::expired, Below::older}) {
    Rig rig(exclusive());
    ClaimProtocol core = std::move(*ClaimProtocol::make(rig.core_options(1, "a")));
    const LocalTime l0 = rig.now();
    const milliseconds lease = rig.core_options(1, "a").lease;
    core.tick(l0);
    core.step(TailStarted{kLog, 1, 2, below}, l0);
    const Decoded seat = decode_record(R"({"v":2,"t":"seat_claim","lane":0,"id":"7","seq":1})");
    core.step(Received{kLog, 1, rig.broker_now(), false, &seat}, l0);
    core.step(GroupAssigned{*PartitionRanges::parse("0")}, l0);
    std::int64_t offset = 2;
    for (milliseconds at{0}; at <= 2 * lease; at += lease / 8) {
      core.step(LogPosition{kLog, offset}, later(l0, at));
      for (const Write& write : core.take_ready().writes) {
        const Decoded own = decode_record(write.value);
        core.step(Received{kLog, offset++, rig.broker_now(), false, &own}, later(l0, at));
      }
    }
    EXPECT_EQ(core.leads(kP0, later(l0, 2 * lease)), below != Below::older);
  }
}

}  // namespace
}  // namespace neliroute
