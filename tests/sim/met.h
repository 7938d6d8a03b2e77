// What the members of a lane met where one of them assigns: a campaign must show some of each.
//
// Threads: values.   Units: none.   Errors: none.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace neliroute::sim {

enum class Met : std::uint8_t {
  assignments,   ///< that were stored
  refused,       ///< of these, read under a seat that is not the newest (A3)
  seat_changes,  ///< seat claims by another than the one before
  yields,        ///< an assigner gives the seat to a member that reads better (A2)
  given_up,      ///< designees that did not lead (A5)
  waits,         ///< as many seemed dead at once (A9)
  deaths,        ///< that a member took another for dead
  false_deaths,  ///< and heard of it again
};
inline constexpr std::size_t kMetCount = static_cast<std::size_t>(Met::false_deaths) + 1;

using MetCounts = std::array<std::uint64_t, kMetCount>;

[[nodiscard]] constexpr std::string_view to_string(Met what) noexcept {
  constexpr std::array<std::string_view, kMetCount> kNames{
      "assignments", "assignments refused", "seat changes",   "seats yielded",
      "designees given up", "waits for many dead", "taken for dead", "and heard again"};
  return kNames[static_cast<std::size_t>(what)];
}

}  // namespace neliroute::sim
