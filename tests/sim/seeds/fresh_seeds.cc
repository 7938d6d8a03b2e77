#include "tests/sim/seeds/fresh_seeds.h"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <ctime>

namespace neliroute::sim {
namespace {

/// Above every seed that was run by hand.
constexpr std::uint64_t kFirst = 10'000'000;
/// More than one run takes.
constexpr std::uint64_t kApart = 1'000'000;
constexpr std::size_t kDigits = 10;

// Far apart for any two hashes; for what is no hash, it follows from the day.
std::uint64_t first_seed_of(const std::string& commit, std::uint64_t day) {
  const std::string digits = commit.substr(0, kDigits);
  const bool hash = digits.size() == kDigits &&
                    digits.find_first_not_of("0123456789abcdef") == std::string::npos;
  return kFirst + kApart * (hash ? std::strtoull(digits.c_str(), nullptr, 16) : day);
}

}  // namespace

FreshSeeds fresh_seeds(const std::string& folder) {
  FreshSeeds seeds;
  // Also of a tree that belongs to another user, as containers have it.
  const std::string command =
      "git -c 'safe.directory=*' -C '" + folder + "' rev-parse HEAD 2>/dev/null";
  if (std::FILE* git = ::popen(command.c_str(), "r")) {
    std::array<char, 128> line{};
    if (std::fgets(line.data(), line.size(), git) != nullptr) seeds.commit = line.data();
    ::pclose(git);
  }
  seeds.commit = seeds.commit.substr(0, seeds.commit.find('\n'));
  constexpr std::time_t kDay = 86'400;
  seeds.first = first_seed_of(seeds.commit, static_cast<std::uint64_t>(std::time(nullptr) / kDay));
  return seeds;
}

}  // namespace neliroute::sim
