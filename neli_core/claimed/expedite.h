// When to have the group's next heartbeat sent early (docs/protocol.md, "Expedite").
//
// With the consumer protocol a member learns of its assignment in the answer to its next heartbeat,
// which a slow one sends seconds later. Where a record shows that the membership changed, it need
// not wait. How many members there are, and who may be about to leave, follows from the records.
//
// Threads: one.   Units: LocalTime, std::chrono.   Errors: none.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <neliroute/time.h>

#include "neli_core/record/record.h"

namespace neliroute {

/// Whether this renewal only says that its writer has joined the group: it names no epoch.
[[nodiscard]] bool is_greeting(const Record& record) noexcept;

/// Spreads the requests of one process. At once, again after 50, 100 and 200 ms, as the coordinator
/// may not have known yet; at most 8 within a heartbeat interval, and the further apart the more
/// there were, so that the last change of many is not the one for which nothing is left.
class ExpeditePacing {
 public:
  /// `heartbeat`: the group's interval; 0: nothing is ever asked.
  explicit ExpeditePacing(milliseconds heartbeat) noexcept : heartbeat_(heartbeat) {
    asked_.fill(kLongAgo);
  }

  /// The membership changed.
  void begin(LocalTime now) noexcept;
  /// There is nothing to ask for (any more).
  void end() noexcept { due_ = kNever; }
  /// Whether to ask now. `spread` is the random delay that may be added to it.
  [[nodiscard]] bool take(LocalTime now, milliseconds spread) noexcept;
  [[nodiscard]] LocalTime due() const noexcept { return due_; }

  static constexpr std::size_t kMost = 8;

 private:
  [[nodiscard]] std::size_t asked_lately(LocalTime now) const noexcept;

  milliseconds heartbeat_;
  LocalTime due_ = kNever;
  LocalTime until_ = kLongAgo;  ///< the ordinary heartbeat comes by then
  std::size_t repeated_ = 0;
  std::array<LocalTime, kMost> asked_{};  ///< a ring
  std::size_t oldest_ = 0;
};

/// The other members of the lane, as far as records tell.
class LaneMembers {
 public:
  /// A record of another process of the lane was read; false: nothing was known of it.
  bool note(const Record& record, milliseconds lease, LocalTime read);
  /// Those that may live: heard within their lease.
  [[nodiscard]] std::uint32_t living(LocalTime now) const;
  /// Those that are sure to stay for now: heard after `since`, and not giving all up.
  [[nodiscard]] std::uint32_t staying(LocalTime since) const;

 private:
  struct Seen {
    LocalTime read = kLongAgo;
    LocalTime live_until = kLongAgo;
    std::uint64_t seq = 0;
    bool giving_up = false;
  };
  void forget(LocalTime now);

  std::map<ProcessId, Seen> seen_;
  std::size_t forget_at_ = 64;
};

}  // namespace neliroute
