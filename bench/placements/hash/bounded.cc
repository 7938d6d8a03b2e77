#include "bench/placements/hash/bounded.h"

#include <cmath>
#include <numeric>
namespace neliroute::placement {

Bounded::Bounded(const Setting& setting, double factor)
    : OnCircle(setting), factor_(factor), places_(places_on_circle(setting)) {}

void Bounded::add_points(MemberId member, std::vector<Point>& points) const {
  add_ring_points(hash_of(member), kBoundedPoints * weight_of(member), member, points);
}

std::vector<std::uint64_t> Bounded::room() const {
  double weights = 0;
  for (const MemberId member : members()) weights += weight_of(member);
  std::vector<std::uint64_t> room(setting().roster.size());
  for (const MemberId member : members()) {
    room[member] = static_cast<std::uint64_t>(
        std::ceil(factor_ * setting().items * weight_of(member) / weights));
  }
  return room;
}

std::vector<std::uint32_t> Bounded::next_points() const {
  std::vector<std::uint32_t> found(setting().items);
  std::size_t next = 0;
  for (const Place& place : places_) {
    while (next < points().size() && points()[next].at < place.at) ++next;
    found[place.item] = next == points().size() ? 0 : static_cast<std::uint32_t>(next);
  }
  return found;
}

void Bounded::update(std::span<const MemberId> leaving, std::span<const MemberId> joining) {
  change_points(leaving, joining);
  const std::vector<Point>& ring = points();
  if (ring.empty()) return;
  std::vector<std::uint64_t> left = room();
  // skip[i]: where the next point with room may be, at i or after it. There is one, since the
  // capacity of all points exceeds the number of items.
  std::vector<std::uint32_t> skip(ring.size());
  std::iota(skip.begin(), skip.end(), 0U);
  const auto find = [&](std::uint32_t at) {
    while (left[ring[at].owner] == 0) {
      if (skip[at] == at) skip[at] = at + 1 == ring.size() ? 0 : at + 1;
      const std::uint32_t next = skip[at];
      // Full members stay full: halve the way for the next item that comes along.
      if (skip[next] != next) skip[at] = skip[next];
      at = next;
    }
    return at;
  };
  const std::vector<std::uint32_t> nearest = next_points();
  for (std::uint32_t item = 0; item < setting().items; ++item) {
    const MemberId owner = ring[find(nearest[item])].owner;
    --left[owner];
    owners_[item] = owner;
  }
}

std::size_t Bounded::own_memory() const { return bytes_of(points()) + bytes_of(places_); }

}  // namespace neliroute::placement
