// When to have the group's next heartbeat sent early (docs/protocol.md, "Expedite").
//
// With the consumer protocol a member gets its assignment in the answer to its next heartbeat,
// which a member with a long interval sends seconds later. If a record shows that the membership
// changed, it need not wait. The records show how many members there are, and which may be about to
// leave.
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

/// Spreads the requests of one process: at once, and again after 50, 100 and 200 ms, as the
/// coordinator may not have known yet; at most 8 within a heartbeat interval. The more there were,
/// the further they are apart, so that some are left for the last of many changes.
///
/// None is made where heartbeats are at most kSoonEnough apart. They come soon by themselves, and
/// not all at once: then fewer processes take over at the same time, and each partition is without
/// a leader for less time.
class ExpeditePacing {
 public:
  /// `heartbeat`: the group's interval; 0: there are none.
  explicit ExpeditePacing(milliseconds heartbeat) noexcept : heartbeat_(heartbeat) {
    asked_.fill(kLongAgo);
  }

  /// The membership changed.
  void begin(LocalTime now) noexcept;
  /// Nothing needs to be requested (any more).
  void end() noexcept { due_ = kNever; }
  /// Whether to request now. `spread` is the random delay that may be added to it.
  [[nodiscard]] bool take(LocalTime now, milliseconds spread) noexcept;
  [[nodiscard]] LocalTime due() const noexcept { return due_; }

  static constexpr std::size_t kMost = 8;
  static constexpr milliseconds kSoonEnough{100};

 private:
  [[nodiscard]] std::size_t asked_lately(LocalTime now) const noexcept;

  milliseconds heartbeat_;
  LocalTime due_ = kNever;
  LocalTime until_ = kLongAgo;  ///< the ordinary heartbeat comes by then
  std::size_t repeated_ = 0;
  std::array<LocalTime, kMost> asked_{};  ///< a ring
  std::size_t oldest_ = 0;
};

/// The other members of the lane, as far as records show.
class LaneMembers {
 public:
  /// A record of another process of the lane was read; false: nothing was known of it.
  bool note(const Record& record, milliseconds lease, LocalTime read);
  /// Those that may live: read within their lease.
  [[nodiscard]] std::uint32_t living(LocalTime now) const;
  /// Those that are sure to stay for now: read after `since`, and not giving up everything.
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
