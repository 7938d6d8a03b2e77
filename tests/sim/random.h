// Chance, the same everywhere: one 64-bit seed and a name give one stream of numbers.
//
// Every fault kind and every process draws from a stream of its own, so that leaving one out when
// a failure is minimised changes as little as possible of the rest.
//
// Threads: one.   Units: none.   Errors: none.
#pragma once

#include <cstdint>

namespace neliroute::sim {

class Random {
 public:
  Random() = default;
  Random(std::uint64_t seed, std::uint64_t stream)
      : state_(seed * 0x9e3779b97f4a7c15ULL ^ (stream + 1) * 0xd1342543de82ef95ULL) {
    for (int i = 0; i < 3; ++i) next();
  }

  /// splitmix64
  std::uint64_t next() noexcept {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    return z ^ (z >> 31);
  }
  /// Both ends included.
  std::int64_t between(std::int64_t low, std::int64_t high) noexcept {
    if (high <= low) return low;
    const auto span = static_cast<std::uint64_t>(high - low) + 1;
    return low + static_cast<std::int64_t>(next() % span);
  }
  bool per_mille(std::int64_t n) noexcept { return between(0, 999) < n; }
  bool percent(std::int64_t n) noexcept { return between(0, 99) < n; }
  /// Short ones as likely as long ones, by order of magnitude: low * 2^k, at most high.
  std::int64_t magnitude(std::int64_t low, std::int64_t high) noexcept {
    std::int64_t doublings = 0;
    for (std::int64_t top = low; top < high; top *= 2) ++doublings;
    const std::int64_t bottom = low << between(0, doublings > 0 ? doublings - 1 : 0);
    return between(bottom, 2 * bottom < high ? 2 * bottom : high);
  }

 private:
  std::uint64_t state_ = 0;
};

}  // namespace neliroute::sim
