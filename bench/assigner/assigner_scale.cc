// What a large lane costs where one of its members assigns, and how long it takes to heal: in
// simulated time, on logs in memory. Every record is written and read by the codec.
//
//     assigner_scale [--members 1000] [--whole 20] [--partitions 4096] [--logs 4] [--seed 1]
//                    [--interval-ms 500] [--session-ms 2500] [--deaths 1,10,100] [--json FILE]
//
// --whole says how many members are the state machine itself, which reads every record; the others
// are streams of records (streamed_members.h). --against-whole runs the same lane with whole
// members only as well, and fails if what the two write at rest differs by more than 2 %, or when
// they heal by more than an interval. Records, bytes and times depend on the options alone. CPU
// time is this machine's.
#include <sys/resource.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <boost/json/array.hpp>
#include <boost/json/object.hpp>
#include <boost/json/serialize.hpp>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "bench/assigner/simulated_lane.h"
#include "neli_core/timing.h"

namespace neliroute::scale {
namespace {

struct Options {
  LaneOptions lane;
  std::int64_t rest_ms = 5000;
  std::vector<std::uint32_t> deaths{1, 10, 100};
  bool with_assigner = false;
  bool against_whole = false;
  std::string json;
};

/// What was found of one lane.
struct Found {
  std::int64_t led_ms = 0;
  double longest_start_ms = 0;
  AtRest rest;
  std::vector<Healed> healed;
  AtRest after;  ///< at rest when all have died: what a member owns is less in one piece then
};

int fail(const std::string& why) {
  std::fprintf(stderr, "assigner_scale: error: %s\n", why.c_str());
  return 1;
}

/// What this process had at most: whole members are many here.
std::int64_t peak_resident_bytes() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return std::int64_t{usage.ru_maxrss} * 1024;
}

double sum(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

double in_sessions(const Healed& healed, const LaneOptions& lane) {
  return healed.after ? static_cast<double>(healed.after->count()) /
                            static_cast<double>(lane.session.count())
                      : -1;
}

Result<Found> measure(const Options& options) {
  auto made = SimulatedLane::make(options.lane);
  if (!made) return made.error();
  SimulatedLane& lane = **made;
  const auto led = lane.run_until_led();
  if (!led) return Error(Errc::bad_option, "not everything was led within a minute");
  Found found;
  found.led_ms = led->count();
  found.longest_start_ms = lane.take_longest_turn_ms();
  lane.run_for(2 * options.lane.session);
  found.rest = lane.at_rest(milliseconds{options.rest_ms});
  for (const std::uint32_t deaths : options.deaths) {
    if (deaths + 1 >= lane.living()) break;
    found.healed.push_back(lane.kill(deaths, options.with_assigner));
    lane.run_for(3 * options.lane.session);
  }
  found.after = lane.at_rest(milliseconds{options.rest_ms});
  return found;
}

void print_cost(const char* who, const MemberCost& cost, double decoding) {
  std::printf(
      "  %s: %.2f %% of a core (state machine %.2f, directory %.2f, decoding %.2f), "
      "heap %.2f MiB and %.2f for the directory\n",
      who, cost.core_percent + cost.directory_percent + decoding, cost.core_percent,
      cost.directory_percent, decoding, cost.core_bytes / 1048576, cost.directory_bytes / 1048576);
}

void print(const Options& options, const Found& found) {
  const LaneOptions& lane = options.lane;
  std::printf(
      "%u members (%u whole), %u partitions, %u logs, interval %lld ms, session %lld ms: "
      "all led after %lld ms, longest turn %.1f ms of CPU time\n",
      lane.members, lane.whole, lane.partitions, lane.logs,
      static_cast<long long>(lane.interval.count()), static_cast<long long>(lane.session.count()),
      static_cast<long long>(found.led_ms), found.longest_start_ms);
  for (std::size_t l = 0; l < found.rest.records_s.size(); ++l) {
    std::printf("  log %zu: %7.0f records a second, %9.0f bytes\n", l, found.rest.records_s[l],
                found.rest.bytes_s[l]);
  }
  std::printf("  each reader: %.0f records a second, %.0f bytes\n", sum(found.rest.records_s),
              sum(found.rest.bytes_s));
  print_cost("a whole member", found.rest.member, found.rest.decoding_percent);
  print_cost("the assigner  ", found.rest.assigner, found.rest.decoding_percent);
  std::printf("  this process: %lld MiB at most\n",
              static_cast<long long>(peak_resident_bytes() >> 20));
  for (const Healed& healed : found.healed) {
    std::printf(
        "  %u died at once%s, %u partitions unowned: led again after %lld ms, "
        "%.2f x session; longest turn %.1f ms\n",
        healed.deaths, options.with_assigner ? ", the assigner among them" : "", healed.unowned,
        healed.after ? static_cast<long long>(healed.after->count()) : -1LL,
        in_sessions(healed, lane), healed.longest_turn_ms);
  }
}

boost::json::object to_json(const MemberCost& cost) {
  return {{"core_percent", cost.core_percent},
          {"directory_percent", cost.directory_percent},
          {"core_bytes", cost.core_bytes},
          {"directory_bytes", cost.directory_bytes}};
}

boost::json::object to_json(const AtRest& rest) {
  boost::json::array logs;
  for (std::size_t l = 0; l < rest.records_s.size(); ++l) {
    logs.push_back(boost::json::object{{"records_per_s", rest.records_s[l]},
                                       {"bytes_per_s", rest.bytes_s[l]}});
  }
  return {{"logs", logs},
          {"decoding_percent", rest.decoding_percent},
          {"member", to_json(rest.member)},
          {"assigner", to_json(rest.assigner)}};
}

boost::json::object to_json(const Options& options, const Found& found) {
  const LaneOptions& lane = options.lane;
  boost::json::array healed;
  for (const Healed& one : found.healed) {
    healed.push_back(boost::json::object{{"deaths", one.deaths},
                                         {"unowned", one.unowned},
                                         {"led_again_ms", one.after ? one.after->count() : -1},
                                         {"sessions", in_sessions(one, lane)},
                                         {"longest_turn_ms", one.longest_turn_ms}});
  }
  return {{"members", lane.members},
          {"whole", lane.whole},
          {"partitions", lane.partitions},
          {"logs", lane.logs},
          {"interval_ms", lane.interval.count()},
          {"session_ms", lane.session.count()},
          {"delay_ms", lane.delay.count()},
          {"seed", lane.seed},
          {"with_assigner", options.with_assigner},
          {"led_ms", found.led_ms},
          {"longest_start_ms", found.longest_start_ms},
          {"peak_resident_bytes", peak_resident_bytes()},
          {"at_rest", to_json(found.rest)},
          {"healed", healed},
          {"after", to_json(found.after)}};
}

/// Empty: the streams write what whole members write.
std::string difference(const Options& options, const Found& streamed, const Found& whole) {
  constexpr double kTolerance = 0.02;
  const auto differs = [](double a, double b) { return std::abs(a - b) > kTolerance * b; };
  for (std::size_t l = 0; l < whole.rest.records_s.size(); ++l) {
    if (differs(streamed.rest.records_s[l], whole.rest.records_s[l]) ||
        differs(streamed.rest.bytes_s[l], whole.rest.bytes_s[l])) {
      return "log " + std::to_string(l) + ": streamed members write " +
             std::to_string(streamed.rest.bytes_s[l]) + " bytes a second, whole ones " +
             std::to_string(whole.rest.bytes_s[l]);
    }
  }
  for (std::size_t i = 0; i < whole.healed.size(); ++i) {
    const auto& [ours, theirs] = std::pair(streamed.healed[i].after, whole.healed[i].after);
    if (!ours || !theirs) return "a lane did not heal";
    constexpr milliseconds kOfRounds{100};  // and as much as phases of renewals differ
    if (std::chrono::abs(*ours - *theirs) <= options.lane.interval + kOfRounds) continue;
    return "led again after " + std::to_string(ours->count()) + " ms beside streamed members, " +
           std::to_string(theirs->count()) + " ms with whole ones";
  }
  return {};
}

Options parse(int argc, char** argv) {
  Options options;
  LaneOptions& lane = options.lane;
  std::int64_t interval = lane.interval.count();
  std::int64_t session = lane.session.count();
  std::int64_t delay = lane.delay.count();
  CLI::App app{"The cost of an assigner's lane, and how long it takes to heal, in simulated time."};
  app.add_option("--members", lane.members)->check(CLI::Range(1, 20'000));
  app.add_option("--whole", lane.whole, "so many are whole, at least 5; the rest are streamed")
      ->check(CLI::Range(5, 20'000));
  app.add_option("--partitions", lane.partitions)->check(CLI::Range(1, 65'536));
  app.add_option("--logs", lane.logs)->check(CLI::Range(1, 64));
  app.add_option("--interval-ms", interval)->check(CLI::Range(1, 60'000));
  app.add_option("--session-ms", session)->check(CLI::Range(300, 600'000));
  app.add_option("--delay-ms", delay, "from a write to its readers")->check(CLI::Range(0, 1000));
  app.add_option("--seed", lane.seed, "of identities, phases and deaths");
  app.add_option("--rest-ms", options.rest_ms, "measured at rest")->check(CLI::Range(1, 600'000));
  app.add_option("--deaths", options.deaths, "at once, one after the other")->delimiter(',');
  app.add_flag("--with-assigner", options.with_assigner, "it is among the dead each time");
  app.add_flag("--against-whole", options.against_whole, "compare with whole members only");
  app.add_option("--json", options.json, "also write all figures there");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::exit(app.exit(error));
  }
  lane.whole = std::min(lane.whole, lane.members);
  lane.interval = milliseconds{interval};
  lane.session = milliseconds{session};
  lane.delay = milliseconds{delay};
  return options;
}

int run(Options options) {
  TimingRequest request;
  request.assignment = Assignment::assigner;
  request.session = options.lane.session;
  request.interval = options.lane.interval;
  const auto timing = derive_timing(request, {});
  if (!timing) return fail(timing.error().message());
  options.lane.lease = timing->lease;
  if (options.lane.partitions < options.lane.members) {
    return fail(
        "--partitions must be at least --members: whoever is given nothing is junior, and "
        "streamed members cannot assign");
  }
  const auto found = measure(options);
  if (!found) return fail(found.error().message());
  print(options, *found);
  if (!options.json.empty()) {
    std::ofstream(options.json) << boost::json::serialize(to_json(options, *found)) << '\n';
  }
  for (const Healed& healed : found->healed) {
    if (!healed.after) return fail("not everything was led again");
  }
  if (!options.against_whole) return 0;
  Options other = options;
  other.lane.whole = options.lane.members;
  const auto whole = measure(other);
  if (!whole) return fail(whole.error().message());
  print(other, *whole);
  const std::string differs = difference(options, *found, *whole);
  return differs.empty() ? 0 : fail(differs);
}

}  // namespace
}  // namespace neliroute::scale

int main(int argc, char** argv) {
  return neliroute::scale::run(neliroute::scale::parse(argc, argv));
}
