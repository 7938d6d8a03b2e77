// Keeps what Routes point to (names, endpoints, tags) for long after lookups stopped returning it,
// so that a caller may keep several Routes. Private to RouteView.
//
// Threads: one (the strand).   Units: LocalTime, bytes.   Errors: none.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <neliroute/time.h>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

#include "router/view/directory.h"

namespace neliroute {

class InternedProcesses {
 public:
  static constexpr std::chrono::hours kKept{1};
  /// Kept for at least this long, however many there are.
  static constexpr std::chrono::minutes kKeptLeast{1};
  /// Of those that nothing names any more; above it, the oldest are freed earlier.
  static constexpr std::size_t kBytesMax = std::size_t{16} << 20;

  /// One more, or one fewer, entry of the view names it. Null: none.
  void add(const PeerPtr& peer);
  void remove(const PeerPtr& peer);
  /// From now on, no new lookup sees what remove() left unnamed since the last call. Frees what was
  /// kept for long enough.
  void retire(LocalTime now);
  /// When retire() has something to free.
  [[nodiscard]] LocalTime next_deadline() const noexcept;

  /// Named or not.
  [[nodiscard]] std::size_t size() const noexcept { return kept_.size(); }

 private:
  struct Kept {
    PeerPtr peer;
    std::uint32_t named = 0;
    LocalTime retired = kNever;  ///< kNever: named, or not retired yet
  };
  [[nodiscard]] bool may_go(LocalTime retired, LocalTime now) const noexcept;

  std::unordered_map<const Peer*, Kept> kept_;
  std::vector<const Peer*> unnamed_;  ///< since the last retire()
  std::set<std::pair<LocalTime, const Peer*>> retired_;  ///< not named again; the oldest first
  std::size_t retired_bytes_ = 0;
};

}  // namespace neliroute
