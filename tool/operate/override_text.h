// What an override moved or would move, in words and as JSON; and the list of all that stand.
//
// Threads: values and pure functions, any.   Units: partitions, std::chrono.   Errors: none.
#pragma once

#include <boost/json/object.hpp>
#include <cstdint>
#include <neliroute/time.h>
#include <optional>
#include <string>
#include <vector>

#include "neli_core/assigner/lane_reader.h"
#include "neli_core/record/override.h"
#include "placement/plan.h"
#include "tool/operate/override_input.h"

namespace neliroute::tool {

/// Partitions that go the same way for the same reason. Names of processes; empty: nobody.
struct OverrideMove {
  std::string from;
  std::string to;
  std::string why;  ///< "cordon", "weight", …; empty: not known
  PartitionRanges partitions;
  friend bool operator==(const OverrideMove&, const OverrideMove&) = default;
};
/// In the order of the partitions. name_of(id): of a process that was heard.
template <class NameOf>
[[nodiscard]] std::vector<OverrideMove> moves_of(const std::vector<WouldMove>& moves,
                                                 const NameOf& name_of);
/// What changed its owner between two moments.
template <class NameOf>
[[nodiscard]] std::vector<OverrideMove> moves_between(const std::vector<ProcessId>& before,
                                                      const std::vector<ProcessId>& after,
                                                      const NameOf& name_of);

/// What became of an override.
struct OverrideOutcome {
  Override override;
  bool dry_run = false;
  std::vector<OverrideMove> moves;  ///< that happened, or would
  // Not of a dry run:
  std::string id;
  std::int64_t offset = -1;
  bool taken_in = false;
  bool stands = false;  ///< no later override says otherwise
  bool carried_out = false;
  bool moves_paused = false;
  milliseconds took{0};
  microseconds unowned{0};  ///< how long nobody led one of these, at most, after it was ordered
};
/// "cordon beta"
[[nodiscard]] std::string text_of(const Override& override);
[[nodiscard]] std::string text_of(const OverrideOutcome& outcome);
[[nodiscard]] boost::json::object json_of(const OverrideOutcome& outcome);
/// Of one that was written and is not carried out. `astray`: partitions that are elsewhere.
[[nodiscard]] std::string undone_text(const OverrideOutcome& outcome, std::size_t astray);

/// An override that stands, as `neliroute overrides` lists it.
struct StandingOverride {
  std::string verb;  ///< "cordon", "weight", "pin", "pause-moves"
  std::string name;
  std::optional<std::uint32_t> weight = std::nullopt;
  PartitionRanges partitions = {};
  std::size_t processes = 0;  ///< that have the name now
};
[[nodiscard]] std::vector<StandingOverride> list_of(const ShownLane& lane);
[[nodiscard]] std::string text_of(const StandingOverride& override, const SlotPlan& plan);
[[nodiscard]] boost::json::object json_of(const StandingOverride& override, const SlotPlan& plan);

// --- Implementation ------------------------------------------------------------------------------

/// Adds a partition to the move that goes the same way.
void add_move(std::vector<OverrideMove>& moves, OverrideMove way, Partition partition);

template <class NameOf>
std::vector<OverrideMove> moves_of(const std::vector<WouldMove>& moves, const NameOf& name_of) {
  std::vector<OverrideMove> made;
  for (const WouldMove& move : moves) {
    const OverrideMove way{
        name_of(move.from), name_of(move.to), std::string(placement::to_string(move.why)), {}};
    add_move(made, way, move.partition);
  }
  return made;
}

template <class NameOf>
std::vector<OverrideMove> moves_between(const std::vector<ProcessId>& before,
                                        const std::vector<ProcessId>& after,
                                        const NameOf& name_of) {
  std::vector<OverrideMove> made;
  for (std::uint32_t p = 0; p < before.size(); ++p) {
    if (before[p] == after[p]) continue;
    add_move(made, {name_of(before[p]), name_of(after[p]), {}, {}}, Partition{p});
  }
  return made;
}

}  // namespace neliroute::tool
