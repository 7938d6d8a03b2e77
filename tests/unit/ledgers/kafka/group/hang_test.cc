// A process whose executor is blocked leaves the group, and comes back by itself.
#include <gmock/gmock.h>

#include <algorithm>
#include <chrono>
#include <future>
#include <neliroute/clock.h>

#include "tests/unit/ledgers/kafka/ledger/ledger_rig.h"

#if RD_KAFKA_VERSION >= 0x020c0000  // the embedded broker's

namespace neliroute {
namespace {

using std::chrono::seconds;
using testing::SizeIs;

std::size_t held(const Seen& seen) {
  std::size_t count = 0;
  for (const PartitionRanges& ranges : seen.assigned) count += ranges.size();
  for (const GroupRevoked& revoked : seen.revoked) count -= revoked.partitions.size();
  return count;
}

class HangTest : public testing::Test {
 protected:
  static KafkaLedgerParameters parameters_of(const LedgerRig& broker) {
    auto parameters = broker.parameters();
    parameters.timing.session = seconds{2};
    return parameters;
  }
  static void join(LedgerRig& rig, const KafkaLedgerParameters& parameters) {
    rig.answer_rebalances();
    rig.open(parameters);
    rig.start_and_read();
    rig.on_ledger([](KafkaLedger& ledger) { ledger.subscribe(); });
  }
  void join_both() {
    hung_.open_broker();
    join(hung_, parameters_of(hung_));
    ASSERT_TRUE(hung_.wait([](const Seen& s) { return held(s) == LedgerRig::kPartitions; }));
    join(other_, parameters_of(hung_));
    ASSERT_TRUE(other_.wait([](const Seen& s) { return held(s) == LedgerRig::kPartitions / 2; }));
    ASSERT_TRUE(hung_.wait([](const Seen& s) { return held(s) == LedgerRig::kPartitions / 2; }));
  }

  LedgerRig hung_;
  LedgerRig other_;
};

TEST_F(HangTest, OthersGetWhatItHadAndItIsToldWhenItComesBack) {
  join_both();
  const std::size_t revoked = hung_.seen().revoked.size();
  const LocalTime began = boot_now();
  // The handler of an application that blocks its executor; librdkafka's threads go on.
  hung_.on_ledger([this](KafkaLedger&) {
    EXPECT_TRUE(other_.wait([](const Seen& s) { return held(s) == LedgerRig::kPartitions; }));
  });
  // The aim is 2 x max(session, 2 s), which the benchmarks judge: machines stand still for seconds.
  EXPECT_LT(boot_now() - began, seconds{10});

  ASSERT_TRUE(hung_.wait([&](const Seen& s) { return s.revoked.size() > revoked; }));
  EXPECT_TRUE(hung_.seen().revoked[revoked].lost);
  EXPECT_EQ(hung_.seen().revoked[revoked].partitions.size(), LedgerRig::kPartitions / 2);
  EXPECT_TRUE(hung_.wait([](const Seen& s) { return held(s) == LedgerRig::kPartitions / 2; }))
      << "it joins again by itself";
  EXPECT_TRUE(other_.wait([](const Seen& s) { return held(s) == LedgerRig::kPartitions / 2; }));
  std::string told;
  for (const Notice& notice : hung_.seen().notices) told += notice.text + '\n';
  EXPECT_THAT(told, testing::HasSubstr("`timing.hang_limit`"));
}

TEST_F(HangTest, ItHappensASecondTime) {
  join_both();
  for (int i = 0; i < 2; ++i) {
    hung_.on_ledger([this](KafkaLedger&) {
      EXPECT_TRUE(other_.wait([](const Seen& s) { return held(s) == LedgerRig::kPartitions; }));
    });
    // It was notified of this loss, and is back.
    ASSERT_TRUE(hung_.wait([&](const Seen& s) {
      const auto lost = std::count_if(s.revoked.begin(), s.revoked.end(),
                                      [](const GroupRevoked& revoked) { return revoked.lost; });
      return lost > i && held(s) == LedgerRig::kPartitions / 2;
    }));
    ASSERT_TRUE(other_.wait([](const Seen& s) { return held(s) == LedgerRig::kPartitions / 2; }));
  }
}

TEST_F(HangTest, WhoIsMerelyBusyStaysAMember) {
  join_both();
  const std::size_t revoked = hung_.seen().revoked.size();
  const LocalTime until = later(boot_now(), seconds{4});
  while (boot_now() < until) {
    hung_.on_ledger([](KafkaLedger&) {
      std::promise<void> never;
      never.get_future().wait_for(milliseconds{300});
    });
  }
  EXPECT_THAT(hung_.seen().revoked, SizeIs(revoked));
  EXPECT_EQ(held(hung_.seen()), LedgerRig::kPartitions / 2);
}

TEST_F(HangTest, ALimitThatIsRaisedIsHeeded) {
  hung_.open_broker();
  auto parameters = parameters_of(hung_);
  parameters.timing.hang_limit = seconds{30};
  join(hung_, parameters);
  ASSERT_TRUE(hung_.wait([](const Seen& s) { return held(s) == LedgerRig::kPartitions; }));
  join(other_, parameters_of(hung_));
  // Both, else a rebalance is under way, which ends without who hangs then.
  ASSERT_TRUE(other_.wait([](const Seen& s) { return held(s) == LedgerRig::kPartitions / 2; }));
  ASSERT_TRUE(hung_.wait([](const Seen& s) { return held(s) == LedgerRig::kPartitions / 2; }));
  const std::size_t revoked = hung_.seen().revoked.size();
  hung_.on_ledger([this](KafkaLedger&) {
    EXPECT_TRUE(other_.never([](const Seen& s) { return held(s) == LedgerRig::kPartitions; },
                             seconds{4}));
  });
  EXPECT_THAT(hung_.seen().revoked, SizeIs(revoked));
}

}  // namespace
}  // namespace neliroute

#endif
