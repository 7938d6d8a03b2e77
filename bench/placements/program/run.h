// Runs placements through a trace, over many seeds, for neliroute_placements to print.
//
// Threads: one.   Units: slots, seconds.   Errors: bad_option, naming the placement or the trace.
#pragma once

#include <cstdint>
#include <functional>
#include <neliroute/error.h>
#include <neliroute/ids.h>
#include <optional>
#include <string>
#include <vector>

#include "bench/placements/catalog.h"
#include "bench/placements/simulation.h"
#include "bench/placements/trace.h"

namespace neliroute::placement {

struct Request {
  std::vector<Spec> specs;
  std::string trace = "join";                      ///< a built in one, unless there is a file's
  std::optional<Trace> trace_of_file;
  std::uint32_t members = 10;
  Names names = Names::shuffled;
  SlotCount slots{1024};
  std::uint32_t partitions = 64;
  bool all_on_partitions = false;
  std::uint32_t seeds = 10;
  std::uint32_t first_seed = 1;
  Timing timing;
  bool each_step = false;
};

/// One step of one seed; or a placement's whole trace, the mean over the seeds.
struct Outcome {
  std::string spec;
  Unit unit = Unit::slots;
  std::optional<std::uint32_t> seed;
  double at_s = 0;   ///< of a step
  double steps = 1;  ///< of a trace
  double members_before = 0;
  double members_after = 0;
  double moved = 0;
  double least = 0;            ///< by a placement that has been balanced all along
  double least_from_here = 0;  ///< from where this one was
  double unavoidable = 0;
  double excess = 0;
  double gain = 0;
  double peak_before = 0;
  double peak_after = 0;
  double peak_worst = 0;
  double cv_before = 0;
  double cv_after = 0;
  double unowned_s = 0;
  double first_s = 0;       ///< processor time of the first placement
  double slowest_s = 0;     ///< and of the slowest step
  double memory_bytes = 0;  ///< what the placement held at the end
};

/// What is being worked on, for a person who waits.
using Progress = std::function<void(const std::string& what)>;

/// Whether all of it can be run, before any of it is.
[[nodiscard]] Result<void> check(const Request& request);

/// Calls `take` with every outcome, as soon as it is known; ends when that returns false.
void run(const Request& request, const Progress& progress,
         const std::function<bool(const Outcome&)>& take);

}  // namespace neliroute::placement
