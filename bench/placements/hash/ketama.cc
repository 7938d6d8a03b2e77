#include "bench/placements/hash/ketama.h"

#include <array>
#include <cstddef>
#include <string>

#include "bench/placements/hash/md5.h"

namespace neliroute::placement {
namespace {

constexpr std::uint32_t kDigests = 40;

std::uint32_t word(const std::array<std::uint8_t, 16>& digest, std::size_t which) noexcept {
  std::uint32_t value = 0;
  for (std::size_t byte = 4; byte-- > 0;) value = value << 8 | digest[which * 4 + byte];
  return value;
}

std::vector<Place> places_of(std::uint32_t items) {
  std::vector<Place> places(items);
  for (std::uint32_t item = 0; item < items; ++item) {
    places[item] = {word(md5(std::to_string(item)), 0), item};
  }
  return places;
}

}  // namespace

std::vector<std::uint32_t> ketama_points(std::string_view name, std::uint32_t weight) {
  std::vector<std::uint32_t> points;
  points.reserve(std::size_t{kDigests} * weight * 4);
  for (std::uint32_t i = 0; i < kDigests * weight; ++i) {
    const auto digest = md5(std::string(name) + "-" + std::to_string(i));
    for (std::size_t which = 0; which < 4; ++which) points.push_back(word(digest, which));
  }
  return points;
}

Ketama::Ketama(const Setting& setting) : Sweep(setting, places_of(setting.items)) {}

void Ketama::add_points(MemberId member, std::vector<Point>& points) const {
  for (const std::uint32_t at : ketama_points(setting().roster[member].name, weight_of(member))) {
    points.push_back({at, member});
  }
}

}  // namespace neliroute::placement
