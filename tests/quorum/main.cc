// Runs seeds of the quorum's simulator. Exit code 0: nothing was broken; 1: something; 2: usage.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>
#include <string_view>

#include "tests/quorum/mutations.h"
#include "tests/quorum/world.h"
#include "tests/sim/seeds/fresh_seeds.h"

namespace {

constexpr const char* kUsage = R"(usage: neliroute_quorum_sim [OPTION]...
  --seeds N           how many (default 1000); a third has 5 voters, some have 1, the others 3
  --from S            the first one (default 1); `commit`: one that follows from the commit of the
                      folder --source
  --seed S            this one alone, told step by step
  --keep-going        do not stop at the first that breaks something
  --must-break        exit code 0 where something was broken
  --mutation NAME     break this clause on purpose
  --mutation-table    for each mutation the first seed that notices
)";

using namespace neliroute::quorum;

int voters_of(std::uint64_t seed) { return seed % 10 == 9 ? 1 : seed % 3 == 0 ? 5 : 3; }

struct Arguments {
  std::uint64_t from = 1;
  std::uint64_t seeds = 1000;
  std::string source = ".";
  bool fresh = false;
  bool one = false;
  bool keep_going = false;
  bool table = false;
  bool must_break = false;
};

[[noreturn]] void refuse(const std::string& what) {
  std::fprintf(stderr, "%squorum_sim: error: %s\n", kUsage, what.c_str());
  std::exit(2);
}

std::uint64_t number(const char* text) {
  char* end = nullptr;
  const auto value = std::strtoull(text, &end, 10);
  if (end == text || *end != '\0') refuse(std::string(text) + " is no number");
  return value;
}

Arguments parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string_view name = argv[i];
    const auto value = [&] {
      if (++i == argc) refuse(std::string(name) + " needs a value");
      return argv[i];
    };
    if (name == "--seeds") {
      arguments.seeds = number(value());
    } else if (name == "--from") {
      const std::string_view from = value();
      arguments.fresh = from == "commit";
      arguments.from = arguments.fresh ? 0 : number(argv[i]);
    } else if (name == "--source") {
      arguments.source = value();
    } else if (name == "--seed") {
      arguments.from = number(value());
      arguments.seeds = 1;
      arguments.one = true;
    } else if (name == "--keep-going") {
      arguments.keep_going = true;
    } else if (name == "--mutation") {
      if (!mutate(value())) refuse("there is no mutation " + std::string(argv[i]));
    } else if (name == "--must-break") {
      arguments.must_break = true;
    } else if (name == "--mutation-table") {
      arguments.table = true;
    } else {
      refuse("what is " + std::string(name) + "?");
    }
  }
  return arguments;
}

/// What happened, by name, of all seeds.
void add(std::map<std::string_view, std::uint64_t>& sum, const sim::Figures& one) {
  sum["elections"] += one.elections;
  sum["entries committed"] += one.committed;
  sum["crashes"] += one.crashes;
  sum["disks lost"] += one.lost_disks;
  sum["disks back"] += one.returned_disks;
  sum["voters admitted"] += one.admitted;
  sum["voters restarted"] += one.restarts;
  sum["leaders confirmed"] += one.confirmed;
  sum["voters replaced"] += one.replaced;
}

int run(const Arguments& arguments) {
  std::map<std::string_view, std::uint64_t> sum;
  std::uint64_t broken = 0;
  for (std::uint64_t seed = arguments.from; seed < arguments.from + arguments.seeds; ++seed) {
    sim::World world(seed, voters_of(seed));
    if (arguments.one) world.trace();
    const auto why = world.run();
    add(sum, world.figures());
    if (!why) continue;
    ++broken;
    std::printf("seed %llu, %d voters: %s\n", static_cast<unsigned long long>(seed),
                voters_of(seed), why->c_str());
    if (!arguments.keep_going) break;
  }
  std::printf("%llu seeds from %llu, %llu broken",
              static_cast<unsigned long long>(arguments.seeds),
              static_cast<unsigned long long>(arguments.from),
              static_cast<unsigned long long>(broken));
  bool too_little = false;
  for (const auto& [what, count] : sum) {
    std::printf("; %s %llu", std::string(what).c_str(), static_cast<unsigned long long>(count));
    too_little = too_little || count == 0;
  }
  std::puts("");
  if (broken == 0 && arguments.seeds >= 100 && too_little) {
    std::puts("TOO LITTLE happened");
    return 1;
  }
  return (broken == 0) == arguments.must_break ? 1 : 0;
}

int table(const Arguments& arguments) {
  int unnoticed = 0;
  for (const auto name : kMutationNames) {
    mutate(name);
    bool noticed = false;
    for (std::uint64_t seed = arguments.from; seed < arguments.from + arguments.seeds; ++seed) {
      sim::World world(seed, voters_of(seed));
      if (const auto why = world.run()) {
        std::printf("%s %llu  %s\n", std::string(name).c_str(),
                    static_cast<unsigned long long>(seed), why->c_str());
        noticed = true;
        break;
      }
    }
    if (!noticed) {
      std::printf("%s: NOT NOTICED\n", std::string(name).c_str());
      ++unnoticed;
    }
    std::fflush(stdout);
  }
  return unnoticed == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  Arguments arguments = parse(argc, argv);
  if (arguments.fresh) arguments.from = neliroute::sim::fresh_seeds(arguments.source).first;
  return arguments.table ? table(arguments) : run(arguments);
}
