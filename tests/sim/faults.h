// What can go wrong. A seed enables some kinds, each with a rate of its own ("swarm testing"): a
// run with everything at once hides what two faults alone would show.
//
// Threads: values.   Units: none.   Errors: none.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace neliroute::sim {

enum class Fault : std::uint8_t {
  write_lost,         ///< and reported so
  write_unanswered,   ///< stored, but reported as failed
  write_late,         ///< by up to two leases, whatever was reported meanwhile
  write_duplicated,
  write_reordered,
  pause,              ///< a process is stopped (SIGSTOP, a suspended machine)
  cut_log,            ///< a process does not reach one log's leader
  cut_one_way,        ///< what it writes arrives, no answer does; or the other way round
  cut_coordinator,    ///< a zombie: only the coordinator does not hear of it
  cut_full,
  crash,              ///< SIGKILL, and a restart under the same name
  leave,              ///< planned, and a restart
  short_leave,        ///< planned, with less time than a hand-over takes
  leader_change,      ///< of a log: away for a moment, then stamped by another broker
  broker_clock_step,  ///< within clock_error
  retention,          ///< of what is older than 15 leases
  offset_hole,        ///< offsets that carry no record
  topic_made_again,
  truncation,         ///< acknowledged records are lost: non-exclusive mode only
  other_version,      ///< claims that this version cannot read
  noise,              ///< other lanes, garbage
  coordinator_down,
  group_forgotten,    ///< members must join anew
  reshuffle,          ///< an assignment that keeps nothing in place
  group_lies,         ///< a partition is assigned to a second one, the first one is not told
  tail_replaced,      ///< a reader that is restarted elsewhere than it was
  late_timer,         ///< a process that is slow to run
  slow_barrier,       ///< an application that takes longer than its lease
  slow_network,       ///< all messages, by ten times
  // Facts of the whole run rather than events:
  other_leases,
  drift,              ///< of clocks, by up to 250 ppm from true time each
  no_broker_time,     ///< records stamped by their writers: the broker's time is not believed
  wide_skew,          ///< brokers' clocks apart by all of clock_error
  // Drawn apart from those above:
  leader_flip,        ///< a log moves between the slowest and the fastest broker, at once
  log_as_long,        ///< who is not told of a new topic returns when it is as long as the old one
  two_lanes,          ///< a fact: two groups of processes over the same slots, on the same logs
  other_settings,     ///< a process that starts with other settings than the group's
  stopped_in_step,    ///< a process is stopped between reading its clock and acting on it
  fetch_in_parts,     ///< what is there is read a few records at a time
  unclean_leader,     ///< a log's leader dies, and its successor lacks acknowledged records
  hang,               ///< a process's executor is stuck, and its client goes on with heartbeats
  store_ahead,        ///< the fenced store knows a greater epoch than anybody was given
  forbidden,          ///< a log's broker refuses what a process writes, for long
  out_of_reach,       ///< a log's leader, for one process alone, and for long
  override,           ///< an operator cordons, weighs, pins or pauses, or withdraws that
  broadcast_beside,   ///< a fact: lane 1 is of variation `broadcast`, and only lane 0 is judged
  stuck_log,          ///< what is written hangs, and reads stand still: a replica in sync is silent
  sick,               ///< process 0 stalls, lags or is cut one way, for ever; others crash
  compaction,         ///< of what was before: who does not reach the log now must read it anew
  notice_lost,        ///< nobody tells a reader that there is a record; it looks each interval
};
inline constexpr std::size_t kFaultCount = static_cast<std::size_t>(Fault::notice_lost) + 1;
/// The kinds that one stream of chance draws; the later ones have another, so that adding one
/// changes as few runs as possible.
inline constexpr std::size_t kFaultsDrawnFirst = static_cast<std::size_t>(Fault::leader_flip);

using FaultCounts = std::array<std::uint64_t, kFaultCount>;

class FaultSet {
 public:
  [[nodiscard]] bool has(Fault fault) const noexcept { return (bits_ & bit(fault)) != 0; }
  void add(Fault fault) noexcept { bits_ |= bit(fault); }
  void remove(Fault fault) noexcept { bits_ &= ~bit(fault); }
  [[nodiscard]] bool has_all(FaultSet others) const noexcept {
    return (others.bits_ & ~bits_) == 0;
  }
  [[nodiscard]] bool empty() const noexcept { return bits_ == 0; }

 private:
  static std::uint64_t bit(Fault fault) noexcept { return 1ULL << static_cast<unsigned>(fault); }
  std::uint64_t bits_ = 0;
};

[[nodiscard]] std::string_view to_string(Fault fault) noexcept;

}  // namespace neliroute::sim
