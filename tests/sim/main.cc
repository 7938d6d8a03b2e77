// Runs seeds, and says what they exercised. Exit code 0: none broke anything; 1: one did; 2: usage.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "tests/sim/minimise.h"
#include "tests/sim/plan.h"
#include "tests/sim/world.h"

namespace neliroute::sim {
namespace {

constexpr const char* kUsage = R"(usage: scripts/sim [OPTION]...
  --seeds N            how many seeds (default 1000), each in the given mode
  --from S             the first one (default 1)
  --jobs J             how many at once (default 1)
  --mode MODE          exclusive, non_exclusive (default: both)
  --seed S             this seed alone
  --trace              tell everything that happens (with --seed)
  --without KIND,...   leave these kinds of fault out
  --all-faults         every kind that the mode allows, instead of what the seed draws
  --processes N  --partitions N  --logs N  --profile fast|balanced|steady  --chaos MSms
  --no-minimise        report a failing seed as it is
  --keep-going         do not stop at the first failing seed; name each
  --quiet              only the last lines
)";

struct Arguments {
  Request request;
  std::uint64_t seeds = 1000;
  std::uint64_t from = 1;
  unsigned jobs = 1;
  std::vector<Mode> modes{Mode::exclusive, Mode::non_exclusive};
  bool minimise = true;
  bool quiet = false;
  bool keep_going = false;
};

[[noreturn]] void refuse(const std::string& what) {
  std::fprintf(stderr, "%ssim: error: %s\n", kUsage, what.c_str());
  std::exit(2);
}

FaultSet faults_of(std::string_view names) {
  FaultSet set;
  while (!names.empty()) {
    const auto comma = names.find(',');
    const std::string_view name = names.substr(0, comma);
    bool known = false;
    for (std::size_t i = 0; i < kFaultCount; ++i) {
      if (to_string(static_cast<Fault>(i)) != name) continue;
      set.add(static_cast<Fault>(i));
      known = true;
    }
    if (!known) refuse("no kind of fault: " + std::string(name));
    names = comma == std::string_view::npos ? std::string_view{} : names.substr(comma + 1);
  }
  return set;
}

std::uint64_t number_of(const std::string& text) {
  char* end = nullptr;
  const std::uint64_t number = std::strtoull(text.c_str(), &end, 10);
  const std::string_view rest{end};
  if (end == text.c_str() || !(rest.empty() || rest == "ms")) refuse("not a number: " + text);
  return number;
}

void read_option(Arguments& arguments, const std::string& name, const std::string& value) {
  Request& request = arguments.request;
  const auto small = [&] { return static_cast<std::uint32_t>(number_of(value)); };
  if (name == "--seeds") {
    arguments.seeds = number_of(value);
  } else if (name == "--from") {
    arguments.from = number_of(value);
  } else if (name == "--jobs") {
    arguments.jobs = std::max(1U, small());
  } else if (name == "--seed") {
    arguments.from = number_of(value);
    arguments.seeds = 1;
  } else if (name == "--mode") {
    if (value != "exclusive" && value != "non_exclusive") refuse("no mode: " + value);
    arguments.modes = {value == "exclusive" ? Mode::exclusive : Mode::non_exclusive};
  } else if (name == "--without") {
    request.without = faults_of(value);
  } else if (name == "--processes") {
    request.processes = small();
    if (*request.processes < 1 || *request.processes > kNodesMax) refuse("1 to 16 processes");
  } else if (name == "--partitions") {
    request.partitions = small();
    if (*request.partitions < 1 || *request.partitions > kPartitionsMax) {
      refuse("1 to 16 partitions");
    }
  } else if (name == "--logs") {
    request.logs = small();
    if (*request.logs < 1 || *request.logs > kLogsMax) refuse("1 to 4 logs");
  } else if (name == "--profile") {
    request.profile = parse_profile(value);
    if (!request.profile) refuse("no profile: " + value);
  } else if (name == "--chaos") {
    request.chaos = static_cast<Time>(number_of(value)) * kMs;
  } else {
    refuse("unknown option: " + name);
  }
}

Arguments read_arguments(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--help" || name == "-h") {
      std::fputs(kUsage, stdout);
      std::exit(0);
    } else if (name == "--trace") {
      arguments.request.trace = true;
    } else if (name == "--all-faults") {
      arguments.request.all_faults = true;
    } else if (name == "--no-minimise") {
      arguments.minimise = false;
    } else if (name == "--keep-going") {
      arguments.keep_going = true;
    } else if (name == "--quiet") {
      arguments.quiet = true;
    } else if (i + 1 < argc) {
      read_option(arguments, name, argv[++i]);
    } else {
      refuse(name + " needs a value, or is no option");
    }
  }
  return arguments;
}

void add(Outcome& sum, const Outcome& one) {
  for (std::size_t i = 0; i < kFaultCount; ++i) sum.faults[i] += one.faults[i];
  sum.events += one.events;
  sum.records += one.records;
  sum.starts += one.starts;
  sum.transitions += one.transitions;
  sum.gaps += one.gaps;
  sum.lapses += one.lapses;
  sum.expelled += one.expelled;
  sum.rebalances += one.rebalances;
  sum.unowned += one.unowned;
  sum.longest_unowned = std::max(sum.longest_unowned, one.longest_unowned);
  sum.simulated += one.simulated;
}

/// Seeds of one mode, on several threads; the smallest failing seed is the one reported.
class Campaign {
 public:
  Campaign(const Arguments& arguments, Mode mode) : arguments_(arguments) {
    request_ = arguments.request;
    request_.mode = mode;
  }

  bool run() {
    const std::clock_t started = std::clock();
    std::vector<std::thread> threads;
    for (unsigned j = 0; j < arguments_.jobs; ++j) threads.emplace_back([this] { work(); });
    for (std::thread& thread : threads) thread.join();
    report(static_cast<double>(std::clock() - started) / CLOCKS_PER_SEC);
    return failed_ == 0;
  }

 private:
  void work() {
    for (;;) {
      const std::uint64_t i = next_.fetch_add(1);
      if (i >= arguments_.seeds) return;
      if (!arguments_.keep_going && stop_at_ < arguments_.from + i) return;
      Request request = request_;
      request.seed = arguments_.from + i;
      World world(make_plan(request));
      const Outcome outcome = world.run();
      const std::lock_guard lock(mutex_);
      add(sum_, outcome);
      ++done_;
      if (outcome.broken.empty()) continue;
      ++failed_;
      if (arguments_.keep_going) {
        std::printf("seed %llu: %s\n", static_cast<unsigned long long>(request.seed),
                    outcome.broken.c_str());
      }
      if (request.seed < stop_at_) {
        stop_at_ = request.seed;
        broken_ = outcome;
      }
    }
  }

  void report(double seconds) {
    if (failed_ > 0) {
      request_.seed = stop_at_;
      std::printf("BROKEN %s\n  again with: %s\n", broken_.broken.c_str(),
                  describe(make_plan(request_)).c_str());
      if (arguments_.minimise && !request_.trace) {
        const Minimised small = minimise(request_, broken_);
        std::printf("SMALLER (after %d runs) %s\n  again with: %s\n", small.runs,
                    small.outcome.broken.c_str(), describe(make_plan(small.request)).c_str());
      }
    }
    const double minutes = static_cast<double>(sum_.simulated) / (60.0 * kSecond);
    std::printf("%s: %llu seeds, %llu broken; %.0f simulated minutes in %.1f s of CPU time, %.0f "
                "a second\n",
                std::string(neliroute::to_string(request_.mode)).c_str(),
                static_cast<unsigned long long>(done_), static_cast<unsigned long long>(failed_),
                minutes, seconds, minutes / seconds);
    const auto line = [](const char* name, std::uint64_t n) {
      std::printf("  %-20s %llu\n", name, static_cast<unsigned long long>(n));
    };
    if (arguments_.quiet) return;
    std::printf("  %-20s %.1f s\n", "longest unowned",
                static_cast<double>(sum_.longest_unowned) / kSecond);
    line("times unowned", sum_.unowned);
    line("owners changed", sum_.transitions);
    line("events", sum_.events);
    line("records", sum_.records);
    line("starts", sum_.starts);
    line("rebalances", sum_.rebalances);
    line("members expelled", sum_.expelled);
    line("tail gaps", sum_.gaps);
    line("leases lapsed", sum_.lapses);
    std::printf(" faults:\n");
    for (std::size_t i = 0; i < kFaultCount; ++i) {
      line(std::string(to_string(static_cast<Fault>(i))).c_str(), sum_.faults[i]);
    }
  }

  const Arguments& arguments_;
  Request request_;
  std::atomic<std::uint64_t> next_{0};
  std::atomic<std::uint64_t> stop_at_{UINT64_MAX};
  std::mutex mutex_;
  Outcome sum_;
  Outcome broken_;
  std::uint64_t done_ = 0;
  std::uint64_t failed_ = 0;
};

}  // namespace
}  // namespace neliroute::sim

int main(int argc, char** argv) {
  using namespace neliroute::sim;
  const Arguments arguments = read_arguments(argc, argv);
  bool held = true;
  for (const neliroute::Mode mode : arguments.modes) held &= Campaign(arguments, mode).run();
  return held ? 0 : 1;
}
