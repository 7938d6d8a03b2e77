// What each hash scheme promises: no excess, the balance and the movement of hashing.md 1.4, equal
// results for equal sets, and loads by weight.
#include <gmock/gmock.h>

#include <cmath>
#include <numeric>

#include "bench/placements/hash/anchor.h"
#include "bench/placements/hash/bounded.h"
#include "bench/placements/hash/dx.h"
#include "bench/placements/hash/jump.h"
#include "bench/placements/hash/ketama.h"
#include "bench/placements/hash/md5.h"
#include "bench/placements/hash/memento.h"
#include "bench/placements/simulation.h"
#include "tests/bench/placements/rig.h"

namespace neliroute::placement {
namespace {

constexpr std::uint32_t kSlots = 1024;
constexpr std::uint32_t kSeeds = 40;

struct Mean {
  double moved = 0;
  double excess = 0;
  double peak = 0;
  double cv = 0;
};

/// One step of a trace, over many seeds: the mean of what it did.
Mean mean_of(std::string_view spec, std::string_view trace_name) {
  Mean mean;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const Trace trace = *make_trace(trace_name, 10, Names::shuffled, seed);
    const auto placement = make_placement(*parse_spec(spec), {kSlots, seed, trace.roster,
                                                              trace.most_members()});
    Simulation simulation(*placement, trace, 1, {});
    static_cast<void>(simulation.advance());
    const Report report = simulation.advance();
    mean.moved += static_cast<double>(report.moved) / kSlots / kSeeds;
    mean.excess += static_cast<double>(report.excess) / kSlots / kSeeds;
    mean.peak += report.after.peak / kSeeds;
    mean.cv += report.after.cv / kSeeds;
  }
  return mean;
}

struct Golden {
  std::string_view spec;
  Mean joined;  ///< 10 -> 11
  Mean left;    ///< 10 -> 9, a random one; peak and CV are not golden
};

// hashing.md 1.4, of 12 seeds or 4.
constexpr Golden kGolden[] = {
    {"rendezvous", {.0885, 0, 1.15, .095}, {.0986, 0, 0, 0}},
    {"jump", {.0902, 0, 1.19, .112}, {.64, .537, 0, 0}},
    {"ring:160", {.087, 0, 1.20, .120}, {.097, 0, 0, 0}},
    {"ring:1000", {.087, 0, 1.25, .116}, {.106, 0, 0, 0}},
    {"ketama", {.087, 0, 1.20, .120}, {.097, 0, 0, 0}},
    // The CV is of 60 seeds with independent probes: .177, .1 from seed to seed. hashing.md's own
    // 12 seeds gave .214, which is that within its error.
    {"multiprobe", {.085, 0, 1.26, .177}, {.108, 0, 0, 0}},
    {"anchor", {.088, 0, 1.17, .11}, {.096, 0, 0, 0}},
    {"dx", {.089, 0, 1.15, .095}, {.102, 0, 0, 0}},
    {"memento", {.090, 0, 1.19, .11}, {.102, 0, 0, 0}},
    {"bounded:1.25", {.088, .0005, 1.19, .117}, {.097, .0004, 0, 0}},
    {"bounded:1.05", {.103, .014, 1.053, .069}, {.112, .014, 0, 0}},
    {"maglev", {.119, .028, 1.010, .003}, {.124, .024, 0, 0}},
    {"least", {.0908, 0, 1.0098, .003}, {.1, 0, 0, 0}},
};

TEST(GoldenTest, MovementAndBalanceOfEveryHashScheme) {
  for (const Golden& golden : kGolden) {
    SCOPED_TRACE(golden.spec);
    const Mean joined = mean_of(golden.spec, "join");
    EXPECT_NEAR(joined.moved, golden.joined.moved, .012);
    EXPECT_NEAR(joined.excess, golden.joined.excess, .006);
    EXPECT_NEAR(joined.peak, golden.joined.peak, golden.joined.peak < 1.1 ? .006 : .09);
    EXPECT_NEAR(joined.cv, golden.joined.cv, golden.joined.cv < .01 ? .002 : .03);
    const Mean left = mean_of(golden.spec, "leave");
    EXPECT_NEAR(left.moved, golden.left.moved, golden.spec == "jump" ? .1 : .012);
    EXPECT_NEAR(left.excess, golden.left.excess, golden.spec == "jump" ? .1 : .006);
    if (golden.joined.excess == 0) {
      EXPECT_EQ(joined.excess, 0);
    }
    if (golden.left.excess == 0) {
      EXPECT_EQ(left.excess, 0);
    }
  }
}

TEST(GoldenTest, WhoIsSaidToBeExcessFreeIsUnderAnyChurn) {
  for (const Kind& kind : kinds()) {
    if (!kind.excess_free) continue;
    std::uint64_t moved = 0;
    for (const std::string_view name : {"walk:40", "rolling", "zone", "flap", "double"}) {
      const Trace trace = *make_trace(name, 12, Names::shuffled, 3);
      const auto placement =
          make_placement({&kind, kind.parameter.usual},
                         {kSlots, 3, trace.roster, trace.most_members()});
      for (Simulation simulation(*placement, trace, 1, {}); !simulation.done();) {
        const Report report = simulation.advance();
        ASSERT_EQ(report.excess, 0U) << kind.name << " in " << name;
        moved += report.moved;
      }
    }
    EXPECT_GT(moved, 10U * kSlots / 12) << kind.name;
  }
}

TEST(GoldenTest, MultinomialSchemesPassChiSquare) {
  // 9 degrees of freedom: above 33.7 one time in 10,000; over 40 seeds the sum has 360, and its
  // 99.9 % bounds are 281 and 447.
  for (const std::string_view spec : {"rendezvous", "jump", "anchor", "dx", "memento"}) {
    double sum = 0;
    for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
      Rig rig(spec, 20'000, roster_of(10, seed), 10, seed);
      double chi = 0;
      for (const std::uint64_t load : rig.loads()) {
        chi += (static_cast<double>(load) - 2000) * (static_cast<double>(load) - 2000) / 2000;
      }
      EXPECT_LT(chi, 33.7) << spec << ", seed " << seed;
      sum += chi;
    }
    EXPECT_GT(sum, 281) << spec;
    EXPECT_LT(sum, 447) << spec;
  }
}

TEST(GoldenTest, MultiProbePeaksAtOneAboveItsProbes) {
  double peak = 0;
  double cv = 0;
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    Rig rig("multiprobe", 100'000, roster_of(100, seed), 100, seed);
    const std::vector<std::uint32_t> weights(100, 1);
    const Balance balance = balance_of(rig.loads(), weights);
    peak += balance.peak / 10;
    cv += balance.cv / 10;
  }
  // (k + 1) / k = 1.048 and CV 15.3 %, and what 1000 items each add.
  EXPECT_NEAR(peak, 1.10, .05);
  EXPECT_NEAR(cv, .153, .02);
}

/// Placements that depend on the set of members, not on how it came about.
TEST(SetTest, TheOrderOfChangesDoesNotMatter) {
  for (const std::string_view spec :
       {"range", "roundrobin", "rendezvous", "ring", "ketama", "bounded", "bounded:1.05",
        "multiprobe", "maglev", "maglev:65537"}) {
    Rig one(spec, kSlots, roster_of(40, 8), 20);
    for (const MemberId member : {3U, 7U, 0U}) one.placement->leave(member);
    for (const MemberId member : {30U, 7U, 21U}) one.placement->join(member);
    Rig other(spec, kSlots, roster_of(40, 8), 0);
    std::vector<MemberId> all = {21, 30};
    for (MemberId member = 20; member-- > 0;) {
      if (member != 3 && member != 0) all.push_back(member);
    }
    other.placement->change({}, all);
    EXPECT_EQ(one.owners(), other.owners()) << spec;
  }
}

/// Those that depend on history restore what was, when the last to leave comes back.
TEST(SetTest, ComingBackRestoresWhatWas) {
  for (const std::string_view spec : {"anchor", "anchor:64", "dx", "dx:64", "memento"}) {
    Rig rig(spec, kSlots, roster_of(20, 4), 20);
    std::vector<std::vector<MemberId>> history;
    for (const MemberId member : {19U, 4U, 11U, 0U, 18U, 7U}) {
      history.push_back(rig.owners());
      rig.placement->leave(member);
    }
    for (const MemberId member : {7U, 18U, 0U, 11U, 4U, 19U}) {
      rig.placement->join(member);
      EXPECT_EQ(rig.owners(), history.back()) << spec;
      history.pop_back();
    }
  }
}

TEST(SetTest, EverybodyMayGoAndComeBack) {
  for (const Kind& kind : kinds()) {
    Rig rig(kind.name, 64, roster_of(3, 1), 3);
    rig.placement->change(first_ids(3), {});
    EXPECT_EQ(rig.owners(), std::vector<MemberId>(64, kNobody)) << kind.name;
    rig.placement->join(1);
    EXPECT_EQ(rig.owners(), std::vector<MemberId>(64, 1)) << kind.name;
  }
}

TEST(SetTest, ThereMayBeMoreMembersThanItems) {
  for (const Kind& kind : kinds()) {
    Rig rig(kind.name, 3, roster_of(50, 1), 40);
    for (MemberId member = 40; member < 50; ++member) rig.placement->join(member);
    for (MemberId member = 0; member < 45; ++member) rig.placement->leave(member);
    for (const MemberId owner : rig.owners()) EXPECT_TRUE(rig.placement->is_member(owner));
  }
}

TEST(WeightTest, LoadsFollowWeights) {
  for (const Kind& kind : kinds()) {
    if (!kind.knows_weights) continue;
    Rig rig(kind.name, 50'000, {{"a", 1}, {"b", 2}, {"c", 5}, {"d", 2}}, 3, 7);
    rig.placement->join(3);
    const auto loads = rig.loads();
    for (std::size_t i = 0; i < loads.size(); ++i) {
      const double share = rig.roster[i].weight / 10.0;
      EXPECT_NEAR(static_cast<double>(loads[i]) / 50'000, share, .25 * share)
          << kind.name << " member " << i;
    }
  }
}

TEST(WeightTest, WeightedRendezvousIsExact) {
  Rig rig("rendezvous", 200'000, {{"a", 1}, {"b", 2}, {"c", 5}}, 3, 7);
  const auto loads = rig.loads();
  EXPECT_NEAR(static_cast<double>(loads[0]), 25'000, 600);
  EXPECT_NEAR(static_cast<double>(loads[1]), 50'000, 800);
  // A leave moves its own only, and by weight.
  const auto before = rig.owners();
  rig.placement->leave(2);
  EXPECT_EQ(differing(before, rig.owners()), loads[2]);
  EXPECT_NEAR(static_cast<double>(rig.loads()[1]), 200'000 * 2 / 3.0, 1000);
}

TEST(BoundedTest, NobodyOwnsMoreThanTheBound) {
  for (const double factor : {1.01, 1.05, 1.25, 2.0}) {
    Rig rig("bounded:" + std::to_string(factor), 10'007, roster_of(60, 2), 50);
    for (MemberId member = 50; member < 60; ++member) {
      rig.placement->join(member);
      const auto loads = rig.loads();
      const double bound = std::ceil(factor * 10'007 / static_cast<double>(member + 1));
      EXPECT_LE(static_cast<double>(*std::max_element(loads.begin(), loads.end())), bound);
    }
  }
}

TEST(JumpTest, PublishedBuckets) {
  // Of Guava's test of its own port of the same function, and the definition's edges.
  EXPECT_EQ(jump_hash(10863919174838991ULL, 11), 6U);
  EXPECT_EQ(jump_hash(2016238256797177309ULL, 11), 3U);
  EXPECT_EQ(jump_hash(1673758223894951030ULL, 11), 5U);
  EXPECT_EQ(jump_hash(12345, 1), 0U);
}

TEST(JumpTest, OnlyTheNewestLeavesWithoutExcess) {
  Rig rig("jump", kSlots, roster_of(10, 1), 10);
  const auto before = rig.owners();
  const auto newest = rig.loads()[9];
  rig.placement->leave(9);
  EXPECT_EQ(differing(before, rig.owners()), newest);
  rig.placement->leave(0);
  EXPECT_GT(differing(before, rig.owners()), kSlots * 3 / 4);
}

std::string hex(std::string_view text) {
  constexpr std::string_view kDigits = "0123456789abcdef";
  std::string made;
  for (const std::uint8_t byte : md5(text)) {
    made += kDigits[byte >> 4];
    made += kDigits[byte & 15];
  }
  return made;
}

TEST(Md5Test, VectorsOfRfc1321) {
  EXPECT_EQ(hex(""), "d41d8cd98f00b204e9800998ecf8427e");
  EXPECT_EQ(hex("a"), "0cc175b9c0f1b6a831c399e269772661");
  EXPECT_EQ(hex("abc"), "900150983cd24fb0d6963f7d28e17f72");
  EXPECT_EQ(hex("message digest"), "f96b697d7cb7938d525a2f31aaf161d0");
  EXPECT_EQ(hex("abcdefghijklmnopqrstuvwxyz"), "c3fcd3d76192e4007dfb496cca67e13b");
  EXPECT_EQ(hex("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"),
            "d174ab98d277d9f5a5611c2c9f419d9f");
  EXPECT_EQ(hex("1234567890123456789012345678901234567890123456789012345678901234567890123456789"
                "0"),
            "57edf4a22be3c955ac49da2e2107b67a");
}

TEST(KetamaTest, PointsAreTheWordsOfTheDigests) {
  const std::vector<std::uint32_t> points = ketama_points("a", 1);
  ASSERT_EQ(points.size(), 160U);
  const auto digest = md5("a-39");
  const auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(digest[i]); };
  const std::uint32_t last = byte(12) | byte(13) << 8 | byte(14) << 16 | byte(15) << 24;
  EXPECT_EQ(points.back(), last);
  EXPECT_EQ(ketama_points("a", 2).size(), 320U);
}

TEST(BucketsDeathTest, WhatIsNotThereCannotBeRemoved) {
  Anchor anchor(2);
  static_cast<void>(anchor.add());
  EXPECT_DEATH(anchor.remove(1), "in use");
  static_cast<void>(anchor.add());
  EXPECT_DEATH(static_cast<void>(anchor.add()), "bucket left");
  Dx dx(2);
  EXPECT_DEATH(dx.remove(0), "in use");
  EXPECT_DEATH(Dx(3), "power of two");
  Memento memento;
  EXPECT_DEATH(memento.remove(0), "in use");
}

TEST(PlacementDeathTest, ChangesThatCannotBe) {
  Rig rig("rendezvous", 4, roster_of(3, 1), 2);
  EXPECT_DEATH(rig.placement->join(1), "absent before");
  EXPECT_DEATH(rig.placement->leave(2), "only a member");
  EXPECT_DEATH(rig.placement->join(9), "on the roster");
}

}  // namespace
}  // namespace neliroute::placement
