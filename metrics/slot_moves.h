// How many slots moved from one owner to another, why, and how many of them need not have.
//
// Moves come in episodes: from the first change of an owner until every partition is led, and for a
// while none drains or is claimed. Only then it is known which processes came and left.
//
// Threads: one.   Units: slots, LocalTime.   Errors: none.
#pragma once

#include <cstdint>
#include <neliroute/ids.h>
#include <neliroute/time.h>
#include <vector>

namespace neliroute {

/// Since the start.
struct MoveCounts {
  std::uint64_t join = 0;     ///< to a process that owned nothing before
  std::uint64_t leave = 0;    ///< from one that owns nothing after
  std::uint64_t balance = 0;  ///< between two that own something before and after
  /// More than the least that leads from each process's number of slots before to that after.
  std::uint64_t excess = 0;
};

class SlotMoves {
 public:
  /// `quiet`: how long nothing must change for an episode to be over.
  SlotMoves(SlotCount slots, std::uint32_t partitions, microseconds quiet);

  /// `owner` leads it now; kNobody: nobody, or not known. `at_rest`: it is led, and not about to
  /// move.
  void note(Partition partition, ProcessId owner, bool at_rest, LocalTime now);
  /// Time passed.
  void tick(LocalTime now);
  [[nodiscard]] const MoveCounts& counts() const noexcept { return counts_; }

 private:
  struct Place {
    ProcessId before = kNobody;  ///< when the episode began
    ProcessId now = kNobody;
    bool at_rest = false;
  };
  void close();

  SlotCount slots_;
  microseconds quiet_;
  std::vector<Place> places_;
  std::uint32_t restless_;
  LocalTime began_ = kNever;  ///< kNever: no episode
  LocalTime changed_ = kLongAgo;
  MoveCounts counts_;
};

}  // namespace neliroute
