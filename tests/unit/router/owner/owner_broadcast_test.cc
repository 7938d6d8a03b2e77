// OwningReader drives variation `broadcast` as it drives the other: what comes out is carried out,
// readers see it first, and hints come from the claims beside.
#include <gtest/gtest.h>

#include <algorithm>

#include "router/owner/owning_reader.h"
#include "tests/unit/router/reader/reader_rig.h"

namespace neliroute {
namespace {

using namespace testing_reader;
using namespace testing_records;
using namespace std::chrono_literals;

struct BroadcastEngine : ReaderRig {
  explicit BroadcastEngine(Mode mode = Mode::non_exclusive)
      : ReaderRig({mode, false, kLease, Variation::broadcast}) {}

  void hear(std::uint32_t partition, std::int64_t offset) {
    event(Heard{Partition{partition}, offset, BrokerTime{milliseconds{kInc}}, true, now,
                WallTime{milliseconds{kInc}}});
  }
};

TEST(OwnerBroadcast, broadcasts_and_joins_when_it_starts) {
  BroadcastEngine rig;
  rig.start();
  EXPECT_TRUE(rig.told("broadcast"));
  EXPECT_TRUE(rig.told("subscribe"));
  const auto count = [&] {
    return std::count(rig.story.begin(), rig.story.end(), "broadcast");
  };
  const auto before = count();
  rig.pass(100ms);
  EXPECT_EQ(count(), before + 1);
}

TEST(OwnerBroadcast, what_it_leads_is_local_before_the_application_hears_of_it) {
  BroadcastEngine rig;
  rig.listen();
  rig.start();
  rig.assign("0-1");
  EXPECT_TRUE(rig.told("finish_rebalances 1"));
  EXPECT_NE(rig.verdict(0), Verdict::local) << "nothing was read yet";
  rig.hear(0, 77);
  EXPECT_TRUE(rig.told("acquired 0 local"));
  EXPECT_EQ(rig.route(4).epoch, (Epoch{kInc, 77}));
  EXPECT_NE(rig.verdict(1), Verdict::local);
  rig.pass(100ms);
  EXPECT_TRUE(rig.told("write claim")) << "so that others find it";
  EXPECT_TRUE(rig.told("write renewal"));
  EXPECT_EQ(rig.verdict(0), Verdict::local);
}

TEST(OwnerBroadcast, another_is_found_by_the_claims_beside) {
  BroadcastEngine rig;
  rig.start();
  const auto beside = [](Record record) {
    record.settings->variation = "broadcast";
    return record;
  };
  const std::int64_t claim = rig.append(0, beside(kB.claim("0,2")));
  rig.append(0, beside(kB.leads(claim, "0,2")));
  EXPECT_EQ(rig.verdict(0), Verdict::remote);
  EXPECT_EQ(rig.route(0).owner(), "p2");
}

// The epoch that callers know is that of its hint, which is greater than the one by which it leads.
TEST(OwnerBroadcast, in_exclusive_mode_who_waits_for_it_need_not_wait_for_its_own_hint) {
  BroadcastEngine rig(Mode::exclusive);
  rig.start();
  rig.assign("0");
  rig.pass(kLease);  // a new assignee waits as long
  rig.hear(0, 77);
  ASSERT_EQ(rig.verdict(0), Verdict::local);
  int told = 0;
  rig.reader->wait_for_route(rig.reader->next_wait_id(), Slot{0}, Epoch{kInc + 1000, 5}, 10s,
                             [&](boost::system::error_code error, const Route& route) {
                               EXPECT_FALSE(error);
                               EXPECT_EQ(route.verdict, Verdict::local);
                               ++told;
                             });
  rig.poll();
  EXPECT_EQ(told, 1);
}

TEST(OwnerBroadcast, who_asks_late_hears_what_is_led_already) {
  BroadcastEngine rig;
  rig.start();
  rig.assign("0");
  rig.hear(0, 77);
  rig.listen();
  EXPECT_TRUE(rig.told("acquired 0 local"));
  EXPECT_FALSE(rig.told("draining 0 local"));
  rig.revoke("0");
  EXPECT_TRUE(rig.told("draining 0 local")) << "until the vector lapses";
  rig.pass(kLease);
  EXPECT_NE(rig.verdict(0), Verdict::local);
  EXPECT_NE(rig.place("stopped 0 unowned"), rig.place("stopped 0 unknown"));
}

TEST(OwnerBroadcast, it_closes_when_it_is_drained) {
  BroadcastEngine rig;
  rig.start();
  rig.assign("0");
  rig.hear(0, 77);
  bool done = false;
  rig.reader->drain(0ms, [&] { done = true; });
  rig.poll();
  EXPECT_TRUE(rig.run_until([&] { return done; }));
  EXPECT_TRUE(rig.told("leave_group"));
  EXPECT_TRUE(rig.told("close"));
}

}  // namespace
}  // namespace neliroute
