#include "tests/sim/beyond.h"

#include <array>
#include <cstdio>
#include <fstream>

#include "tests/sim/plan.h"
#include "tests/sim/world/world.h"

namespace neliroute::sim {

std::string_view to_string(Beyond what) noexcept {
  static constexpr std::array<std::string_view, kBeyondCount> kNames{"expelled_unnoticed",
                                                                     "clocks", "session", "grace",
                                                                     "broker_clocks",
                                                                     "lost_records"};
  return kNames[static_cast<std::size_t>(what)];
}

std::optional<BeyondSet> parse_beyond(std::string_view names) {
  BeyondSet set;
  while (!names.empty()) {
    const auto plus = names.find('+');
    const std::string_view name = names.substr(0, plus);
    bool known = false;
    for (std::size_t i = 0; i < kBeyondCount; ++i) {
      if (to_string(static_cast<Beyond>(i)) != name) continue;
      set.add(static_cast<Beyond>(i));
      known = true;
    }
    if (!known) return std::nullopt;
    names = plus == std::string_view::npos ? std::string_view{} : names.substr(plus + 1);
  }
  return set;
}

std::string to_string(const BeyondSet& set) {
  std::string text;
  for (std::size_t i = 0; i < kBeyondCount; ++i) {
    const auto what = static_cast<Beyond>(i);
    if (set.has(what)) text += (text.empty() ? "" : "+") + std::string(to_string(what));
  }
  return text;
}

bool check_beyond(const std::string& file) {
  std::ifstream pinned(file);
  std::string names;
  std::uint64_t seed = 0;
  int checked = 0;
  bool all = true;
  while (pinned >> names >> seed) {
    const auto beyond = parse_beyond(names);
    if (!beyond) return false;
    Request request;
    request.seed = seed;
    request.variation = Variation::broadcast;
    request.beyond = *beyond;
    World world(make_plan(request));
    const Outcome outcome = world.run();
    const bool two = outcome.broken.rfind("two leaders", 0) == 0;
    std::printf("%s %llu: %s\n", names.c_str(), static_cast<unsigned long long>(seed),
                outcome.broken.empty() ? "NOTHING BROKE" : outcome.broken.c_str());
    all &= two;
    ++checked;
  }
  return all && checked > 0;
}

}  // namespace neliroute::sim
