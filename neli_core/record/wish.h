// What operators wish of an assigner, as it is in log 0: one wish, and the list of all that stand.
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

enum class WishVerb : std::uint8_t {
  cordon,       ///< who has the name should own nothing
  uncordon,     ///< takes a cordon back; one that a member states itself stays
  weight,       ///< instead of the member's own
  unweight,     ///< its own again
  pin,          ///< these partitions should be with who has the name
  unpin,        ///< these may be anywhere
  pause_moves,  ///< what a living member leads stays there
  resume_moves,
};
/// As in a record, and on a command line with "-" for "_".
[[nodiscard]] const char* to_string(WishVerb verb) noexcept;

/// The longest name that a wish can be for, in bytes. No name is empty.
inline constexpr std::size_t kWishNameBytesMax = 255;

struct Wish {
  WishVerb verb = WishVerb::resume_moves;
  std::string name;            ///< of all but unpin, pause_moves and resume_moves
  PartitionRanges partitions;  ///< of pin and unpin; never none
  std::uint32_t weight = 0;    ///< of weight
  friend bool operator==(const Wish&, const Wish&) = default;
};

/// All wishes that stand.
struct StandingWishes {
  std::set<std::string> cordoned;
  std::map<std::string, std::uint32_t> weights;
  /// No partition is under two names, and no name has none.
  std::map<std::string, PartitionRanges> pins;
  bool moves_paused = false;
  friend bool operator==(const StandingWishes&, const StandingWishes&) = default;
};

/// The list is one record, of which this much is left for the wishes: a wish that would need more
/// is ignored, by every process alike.
inline constexpr std::size_t kStandingBytesMax = 64 * 1024 - 512;
/// How much of a record they take: the JSON of their fields.
[[nodiscard]] std::size_t standing_bytes(const StandingWishes& standing);

}  // namespace neliroute
