#include "bench/placements/hash/multi_probe.h"

#include "bench/placements/hash/mix.h"

namespace neliroute::placement {
namespace {

// With more newcomers than this, a binary search among all points is cheaper.
constexpr std::size_t kFew = 16;

}  // namespace

MultiProbe::MultiProbe(const Setting& setting, std::uint32_t probes)
    : OnCircle(setting), probes_(probes), items_(setting.items), nearest_(setting.items) {
  for (std::uint32_t item = 0; item < setting.items; ++item) {
    const std::uint64_t start = item_hash(item, setting.seed);
    items_[item] = {start, hash_words(start, 1) | 1};
  }
}

void MultiProbe::add_points(MemberId member, std::vector<Point>& points) const {
  points.push_back({hash_of(member), member});
}

void MultiProbe::look_up(std::uint32_t item) {
  std::uint64_t at = items_[item].start;
  owners_[item] = kNobody;
  for (std::uint32_t probe = 0; probe < probes_; ++probe, at += items_[item].step) {
    const Point& next = points()[next_point(at)];
    const std::uint64_t distance = next.at - at;
    if (owners_[item] == kNobody || distance < nearest_[item]) {
      owners_[item] = next.owner;
      nearest_[item] = distance;
    }
  }
}

void MultiProbe::contend(std::uint32_t item, std::span<const Point> newcomers) {
  for (const Point& point : newcomers) {
    std::uint64_t at = items_[item].start;
    for (std::uint32_t probe = 0; probe < probes_; ++probe, at += items_[item].step) {
      const std::uint64_t distance = point.at - at;
      if (distance < nearest_[item]) {
        owners_[item] = point.owner;
        nearest_[item] = distance;
      }
    }
  }
}

void MultiProbe::update(std::span<const MemberId> leaving, std::span<const MemberId> joining) {
  change_points(leaving, joining);
  if (points().empty()) return;
  const bool few = joining.size() <= kFew;
  std::vector<Point> newcomers;
  for (const MemberId member : joining) add_points(member, newcomers);
  for (std::uint32_t item = 0; item < setting().items; ++item) {
    const bool owned = owners_[item] != kNobody && is_member(owners_[item]);
    if (owned && few) {
      contend(item, newcomers);
    } else {
      look_up(item);
    }
  }
}

std::size_t MultiProbe::own_memory() const {
  return bytes_of(points()) + bytes_of(items_) + bytes_of(nearest_);
}

}  // namespace neliroute::placement
