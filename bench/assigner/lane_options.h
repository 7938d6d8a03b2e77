// The lane that is simulated.
//
// Threads: a value.   Units: milliseconds of simulated time.   Errors: none.
#pragma once

#include <cstdint>
#include <neliroute/ids.h>
#include <neliroute/settings.h>
#include <neliroute/time.h>
#include <string>

#include "neli_core/options.h"

namespace neliroute::scale {

struct LaneOptions {
  std::uint32_t members = 1000;
  /// So many of them are AssignedCores, the most senior ones; the rest are streams of records.
  std::uint32_t whole = 20;
  std::uint32_t partitions = 4096;
  std::uint32_t logs = 4;
  milliseconds interval{500};
  milliseconds session{2500};
  milliseconds lease{0};
  milliseconds delay{3};  ///< from a write to its readers
  std::uint64_t seed = 1;
};

/// What the member of that number is started with.
[[nodiscard]] inline CoreOptions core_options(const LaneOptions& lane, std::uint32_t number,
                                              ProcessId id) {
  const std::string name = "member-" + std::to_string(number);
  CoreOptions core;
  core.id = id;
  core.interval = lane.interval;
  core.lease = lane.lease;
  core.settings = {"group", lane.partitions, lane.partitions, lane.logs, "xxh3", ""};
  core.process = {name, name + ":7000", {}};
  return core;
}

}  // namespace neliroute::scale
