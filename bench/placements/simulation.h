// A simulation: one placement, one trace, and what each step moved.
//
// Moves are counted in slots: an item is a slot, or a partition; all partitions carry equally many
// slots. The model of time without an owner: a crashed member's slots wait for the session to end.
// Then, or at once if the change was planned, a rebalance takes its time; meanwhile either all
// slots are unowned (eager) or only those that move (cooperative, KIP-848). Steps do not overlap:
// each ends before the next begins, however close they are in the trace.
//
// Threads: one at a time.   Units: slots, seconds.   Errors: see placement.h.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "bench/placements/placement.h"
#include "bench/placements/trace.h"

namespace neliroute::placement {

/// How even the members' loads are, relative to their weights.
struct Balance {
  double peak = 0;  ///< the largest over the mean; 0 if there is no member
  double cv = 0;    ///< standard deviation over mean
};

[[nodiscard]] Balance balance_of(std::span<const std::uint64_t> loads,
                                 std::span<const std::uint32_t> weights);

/// How long slots take to change owner.
struct Timing {
  double session_s = 0.5;
  double rebalance_s = 0.05;
  bool eager = false;
};

struct Report {
  std::uint64_t at_ms = 0;
  std::uint32_t members = 0;  ///< afterwards
  std::uint64_t moved = 0;    ///< had an owner, and have another one, or none, now
  /// The least to become balanced from where this placement was before the step.
  std::uint64_t least = 0;
  std::uint64_t unavoidable = 0;  ///< their owner left or crashed
  std::uint64_t excess = 0;       ///< moved between two who were members before and after
  std::uint64_t gain = 0;         ///< the most that one member got
  Balance before;
  Balance after;
  double unowned_s = 0;  ///< slots times seconds
};

class Simulation {
 public:
  /// `slots_each`: how many slots an item is. All three must outlive it.
  Simulation(Placement& placement, const Trace& trace, std::uint32_t slots_each, Timing timing);

  [[nodiscard]] bool done() const noexcept { return next_ == trace_.steps.size(); }
  /// Carries out the next step. The first one moves nothing.
  Report advance();

 private:
  [[nodiscard]] std::vector<std::uint64_t> loads() const;
  [[nodiscard]] Balance balance() const;
  void count_moves(Report& report) const;
  [[nodiscard]] std::uint64_t least_from_here() const;

  Placement& placement_;
  const Trace& trace_;
  std::uint64_t slots_each_;
  Timing timing_;
  std::size_t next_ = 0;
  std::vector<MemberId> before_;         // the owners
  std::vector<std::uint8_t> was_member_;  // by roster
};

}  // namespace neliroute::placement
