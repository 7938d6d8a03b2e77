// How evenly leaders are spread after restarts, with priorities and with random timeouts: the
// benchmark of Zeebe's "Priority based election". A run is balanced where no node leads more than
// its share of the logs, rounded up; with one node dead, one more.
#include <algorithm>
#include <array>
#include <boost/json.hpp>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "bench/leaders/elections.h"

namespace {

using namespace neliroute;
using bench::Elections;
using bench::Shape;
using bench::Timeouts;

struct Course {
  std::string_view name;
  /// What happens until the leaders are counted; returns how long logs had no leader.
  milliseconds (*happens)(Elections&, const Shape&);
  std::uint32_t dead = 0;
};

/// All nodes, within this time.
milliseconds start_all(Elections& elections, const Shape& shape, std::int64_t within_ms) {
  std::vector<std::pair<std::int64_t, std::uint32_t>> starts;
  for (std::uint32_t node = 0; node < shape.nodes; ++node) {
    starts.emplace_back(elections.chance().between(0, within_ms), node);
  }
  std::ranges::sort(starts);
  std::int64_t passed = 0;
  for (const auto& [at, node] : starts) {
    elections.run_for(milliseconds(at - passed));
    passed = at;
    elections.start(node);
  }
  return elections.wait_led();
}

milliseconds together(Elections& elections, const Shape& shape) {
  return start_all(elections, shape, 200);
}

milliseconds apart(Elections& elections, const Shape& shape) {
  return start_all(elections, shape, 3000);
}

milliseconds one_dies(Elections& elections, const Shape& shape) {
  start_all(elections, shape, 200);
  elections.run_for(milliseconds(2000));
  elections.stop(static_cast<std::uint32_t>(elections.chance().between(0, shape.nodes - 1)));
  return elections.wait_led();
}

milliseconds rolling(Elections& elections, const Shape& shape) {
  start_all(elections, shape, 200);
  milliseconds longest{0};
  for (std::uint32_t node = 0; node < shape.nodes; ++node) {
    elections.run_for(milliseconds(elections.chance().between(2000, 3000)));
    elections.stop(node);
    longest = std::max(longest, elections.wait_led());
    elections.run_for(milliseconds(elections.chance().between(1000, 2000)));
    elections.start(node);
  }
  return longest;
}

constexpr std::array kShapes{Shape{3, 6, 3}, Shape{4, 12, 3}, Shape{5, 10, 5}};
constexpr std::array kCourses{Course{"all start within 0.2 s", together},
                              Course{"all start within 3 s", apart},
                              Course{"one dies", one_dies, 1},
                              Course{"restarts one by one", rolling}};

boost::json::object measure(const Shape& shape, const Course& course, Timeouts timeouts,
                            std::uint64_t seeds) {
  const std::uint32_t alive = shape.nodes - course.dead;
  const std::uint32_t share = (shape.logs + alive - 1) / alive + course.dead;
  std::uint64_t balanced = 0;
  std::uint64_t most_sum = 0;
  std::vector<std::int64_t> unled_ms;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    Elections elections(shape, timeouts, seed);
    unled_ms.push_back(course.happens(elections, shape).count());
    elections.run_for(milliseconds(3000));
    const std::uint32_t most = std::ranges::max(elections.leaders());
    balanced += most <= share ? 1U : 0U;
    most_sum += most;
  }
  std::ranges::sort(unled_ms);
  const auto count = static_cast<double>(seeds);
  return {{"nodes", shape.nodes},
          {"logs", shape.logs},
          {"replicas", shape.replicas},
          {"course", course.name},
          {"timeouts", timeouts == Timeouts::priorities ? "priorities" : "random"},
          {"most_allowed", share},
          {"balanced", static_cast<double>(balanced) / count},
          {"most_mean", static_cast<double>(most_sum) / count},
          {"unled_ms_median", unled_ms[unled_ms.size() / 2]},
          {"unled_ms_worst", unled_ms.back()}};
}

}  // namespace

int main(int argc, char** argv) {
  std::uint64_t seeds = 300;
  std::string out;
  for (int i = 1; i + 1 < argc; i += 2) {
    const std::string_view name = argv[i];
    if (name == "--seeds") seeds = std::strtoull(argv[i + 1], nullptr, 10);
    if (name == "--json") out = argv[i + 1];
  }
  if (argc % 2 == 0 || seeds == 0) {
    std::fputs("usage: leaders [--seeds N] [--json FILE]\n", stderr);
    return 2;
  }
  boost::json::array rows;
  for (const Shape& shape : kShapes) {
    for (const Course& course : kCourses) {
      for (const Timeouts timeouts : {Timeouts::priorities, Timeouts::random}) {
        boost::json::object row = measure(shape, course, timeouts, seeds);
        std::printf("%s\n", boost::json::serialize(row).c_str());
        std::fflush(stdout);
        rows.push_back(std::move(row));
      }
    }
  }
  const boost::json::object whole{{"seeds", seeds}, {"election_ms", bench::kElection.count()},
                                  {"rows", rows}};
  if (!out.empty() && !(std::ofstream(out) << whole << '\n')) {
    std::fprintf(stderr, "leaders: error: cannot write %s\n", out.c_str());
    return 1;
  }
  return 0;
}
