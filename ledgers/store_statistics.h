// How a store does that this process speaks to itself: by the requests of all its connections.
//
// Threads: the strand writes, any reads.   Units: std::chrono.   Errors: none.
#pragma once

#include <atomic>
#include <cstdint>
#include <neliroute/time.h>

#include "base/histogram.h"
#include "ledgers/ledger_statistics.h"

namespace neliroute {

struct StoreStatistics final : LedgerStatistics {
  explicit StoreStatistics(LocalTime now) : heard_at(now) {}
  [[nodiscard]] const StoreStatistics* store() const noexcept override { return this; }

  /// An answer came, of the store and not only of a server: it may be an error.
  void note_answer(LocalTime asked, bool is_error, LocalTime now) noexcept {
    round_trips.note(now - asked);
    if (is_error) ++refused;
    heard_at = now;
  }

  std::atomic<std::uint64_t> requests = 0;
  std::atomic<std::uint64_t> unanswered = 0;  ///< and connections that broke
  std::atomic<std::uint64_t> refused = 0;
  std::atomic<std::uint64_t> unsent_records = 0;  ///< handed over, and not acknowledged
  std::atomic<LocalTime> heard_at;  ///< when it sent something last; at first, when it was opened
  Histogram round_trips;
};

}  // namespace neliroute
