#include "tests/sim/seeds/fresh_seeds.h"

#include <array>
#include <cstdio>
#include <cstdlib>

namespace neliroute::sim {
namespace {

/// Above every seed that was run by hand.
constexpr std::uint64_t kFirst = 10'000'000;
/// More than one run takes.
constexpr std::uint64_t kApart = 1'000'000;
constexpr std::size_t kDigits = 10;

}  // namespace

std::uint64_t first_seed_of(const std::string& commit) {
  const std::string digits = commit.substr(0, kDigits);
  const bool hash = digits.size() == kDigits &&
                    digits.find_first_not_of("0123456789abcdef") == std::string::npos;
  return hash ? kFirst + std::strtoull(digits.c_str(), nullptr, 16) * kApart : kFirst;
}

FreshSeeds fresh_seeds(const std::string& folder) {
  FreshSeeds seeds;
  const std::string command = "git -C '" + folder + "' rev-parse HEAD 2>/dev/null";
  if (std::FILE* git = ::popen(command.c_str(), "r")) {
    std::array<char, 128> line{};
    if (std::fgets(line.data(), line.size(), git) != nullptr) seeds.commit = line.data();
    ::pclose(git);
  }
  seeds.commit = seeds.commit.substr(0, seeds.commit.find('\n'));
  seeds.first = first_seed_of(seeds.commit);
  return seeds;
}

}  // namespace neliroute::sim
