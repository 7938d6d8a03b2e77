// Notices when the application's handlers hold the strand for so long that leases are in danger.
//
// Nothing is read or renewed while a handler runs. Handlers that are called in a row add up: ten
// partitions that take 100 ms each hold the strand for a second.
//
// Threads: one (the strand).   Units: microseconds.   Errors: none.
#pragma once

#include <cstdint>
#include <functional>
#include <neliroute/ids.h>
#include <neliroute/time.h>
#include <optional>
#include <string>
#include <utility>

#include "neli_core/ready.h"

namespace neliroute {

class HandlerWatch {
 public:
  using Clock = std::function<LocalTime()>;
  /// `bound`: the interval. Zero: nothing is watched.
  HandlerWatch(Clock clock, milliseconds bound) : clock_(std::move(clock)), bound_(bound) {}

  /// Runs a handler. `name` is what the application knows it by. One that throws ends the process:
  /// the rest of the turn, writes included, would be lost.
  template <class Call>
  void run(const char* name, std::optional<Partition> partition, Call&& call) noexcept {
    const LocalTime begun = clock_();
    std::forward<Call>(call)();
    note(name, partition, clock_() - begun);
  }
  /// The strand goes on to other work. Returns what to warn of, if anything, at most every 10 s.
  [[nodiscard]] std::optional<Notice> end_turn();

 private:
  void note(const char* name, std::optional<Partition> partition, microseconds held);

  Clock clock_;
  milliseconds bound_;
  // Of this turn.
  microseconds held_{0};
  std::uint32_t calls_ = 0;
  microseconds longest_{0};
  std::string longest_is_;
  // Since the last warning.
  LocalTime warned_ = kLongAgo;
  std::uint64_t unsaid_ = 0;
};

}  // namespace neliroute
