// The moves of the last ten minutes, for a person who opens the slot page after an alert. Private
// to the admin port.
//
// Bounded: if more moves than that, the oldest are forgotten first.
//
// Threads: one (the server's strand).   Units: milliseconds in the JSON.   Errors: none.
#pragma once

#include <cstddef>
#include <deque>
#include <neliroute/observer.h>
#include <string>
#include <vector>

namespace neliroute::admin {

class MoveHistory {
 public:
  static constexpr std::chrono::minutes kKept{10};
  /// Partitions that moved, all moves together.
  static constexpr std::size_t kPartitionsMax = std::size_t{1} << 17;
  static constexpr std::size_t kMovesMax = 4096;

  explicit MoveHistory(std::uint32_t partitions) : was_known_(partitions, false) {}

  /// The partition has another route since `at`. Its first known route is no move. Times do not
  /// decrease.
  void note(Partition partition, const ObservedRoute& before, const ObservedRoute& after,
            LocalTime at);
  /// {"reach_ms":..,"processes":[..],"moves":[[ms ago, from, to, "0-9,12"],..]}, the oldest first:
  /// all moves since reach_ms ago. Owners are named by their index in `processes`; -1: nobody, -2:
  /// unknown.
  [[nodiscard]] std::string text(LocalTime now) const;

 private:
  /// An owner; without one, whether it is known that there is none.
  struct State {
    PeerPtr owner;
    bool known = false;
  };
  struct Move {
    LocalTime at;
    State from;
    State to;
    std::vector<Partition> partitions;
  };
  [[nodiscard]] static State state_of(const ObservedRoute& route);
  [[nodiscard]] static bool same(const State& left, const State& right);
  [[nodiscard]] Move& move_of(const State& from, const State& to, LocalTime at);
  void forget(LocalTime now);

  std::vector<bool> was_known_;
  LocalTime complete_since_ = kNever;  ///< kNever: nothing is known yet
  std::deque<Move> moves_;
  std::size_t partitions_ = 0;  ///< of all moves
};

}  // namespace neliroute::admin
