// plan() as a placement: the least possible at each step of each trace.
#include "bench/placements/assigner.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "bench/placements/simulation.h"
#include "tests/bench/placements/rig.h"

namespace neliroute::placement {
namespace {

constexpr std::uint32_t kPartitions = 64;

std::vector<Report> reports_of(std::string_view spec, const Trace& trace, std::uint64_t seed) {
  const auto placement = make_placement(
      *parse_spec(spec), {kPartitions, seed, trace.roster, trace.most_members()});
  std::vector<Report> reports;
  for (Simulation simulation(*placement, trace, 1024 / kPartitions, {}); !simulation.done();) {
    reports.push_back(simulation.advance());
  }
  return reports;
}

TEST(AssignerTest, MovesTheLeastPossibleAtEachStepAndIsAsEvenAsUniform41) {
  std::uint64_t moved = 0;
  for (const TraceKind& kind : trace_kinds()) {
    for (std::uint64_t seed = 1; seed <= 10; ++seed) {
      const Trace trace = *make_trace(kind.name, 10, Names::shuffled, seed);
      const auto ours = reports_of("assigner", trace, seed);
      const auto uniform = reports_of("uniform-4.1", trace, seed);
      ASSERT_EQ(ours.size(), uniform.size());
      for (std::size_t step = 0; step < ours.size(); ++step) {
        SCOPED_TRACE(std::string(kind.name) + ", step " + std::to_string(step));
        ASSERT_EQ(ours[step].moved, ours[step].least);
        ASSERT_LE(ours[step].after.peak, uniform[step].after.peak);
        ASSERT_LE(ours[step].after.cv, uniform[step].after.cv + 1e-9);
        moved += ours[step].moved;
      }
    }
  }
  EXPECT_GT(moved, 10'000u);
}

TEST(AssignerTest, MovesTheLeastPossibleByWeights) {
  Trace trace = *make_trace("walk:60", 12, Names::shuffled, 3);
  for (std::size_t i = 0; i < trace.roster.size(); ++i) {
    trace.roster[i].weight = 1 + static_cast<std::uint32_t>(i % 4);
  }
  std::uint64_t moved = 0;
  for (const Report& report : reports_of("assigner", trace, 3)) {
    ASSERT_EQ(report.moved, report.least);
    moved += report.moved;
  }
  EXPECT_GT(moved, 1024u);
}

TEST(AssignerTest, SharesAreFloorsAndCeilings) {
  Rig rig("assigner", kPartitions, {{"a", 1}, {"b", 2}, {"c", 4}}, 3);
  EXPECT_EQ(rig.loads()[0] + rig.loads()[1] + rig.loads()[2], kPartitions);
  for (MemberId member = 0; member < 3; ++member) {
    const std::uint64_t product = kPartitions * rig.roster[member].weight;
    EXPECT_GE(rig.loads()[member], product / 7);
    EXPECT_LE(rig.loads()[member], product / 7 + 1);
  }
}

}  // namespace
}  // namespace neliroute::placement
