// A store refused the epoch that is held: the next one outranks what it knows.
#include <gtest/gtest.h>

#include "neli_core/record/judgement.h"
#include "tests/world/rig.h"

namespace neliroute {
namespace {

using rig::Rig;
using rig::RigOptions;
using namespace std::chrono_literals;

// A store that was restored, or that knew another topic, has seen greater epochs.
TEST(Epochs, a_store_s_refusal_raises_incarnation_and_leaves_no_gap) {
  for (const Mode mode : {Mode::exclusive, Mode::non_exclusive}) {
    RigOptions options;
    options.mode = mode;
    Rig rig(options);
    auto& a = rig.start(1, "a");
    rig.assign(a, "0-1");
    ASSERT_TRUE(rig.run_until([&] { return a.leads(0, rig.now()); }, 2s));
    const Epoch first = *a.core.epoch(Partition{0});
    const std::int64_t stored = first.incarnation + 5'000;
    rig.step(a, EpochRefused{Partition{0}, Epoch{stored, 0}});
    rig.run_for(200ms);
    EXPECT_GT(a.core.epoch(Partition{0})->incarnation, stored);
    EXPECT_TRUE(a.leads(0, rig.now()));
    EXPECT_EQ(a.count(TransitionKind::stopped), 0u) << "it led on until its new claim was read";
    EXPECT_EQ(a.core.epoch(Partition{1}), first) << "nobody refused that one";
    ASSERT_EQ(a.records(RecordType::release).size(), 1u);
    const Record release = a.records(RecordType::release)[0];
    EXPECT_EQ(epoch_of(release, release.epochs[0]), first);
    // Both are renewed in one record.
    const Record renewal = a.records(RecordType::renewal).back();
    ASSERT_EQ(renewal.epochs.size(), 2u);
    EXPECT_EQ(epoch_of(renewal, renewal.epochs[0]), first);
    EXPECT_EQ(epoch_of(renewal, renewal.epochs[1]), *a.core.epoch(Partition{0}));
    const auto claims = a.records(RecordType::claim).size();
    rig.step(a, EpochRefused{Partition{0}, Epoch{stored, 0}});
    rig.run_for(200ms);
    EXPECT_EQ(a.records(RecordType::claim).size(), claims) << "it outranks that already";
  }
}

// A write of an earlier ownership that came late is refused for the successor's epoch.
TEST(Epochs, a_store_s_refusal_of_an_older_one_costs_no_claim) {
  Rig rig;
  auto& a = rig.start(1, "a");
  rig.assign(a, "0");
  ASSERT_TRUE(rig.run_until([&] { return a.leads(0, rig.now()); }, 2s));
  const Epoch held = *a.core.epoch(Partition{0});
  for (const Epoch& stored :
       {held, Epoch{held.incarnation, held.offset - 1}, Epoch{held.incarnation - 1, 99}}) {
    rig.step(a, EpochRefused{Partition{0}, stored});
    rig.run_for(200ms);
    EXPECT_EQ(a.records(RecordType::claim).size(), 1u);
  }
  rig.step(a, EpochRefused{Partition{0}, Epoch{held.incarnation, held.offset + 1}});
  rig.run_for(200ms);
  EXPECT_EQ(a.records(RecordType::claim).size(), 2u) << "of the same inc, and greater";
}

TEST(Epochs, a_store_that_is_a_lifetime_ahead_is_not_believed) {
  Rig rig;
  auto& a = rig.start(1, "a");
  rig.assign(a, "0");
  ASSERT_TRUE(rig.run_until([&] { return a.leads(0, rig.now()); }, 2s));
  const Epoch first = *a.core.epoch(Partition{0});
  const auto notices = a.notices.size();
  rig.step(a, EpochRefused{Partition{0}, Epoch{kIncarnationMax, 0}});
  rig.step(a, EpochRefused{Partition{0}, Epoch{first.incarnation + kIncarnationAhead, 0}});
  rig.run_for(200ms);
  EXPECT_EQ(a.core.epoch(Partition{0}), first);
  EXPECT_EQ(a.notices.size(), notices + 1) << "the second is below what was not believed";
  rig.step(a, EpochRefused{Partition{0}, Epoch{kIncarnationMax, 0}});
  EXPECT_EQ(a.notices.size(), notices + 1) << "said once";
  rig.step(a, EpochRefused{Partition{3}, Epoch{first.incarnation + 1, 0}});
  rig.step(a, EpochRefused{Partition{99}, Epoch{first.incarnation + 1, 0}});
  EXPECT_EQ(a.records(RecordType::claim).size(), 1u) << "not held, and none at all";
}

// Who was stopped, or hands over, may meet a store that its successor has written to.
TEST(Epochs, a_store_s_refusal_takes_nothing_back_from_a_successor) {
  Rig rig;
  auto& a = rig.start(1, "a");
  rig.assign(a, "0");
  ASSERT_TRUE(rig.run_until([&] { return a.leads(0, rig.now()); }, 2s));
  const Epoch first = *a.core.epoch(Partition{0});
  rig.append(Log{0}, rig::claim_of(9, "0", first.incarnation));
  rig.settle();
  ASSERT_EQ(a.core.role_state(Partition{0}), RoleState::draining);
  rig.step(a, EpochRefused{Partition{0}, Epoch{first.incarnation + 5, 0}});
  rig.run_for(200ms);
  EXPECT_EQ(a.records(RecordType::claim).size(), 1u) << "it hands over";

  // It is given back before anybody has claimed it: now it may.
  Rig given_back;
  auto& c = given_back.start(1, "c");
  given_back.assign(c, "0");
  ASSERT_TRUE(given_back.run_until([&] { return c.leads(0, given_back.now()); }, 2s));
  const Epoch kept = *c.core.epoch(Partition{0});
  given_back.revoke(c, "0");
  given_back.step(c, EpochRefused{Partition{0}, Epoch{kept.incarnation + 5, 0}});
  given_back.run_for(200ms);
  EXPECT_EQ(c.records(RecordType::claim).size(), 1u);
  given_back.assign(c, "0");
  given_back.run_for(200ms);
  EXPECT_GT(c.core.epoch(Partition{0})->incarnation, kept.incarnation + 5);
  EXPECT_EQ(c.count(TransitionKind::stopped), 0u);

  RigOptions exclusive;
  exclusive.mode = Mode::exclusive;
  Rig fenced(exclusive);
  auto& b = fenced.start(1, "b");
  fenced.assign(b, "0");
  ASSERT_TRUE(fenced.run_until([&] { return b.leads(0, fenced.now()); }, 2s));
  const Epoch held = *b.core.epoch(Partition{0});
  b.drop_writes = true;
  ASSERT_TRUE(fenced.run_until([&] { return !b.leads(0, fenced.now()); }, 20s));
  b.drop_writes = false;
  const auto claims = b.records(RecordType::claim).size();
  fenced.step(b, EpochRefused{Partition{0}, Epoch{held.incarnation + 5, 0}});
  fenced.settle();
  EXPECT_EQ(b.records(RecordType::claim).size(), claims) << "its lease has lapsed";
}

// Partitions share their log's incarnation, and another store may know less.
TEST(Epochs, a_store_that_knows_less_than_the_log_lowers_no_incarnation) {
  Rig rig;
  auto& a = rig.start(1, "a");
  rig.assign(a, "0-1");
  ASSERT_TRUE(rig.run_until([&] { return a.leads(1, rig.now()); }, 2s));
  const std::int64_t incarnation = a.core.epoch(Partition{0})->incarnation;
  rig.step(a, EpochRefused{Partition{0}, Epoch{incarnation + 5'000, 0}});
  rig.run_for(200ms);
  rig.step(a, EpochRefused{Partition{1}, Epoch{incarnation + 10, 0}});
  rig.run_for(200ms);
  EXPECT_GT(a.core.epoch(Partition{1})->incarnation, incarnation + 5'000);
  EXPECT_EQ(a.records(RecordType::claim).size(), 3u);
}

// Where the broker's clock steps back, a claim just below the limit would be believed no more.
TEST(Epochs, a_store_s_incarnation_leaves_room_for_a_clock_that_steps_back) {
  Rig rig;
  auto& a = rig.start(1, "a");
  rig.assign(a, "0");
  ASSERT_TRUE(rig.run_until([&] { return a.leads(0, rig.now()); }, 2s));
  const Epoch first = *a.core.epoch(Partition{0});
  const std::int64_t limit = first.incarnation + kIncarnationAhead;
  const auto notices = a.notices.size();
  rig.step(a, EpochRefused{Partition{0}, Epoch{limit - kLeaseMax.count() / 2, 0}});
  rig.run_for(200ms);
  EXPECT_EQ(a.core.epoch(Partition{0}), first);
  EXPECT_EQ(a.notices.size(), notices + 1);
  rig.step(a, EpochRefused{Partition{0}, Epoch{limit - 2 * kLeaseMax.count(), 0}});
  rig.run_for(200ms);
  EXPECT_GT(a.core.epoch(Partition{0})->incarnation, limit - 2 * kLeaseMax.count());
}

}  // namespace
}  // namespace neliroute
