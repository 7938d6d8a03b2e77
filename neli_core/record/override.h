// Operators' overrides of what an assigner gives to whom, as they are in log 0, where they are
// called `wish`: one of them, and the list of all that stand.
//
// A name is that of a process (`--name`), and may be shared by several: it stands for all of them.
//
// Threads: values and pure functions, any.   Units: partitions, bytes.   Errors: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>

#include "neli_core/record/partition_ranges.h"

namespace neliroute {

enum class OverrideVerb : std::uint8_t {
  cordon,       ///< processes of that name should own nothing
  uncordon,     ///< withdraws a cordon; one that a member states itself stays
  weight,       ///< instead of the member's own
  unweight,     ///< its own again
  pin,          ///< these partitions should be with processes of that name
  unpin,        ///< these may be anywhere
  pause_moves,  ///< what a living member leads stays there
  resume_moves,
};
/// As in a record, and on a command line with "-" for "_".
[[nodiscard]] const char* to_string(OverrideVerb verb) noexcept;

/// The longest name that an override can be for, in bytes. No name is empty.
inline constexpr std::size_t kOverrideNameBytesMax = 255;

struct Override {
  OverrideVerb verb = OverrideVerb::resume_moves;
  std::string name;            ///< of all but unpin, pause_moves and resume_moves
  PartitionRanges partitions;  ///< of pin and unpin; never none
  std::uint32_t weight = 0;    ///< of weight
  friend bool operator==(const Override&, const Override&) = default;
};

/// All overrides that stand.
struct StandingOverrides {
  std::set<std::string> cordoned;
  std::map<std::string, std::uint32_t> weights;
  /// No partition is under two names, and no name has none.
  std::map<std::string, PartitionRanges> pins;
  bool moves_paused = false;
  friend bool operator==(const StandingOverrides&, const StandingOverrides&) = default;
};

/// The list is one record, of which this much is left for the overrides: one that would need more
/// is ignored, by every process alike.
inline constexpr std::size_t kStandingBytesMax = 64 * 1024 - 512;
/// How much of a record they take: the JSON of their fields.
[[nodiscard]] std::size_t standing_bytes(const StandingOverrides& standing);

}  // namespace neliroute
