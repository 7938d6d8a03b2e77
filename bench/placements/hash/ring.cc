#include "bench/placements/hash/ring.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "bench/placements/hash/mix.h"

namespace neliroute::placement {
namespace {

bool before(const Point& a, const Point& b) noexcept {
  return std::tie(a.at, a.owner) < std::tie(b.at, b.owner);
}

void sort_places(std::vector<Place>& places) {
  std::sort(places.begin(), places.end(), [](const Place& a, const Place& b) {
    return std::tie(a.at, a.item) < std::tie(b.at, b.item);
  });
}

}  // namespace

void OnCircle::change_points(std::span<const MemberId> leaving,
                             std::span<const MemberId> joining) {
  if (!leaving.empty()) {
    std::erase_if(points_, [this](const Point& point) { return !is_member(point.owner); });
  }
  const auto old = static_cast<std::ptrdiff_t>(points_.size());
  for (const MemberId member : joining) add_points(member, points_);
  std::sort(points_.begin() + old, points_.end(), before);
  std::inplace_merge(points_.begin(), points_.begin() + old, points_.end(), before);
}

std::size_t OnCircle::next_point(std::uint64_t at) const noexcept {
  const auto found = std::lower_bound(
      points_.begin(), points_.end(), at,
      [](const Point& point, std::uint64_t place) { return point.at < place; });
  return found == points_.end() ? 0 : static_cast<std::size_t>(found - points_.begin());
}

std::vector<Place> places_on_circle(const Setting& setting) {
  std::vector<Place> places(setting.items);
  for (std::uint32_t item = 0; item < setting.items; ++item) {
    places[item] = {item_hash(item, setting.seed), item};
  }
  sort_places(places);
  return places;
}

Sweep::Sweep(const Setting& setting, std::vector<Place> places)
    : OnCircle(setting), places_(std::move(places)) {
  sort_places(places_);
}

void Sweep::update(std::span<const MemberId> leaving, std::span<const MemberId> joining) {
  change_points(leaving, joining);
  const std::vector<Point>& ring = points();
  if (ring.empty()) return;
  std::size_t next = 0;
  for (const Place& place : places_) {
    while (next < ring.size() && ring[next].at < place.at) ++next;
    owners_[place.item] = ring[next == ring.size() ? 0 : next].owner;
  }
}

std::size_t Sweep::own_memory() const { return bytes_of(points()) + bytes_of(places_); }

Ring::Ring(const Setting& setting, std::uint32_t points_each)
    : Sweep(setting, places_on_circle(setting)), points_each_(points_each) {}

void Ring::add_points(MemberId member, std::vector<Point>& points) const {
  add_ring_points(hash_of(member), points_each_ * weight_of(member), member, points);
}

void add_ring_points(std::uint64_t member_hash, std::uint32_t count, MemberId member,
                     std::vector<Point>& points) {
  for (std::uint32_t v = 0; v < count; ++v) points.push_back({hash_words(member_hash, v), member});
}

}  // namespace neliroute::placement
