// A log in which many claim within one lease: what a process keeps of them, and what it costs.
#include <gtest/gtest.h>
#include <time.h>

#include <algorithm>
#include <map>
#include <random>

#include "neli_core/claimed/epoch_history.h"
#include "tests/sanitized.h"
#include "tests/world/rig.h"

namespace neliroute {
namespace {

using namespace std::chrono_literals;
using rig::Rig;
using rig::kLog;

constexpr ProcessId kClaimant{2};

double cpu_seconds() {
  timespec used{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return static_cast<double>(used.tv_sec) + static_cast<double>(used.tv_nsec) * 1e-9;
}

// A claim every 10 ms, each with a lease of 10 minutes.
TEST(ManyClaims, a_hundred_thousand_take_no_more_memory_than_a_few) {
  EpochHistory history;
  for (std::int64_t i = 0; i < 100'000; ++i) {
    const LocalTime now = rig::at_ms(1000 + 10 * i);
    history.foreign_claim({5, i}, ProcessId{1 + static_cast<std::uint64_t>(i) % 50},
                          {now, kLeaseMax, std::nullopt});
    history.forget(now, {4, 0});  // the own epoch
    ASSERT_LE(history.foreign().capacity(), EpochHistory::kKnownMax) << i;
  }
  EXPECT_EQ(history.newest()->epoch, (Epoch{5, 99'999}));
  EXPECT_NE(history.find({5, 99'999}), nullptr);
  EXPECT_TRUE(history.claim_was_read({5, 0}));
  EXPECT_TRUE(history.claim_was_read({5, 50'000}));
  EXPECT_FALSE(history.claim_was_read({5, 100'000}));
}

// The last of them as much time as the first: CPU time of this thread, whatever runs beside it.
TEST(ManyClaims, the_last_of_a_hundred_thousand_takes_as_long_as_the_first) {
  constexpr int kRounds = kSanitized ? 3 : 10;
  constexpr int kClaims = 10'000;
  rig::RigOptions options = rig::exclusive();
  options.lease = kLeaseMax;
  Rig group(options);
  ClaimProtocol core = std::move(*ClaimProtocol::make(group.core_options(1, "a")));
  LocalTime now = group.now();
  core.tick(now);
  core.step(TailStarted{kLog, 0, 0, Below::nothing}, now);
  Record claim = rig::claim_of(9, "0", 5);
  claim.lease = kLeaseMax;
  std::int64_t offset = 0;
  double first = 0;
  for (int round = 0; round < kRounds; ++round) {
    const double before = cpu_seconds();
    for (int i = 0; i < kClaims; ++i) {
      claim.id = ProcessId{9 + static_cast<std::uint64_t>(offset) % 50};
      const Decoded value = claim;
      core.step(Received{kLog, offset++, group.broker_now(), true, &value}, now += 10ms);
      static_cast<void>(core.take_ready());
    }
    const double took = cpu_seconds() - before;
    if (round == 0) first = took;
    ASSERT_LT(took, 4 * first + 0.1) << "round " << round << ", the first took " << first << " s";
  }
  EXPECT_EQ(core.counters().gaps, 0u);
}

TEST(ManyClaims, an_exclusive_claimant_waits_for_every_one_of_them) {
  rig::RigOptions options = rig::exclusive();
  Rig group(options);
  auto& a = group.start(1, "a");
  group.run_for(5s);
  Record first = rig::claim_of(9, "0");
  first.lease = 30s;  // none of the others is as long
  group.append_claim(kLog, first);
  for (std::uint64_t i = 0; i < 3 * EpochHistory::kKnownMax; ++i) {
    group.append_claim(kLog, rig::claim_of(10 + i, "0"));
  }
  group.settle();
  const LocalTime read = group.now();
  group.assign(a, "0");
  while (group.now() < later(read, 29'900ms)) {
    ASSERT_FALSE(a.leads(0, group.now())) << (group.now() - read).count() << " us";
    group.run_for(100ms);
  }
  group.run_for(500ms);
  EXPECT_TRUE(a.leads(0, group.now()));
}

// Rule 11: a renewal of a claim that was never read shows a gap. These were all read.
TEST(ManyClaims, a_renewal_of_a_folded_epoch_shows_no_gap) {
  Rig group;
  auto& a = group.start(1, "a");
  group.assign(a, "0");
  ASSERT_TRUE(a.leads(0, group.now()));
  a.hold_writes = true;  // its own next claim does not come
  const Epoch second = group.append_claim(kLog, rig::claim_of(9, "0"));
  for (std::uint64_t i = 0; i < 3 * EpochHistory::kKnownMax; ++i) {
    group.append_claim(kLog, rig::claim_of(10 + i, "0"));
  }
  group.append(kLog, rig::renewal_of(9, second, "0"));
  group.settle();
  EXPECT_EQ(a.claims.counters().gaps, 0u);
  group.append(kLog, rig::renewal_of(9, {second.incarnation, second.offset + 1000}, "0"));
  group.settle();
  EXPECT_EQ(a.claims.counters().gaps, 1u) << "this one was not";
}

// The grace that a history asks of an own claim, by rule 6.
LocalTime wait_of(const EpochHistory::Known& known, LocalTime read, BrokerTime stamp) {
  if (known.released_at != kNever) return kLongAgo;
  if (!known.over_stamp) return known.over_at;
  return std::min(known.over_at,
                  later(read, with_drift(std::max(*known.over_stamp - stamp, 0ms))));
}

// One that folds nothing: each epoch in a history of its own.
struct Unbounded {
  std::map<Epoch, EpochHistory> each;
  LocalTime longest = kLongAgo;

  LocalTime wait(LocalTime read, BrokerTime stamp) const {
    LocalTime end = kLongAgo;
    for (const auto& [epoch, history] : each) {
      end = std::max(end, wait_of(history.foreign().front(), read, stamp));
    }
    return end;
  }
};

TEST(ManyClaims, what_is_folded_is_waited_for_at_least_as_long_and_never_beyond_its_leases) {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    std::mt19937_64 random(seed);
    const auto below = [&](std::uint64_t bound) { return random() % bound; };
    EpochHistory history;
    Unbounded reference;
    std::vector<Epoch> epochs;
    LocalTime now = rig::at_ms(1000);
    std::int64_t offset = 0;
    const std::uint64_t stamped_percent = below(3) * 50;
    for (int step = 0; step < 200; ++step) {
      now += milliseconds{below(20)};
      Reading reading{now, milliseconds{1 + below(5000)}, std::nullopt, false};
      if (below(100) < stamped_percent) {
        reading.history_stamp = BrokerTime{milliseconds{below(5000)}};
      }
      if (epochs.empty() || below(10) < 6) {
        epochs.push_back({5, offset++});
        history.foreign_claim(epochs.back(), kClaimant, reading);
        reference.each[epochs.back()].foreign_claim(epochs.back(), kClaimant, reading);
      } else if (const Epoch epoch = epochs[below(epochs.size())]; below(2) == 0) {
        static_cast<void>(history.release(epoch, kClaimant, reading));
        static_cast<void>(reference.each[epoch].release(epoch, kClaimant, reading));
      } else if (history.is_valid(epoch)) {
        history.renewal(epoch, kClaimant, below(2) == 0, reading);
        reference.each[epoch].renewal(epoch, kClaimant, false, reading);
      }
      if (below(60) == 0) {
        history.gap();
        for (auto& [epoch, one] : reference.each) one.gap();
        epochs.clear();
        epochs.push_back({5, offset++});
        history.foreign_claim(epochs.back(), kClaimant, reading);
        reference.each[epochs.back()].foreign_claim(epochs.back(), kClaimant, reading);
      }
      reference.longest = std::max(reference.longest, later(now, with_drift(reading.lease)));
      ASSERT_LE(history.foreign().size(), EpochHistory::kKnownMax);
      LocalTime wait = kLongAgo;
      const BrokerTime stamp{milliseconds{below(6000)}};
      for (const auto& known : history.foreign()) wait = std::max(wait, wait_of(known, now, stamp));
      if (history.folded()) wait = std::max(wait, wait_of(*history.folded(), now, stamp));
      ASSERT_GE(wait, reference.wait(now, stamp)) << "seed " << seed << " step " << step;
      ASSERT_LE(wait, std::max(reference.longest, now)) << "seed " << seed << " step " << step;
      for (const Epoch& epoch : epochs) ASSERT_TRUE(history.claim_was_read(epoch)) << seed;
    }
  }
}

}  // namespace
}  // namespace neliroute
