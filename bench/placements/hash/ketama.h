// Ketama: libketama's ring, which memcached clients agree on. 160 points per member on a circle of
// 2^32: MD5 of "<name>-<i>", i = 0..39, each digest cut into four little-endian words.
//
// An item's place is the first word of the MD5 of its number in decimal. Weight w means 160 w
// points. libketama itself computes weights as floating-point shares, on which its ports disagree,
// so the points equal libketama's only if all weights are equal. No seed: names alone decide.
//
// Memory, cost, promise: those of a ring with V = 160.
// Source: libketama; hashing.md 1.1.
//
// Threads: one at a time.   Units: places on a circle of 2^32.   Errors: see placement.h.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "bench/placements/hash/ring.h"

namespace neliroute::placement {

/// The points of a name, in the order in which they are made.
[[nodiscard]] std::vector<std::uint32_t> ketama_points(std::string_view name, std::uint32_t weight);

class Ketama final : public Sweep {
 public:
  explicit Ketama(const Setting& setting);

 private:
  void add_points(MemberId member, std::vector<Point>& points) const override;
};

}  // namespace neliroute::placement
