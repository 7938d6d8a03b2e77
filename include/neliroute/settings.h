// What the processes of a topic must agree on, and the two modes and variations among it.
//
// Threads: values, any.   Units: none.   Errors: none.
// Paper: "Protocol definition", "Exclusivity of role assignment".
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace neliroute {

enum class Mode {
  non_exclusive,  ///< at least one leader: overlaps during a move rather than gaps
  exclusive,      ///< at most one leader: gaps during a move rather than overlaps
};

[[nodiscard]] std::string_view to_string(Mode mode) noexcept;

enum class Variation {
  claimed,    ///< the order of claims in a log decides
  broadcast,  ///< the NELI paper's own: everybody writes to all partitions
};

[[nodiscard]] std::string_view to_string(Variation variation) noexcept;

/// What all processes of a topic must agree on (group and mode: within a lane).
struct Settings {
  std::string group;
  std::uint32_t slots = 0;
  std::uint32_t partitions = 0;
  std::uint32_t logs = 0;
  std::string hash;
  std::string mode;
  /// In records only where it is not this one.
  std::string variation = "claimed";
  friend bool operator==(const Settings&, const Settings&) = default;
};

}  // namespace neliroute
