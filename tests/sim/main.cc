// Runs seeds, and says what they exercised. Exit code 0: none broke anything; 1: one did; 2: usage.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "tests/sim/plan.h"
#include "tests/sim/seeds/campaign.h"
#include "tests/sim/seeds/fresh_seeds.h"
#include "tests/sim/seeds/mutants.h"

namespace neliroute::sim {
namespace {

constexpr const char* kUsage = R"(usage: scripts/sim [OPTION]...
  --seeds N            how many seeds (default 1000), each in the given mode
  --from S             the first one (default 1); `commit`: one that follows from the commit of
                       the folder --source (default: this one), other ones for every commit; or
                       from the date, where git tells of no commit
  --jobs J             how many at once (default 1)
  --mode MODE          exclusive, non_exclusive (default: both)
  --variation broadcast  the paper's own protocol instead of claimed
  --assignment assigner  a member assigns, instead of Kafka's group
  --store NAME         kafka (default), etcd, postgres, quorum: what keeps the logs; of all but
                       Kafka a member assigns
  --beyond NAME[+NAME]  of its assumptions in exclusive mode, drop expelled_unnoticed, clocks,
                       session, grace: then there must be two leaders; of claimed,
                       broker_clocks, lost_records: then only the store is judged, and the end
  --seed S             this seed alone
  --audit              the auditor reads the logs, too, and must find no broken rule
  --trace              tell everything that happens (with --seed)
  --without KIND,...   leave these kinds of fault out
  --with KIND,...      of these seeds only those that draw all of these kinds
  --all-faults         every kind that the mode allows, instead of what the seed draws
  --processes N  --partitions N  --logs N  --profile fast|balanced|steady  --chaos MSms
  --no-minimise        report a failing seed as it is
  --keep-going         do not stop at the first failing seed; name each
  --must-show          fail where too little happened, also if these options are why
  --quiet              only the last lines
  --mutation NAME[+NAME]  break these clauses of the protocol on purpose
  --mutation-table     for each mutation the first seed that notices, among --seeds N
  --pinned-beyond FILE  check that each line "NAME SEED" in it still shows two leaders
  --pinned FILE        check that the seeds in it, a line "MUTATION MODE SEED" each, still notice
)";

struct Arguments {
  CampaignOptions campaign;
  bool fresh = false;
  std::string source = ".";
  std::vector<Mode> modes{Mode::exclusive, Mode::non_exclusive};
  std::string pinned;
  std::string pinned_beyond;
  bool table = false;
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
  CampaignOptions& campaign = arguments.campaign;
  Request& request = campaign.request;
  const auto small = [&] { return static_cast<std::uint32_t>(number_of(value)); };
  if (name == "--seeds") {
    campaign.seeds = number_of(value);
  } else if (name == "--from") {
    arguments.fresh = value == "commit";
    if (!arguments.fresh) campaign.from = number_of(value);
  } else if (name == "--source") {
    arguments.source = value;
  } else if (name == "--jobs") {
    campaign.jobs = std::max(1U, small());
  } else if (name == "--seed") {
    campaign.from = number_of(value);
    campaign.seeds = 1;
  } else if (name == "--mode") {
    const auto mode = mode_named(value);
    if (!mode) refuse("no mode: " + value);
    arguments.modes = {*mode};
  } else if (name == "--variation") {
    if (value != "claimed" && value != "broadcast") refuse("no variation: " + value);
    request.variation = value == "broadcast" ? Variation::broadcast : Variation::claimed;
  } else if (name == "--assignment") {
    if (value != "group" && value != "assigner") refuse("no source of assignments: " + value);
    request.assigner = value == "assigner";
  } else if (name == "--store") {
    const auto store = store_named(value);
    if (!store) refuse("no store: " + value);
    request.store = *store;
  } else if (name == "--beyond") {
    const auto beyond = parse_beyond(value);
    if (!beyond) refuse("no assumption: " + value);
    request.beyond = *beyond;
  } else if (name == "--pinned-beyond") {
    arguments.pinned_beyond = value;
  } else if (name == "--mutation") {
    if (!mutate(value)) refuse("no mutation, or not built with any: " + value);
  } else if (name == "--pinned") {
    arguments.pinned = value;
  } else if (name == "--without") {
    request.without = faults_of(value);
  } else if (name == "--with") {
    campaign.with = faults_of(value);
  } else if (name == "--processes") {
    request.processes = small();
    if (*request.processes < 1 || *request.processes > kNodesMax) refuse("1 to 16 processes");
  } else if (name == "--partitions") {
    request.partitions = small();
    if (*request.partitions < 1 || *request.partitions > kPartitionsMax) {
      refuse("1 to 64 partitions");
    }
  } else if (name == "--logs") {
    request.logs = small();
    if (*request.logs < 1 || *request.logs > kLogsMax) refuse("1 to 8 logs");
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
  CampaignOptions& campaign = arguments.campaign;
  for (int i = 1; i < argc; ++i) {
    const std::string name = argv[i];
    if (name == "--help" || name == "-h") {
      std::fputs(kUsage, stdout);
      std::exit(0);
    } else if (name == "--trace") {
      campaign.request.trace = true;
    } else if (name == "--audit") {
      campaign.request.audit = true;
    } else if (name == "--all-faults") {
      campaign.request.all_faults = true;
    } else if (name == "--no-minimise") {
      campaign.minimise = false;
    } else if (name == "--keep-going") {
      campaign.keep_going = true;
    } else if (name == "--must-show") {
      campaign.must_show = true;
    } else if (name == "--quiet") {
      campaign.quiet = true;
    } else if (name == "--mutation-table") {
      arguments.table = true;
    } else if (i + 1 < argc) {
      read_option(arguments, name, argv[++i]);
    } else {
      refuse(name + " needs a value, or is no option");
    }
  }
  if (campaign.request.store != Store::kafka) campaign.request.assigner = true;
  return arguments;
}

}  // namespace
}  // namespace neliroute::sim

int main(int argc, char** argv) {
  using namespace neliroute::sim;
  Arguments arguments = read_arguments(argc, argv);
  if (arguments.fresh) {
    const FreshSeeds fresh = fresh_seeds(arguments.source);
    arguments.campaign.from = fresh.first;
    std::printf("commit %s: --from %llu\n",
                fresh.commit.empty() ? "none, so seeds of today" : fresh.commit.c_str(),
                static_cast<unsigned long long>(fresh.first));
  }
  if (!arguments.pinned_beyond.empty()) return check_beyond(arguments.pinned_beyond) ? 0 : 1;
  if (!arguments.pinned.empty()) {
    return check_pinned(arguments.pinned, arguments.campaign.request.assigner) ? 0 : 1;
  }
  if (arguments.table) return mutation_table(arguments.campaign) ? 0 : 1;
  bool held = true;
  for (const neliroute::Mode mode : arguments.modes) {
    Campaign campaign(arguments.campaign, mode);
    held &= campaign.run();
    campaign.report();
  }
  return held ? 0 : 1;
}
