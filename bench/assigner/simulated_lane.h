// A lane of many members in simulated time: some whole ones, the rest streams of records. The same
// seed makes the same lane.
//
// Threads: one.   Units: simulated milliseconds; CPU and bytes of this machine.
// Errors: make() refuses options that a member would refuse.
#pragma once

#include <cstdint>
#include <memory>
#include <neliroute/error.h>
#include <neliroute/ids.h>
#include <neliroute/time.h>
#include <optional>
#include <random>
#include <vector>

#include "bench/assigner/lane_options.h"
#include "bench/assigner/memory_logs.h"
#include "bench/assigner/streamed_members.h"
#include "bench/assigner/whole_member.h"

namespace neliroute::scale {

/// What one member costs; percent of a core, bytes of its heap.
struct MemberCost {
  double core_percent = 0;       ///< the state machine, with encoding what it writes
  double directory_percent = 0;  ///< who owns what, for lookups
  double core_bytes = 0;
  double directory_bytes = 0;
};

/// What goes on while nothing happens.
struct AtRest {
  std::vector<double> records_s;  ///< per log
  std::vector<double> bytes_s;
  double decoding_percent = 0;  ///< of a core: every reader decodes every record
  MemberCost member;            ///< the mean of those that do not assign
  MemberCost assigner;
};

struct Healed {
  std::uint32_t deaths = 0;
  std::uint32_t unowned = 0;          ///< partitions
  std::optional<milliseconds> after;  ///< no value: not within a minute and two sessions
  double longest_turn_ms = 0;         ///< CPU time of the assigner, or of another whole member
};

class SimulatedLane {
 public:
  [[nodiscard]] static Result<std::unique_ptr<SimulatedLane>> make(const LaneOptions& options);

  /// When everything is led; no value: not within a minute and two sessions.
  [[nodiscard]] std::optional<milliseconds> run_until_led();
  void run_for(milliseconds duration);
  [[nodiscard]] AtRest at_rest(milliseconds length);
  /// So many die at the same instant, drawn from all, with the assigner or without; returns when
  /// others lead what they led. At least four whole members are spared.
  [[nodiscard]] Healed kill(std::uint32_t deaths, bool with_assigner);

  [[nodiscard]] std::uint32_t living() const noexcept;
  /// Of one turn of a whole member since the last call, in milliseconds of CPU time.
  [[nodiscard]] double take_longest_turn_ms();

 private:
  explicit SimulatedLane(const LaneOptions& options);
  [[nodiscard]] bool is_led(Partition partition);
  [[nodiscard]] std::vector<Partition> unowned();
  [[nodiscard]] std::uint32_t whole_living() const noexcept;

  LaneOptions options_;
  MemoryLogs logs_;
  std::mt19937_64 random_;
  std::vector<std::unique_ptr<WholeMember>> whole_;
  std::vector<LocalTime> starts_;  ///< of the whole members, by their number
  StreamedMembers streamed_;
  std::vector<std::uint32_t> last_leader_;  ///< per partition: the whole one that led it last
  LocalTime now_;
};

}  // namespace neliroute::scale
