// Ring: consistent hashing by Karger et al., with V points per member.
//
// Members put points on a circle, and an item belongs to the member with the next point at or after
// its own place; equal points go by member. Weight w means w V points.
//
// Memory: 16 B per point and per item.   Cost: O(S + V P) per change: a merge and one sweep.
// Promise: excess 0; CV about 1/sqrt(V), plus the effect of few items.
// Source: Karger et al., "Consistent Hashing and Random Trees", STOC 1997.
//
// Threads: one at a time.   Units: places on a circle of 2^64.
// Errors: see placement.h.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "bench/placements/placement.h"

namespace neliroute::placement {

struct Point {
  std::uint64_t at = 0;
  MemberId owner = kNobody;
};

/// A placement whose members have points on a circle.
class OnCircle : public Placement {
 protected:
  explicit OnCircle(const Setting& setting) : Placement(setting) {}

  /// Appends the points of a member, in any order.
  virtual void add_points(MemberId member, std::vector<Point>& points) const = 0;
  /// Removes and adds points; update() calls it first.
  void change_points(std::span<const MemberId> leaving, std::span<const MemberId> joining);
  /// The index of the first point at or after `at`; after the last comes the first.
  [[nodiscard]] std::size_t next_point(std::uint64_t at) const noexcept;
  /// Sorted by place.
  [[nodiscard]] const std::vector<Point>& points() const noexcept { return points_; }

 private:
  std::vector<Point> points_;
};

/// An item, and where it is.
struct Place {
  std::uint64_t at = 0;
  std::uint32_t item = 0;
};

/// Of all items, by their hashes; sorted.
[[nodiscard]] std::vector<Place> places_on_circle(const Setting& setting);

/// A ring without bounds: one sweep round the circle assigns all items.
class Sweep : public OnCircle {
 protected:
  /// The places of all items, in any order.
  Sweep(const Setting& setting, std::vector<Place> places);

 private:
  void update(std::span<const MemberId> leaving, std::span<const MemberId> joining) final;
  [[nodiscard]] std::size_t own_memory() const final;

  std::vector<Place> places_;  // sorted
};

class Ring final : public Sweep {
 public:
  Ring(const Setting& setting, std::uint32_t points_each);

 private:
  void add_points(MemberId member, std::vector<Point>& points) const override;

  std::uint32_t points_each_;
};

/// The points of a plain ring, for others that use them.
void add_ring_points(std::uint64_t member_hash, std::uint32_t count, MemberId member,
                     std::vector<Point>& points);

}  // namespace neliroute::placement
