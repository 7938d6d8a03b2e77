#include "tests/sim/seeds/mutants.h"

#include <array>
#include <cstdio>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>

#include "tests/mutants/mutations.h"

namespace neliroute::sim {

#ifndef NELIROUTE_MUTATIONS

bool mutate(const std::string&) { return false; }
bool mutation_table(const CampaignOptions&) { return false; }
bool check_pinned(const std::string&, bool) { return false; }

#else
namespace {

/// Clauses that are redundant alone are broken together.
constexpr std::array<std::string_view, 2> kPairs{"superseded+stale",
                                                 "claim_while_draining+claim_gives_up"};

/// From this one on they are of non-exclusive mode alone.
bool is_of_non_exclusive(std::string_view names) {
  const auto place = mutation_named(names.substr(0, names.find('+')));
  return place >= Mutation::stop_at_claim && place < Mutation::silence_by_reader;
}

/// Their clauses are those of a member that assigns, and of nobody else.
bool is_of_assigner(std::string_view name) {
  return mutation_named(name) >= Mutation::silence_by_reader;
}

std::string first_words(const std::string& text) {
  std::string words = text.substr(0, text.find(", at "));
  for (char& c : words) {
    if (c == '|') c = '/';
  }
  return words;
}

bool row(const CampaignOptions& options, const std::string& names) {
  if (!mutate(names)) return false;
  bool noticed = false;
  const bool both = !is_of_non_exclusive(names);
  for (const Mode mode : {Mode::exclusive, Mode::non_exclusive}) {
    if (mode == Mode::exclusive && !both) continue;
    Campaign campaign(options, mode);
    if (campaign.run()) continue;
    noticed = true;
    std::printf("| `%s` | %s | %llu | %s |\n", names.c_str(),
                std::string(neliroute::to_string(mode)).c_str(),
                static_cast<unsigned long long>(campaign.first_failed()),
                first_words(campaign.broken().broken).c_str());
    break;
  }
  if (!noticed) {
    std::printf("| `%s` | %s | none of %llu | |\n", names.c_str(), both ? "both" : "non_exclusive",
                static_cast<unsigned long long>(options.seeds));
  }
  std::fflush(stdout);
  return noticed;
}

/// Whether the line's seed notices its mutation; nothing if it is no such line. Where an assumption
/// does not hold, the fenced store must notice: two may lead there.
std::optional<bool> check_line(const std::string& line, bool assigner) {
  std::istringstream words(line);
  std::string names;
  std::string mode;
  std::string beyond;
  Request request;
  request.assigner = assigner;
  if (!(words >> names >> mode >> request.seed) || !mutate(names)) return std::nullopt;
  words >> beyond;
  const auto set = parse_beyond(beyond);
  const auto named = mode_named(mode);
  if (!set || !named) return std::nullopt;
  request.beyond = *set;
  request.mode = *named;
  World world(make_plan(request));
  const std::string broken = world.run().broken;
  const bool noticed = set->empty() ? !broken.empty() : broken.starts_with("the store");
  std::printf("%s: %s%s\n", line.c_str(), noticed ? "" : "NOT NOTICED ", broken.c_str());
  return noticed;
}

}  // namespace

bool mutate(const std::string& names) { return neliroute::mutate(names); }

bool mutation_table(const CampaignOptions& options) {
  std::printf("| mutation | mode | first seed | what it breaks |\n|---|---|---|---|\n");
  bool all = true;
  for (const std::string_view name : kMutationNames) {
    if (is_of_assigner(name) == options.request.assigner) all &= row(options, std::string(name));
  }
  if (options.request.assigner) return all;
  for (const std::string_view pair : kPairs) all &= row(options, std::string(pair));
  return all;
}

bool check_pinned(const std::string& file, bool assigner) {
  std::ifstream pinned(file);
  int checked = 0;
  bool all = true;
  for (std::string line; std::getline(pinned, line); ++checked) {
    const auto noticed = check_line(line, assigner);
    if (!noticed) {
      std::printf("%s: line %d is none of MUTATION MODE SEED [BEYOND]\n", file.c_str(),
                  checked + 1);
      return false;
    }
    all &= *noticed;
  }
  return all && checked > 0;
}

#endif

}  // namespace neliroute::sim
