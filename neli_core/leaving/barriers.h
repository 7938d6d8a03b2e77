// Barriers: the application's unfinished work under epochs that it leads no more (rule 4).
//
// A partition has at most one: this process does not lead it again while an older barrier runs. If
// it outlasts its lease, the application is notified; if it outlasts it by T, too, it is stuck.
//
// Threads: one (inside a Core).   Units: LocalTime.   Errors: stuck() is one.
#pragma once

#include <cstdint>
#include <neliroute/error.h>
#include <neliroute/ids.h>
#include <neliroute/time.h>
#include <neliroute/transition.h>
#include <optional>
#include <vector>

#include "neli_core/event.h"
#include "neli_core/ready.h"

namespace neliroute {

class Barriers {
 public:
  Barriers(std::uint32_t partitions, milliseconds lease) : lease_(lease), barriers_(partitions) {}

  /// The partition stopped: the application is notified, and finishes.
  void begin(const Transition& stopped, LocalTime now, Ready& ready);
  /// The application has finished. No value: no barrier runs under this epoch. Otherwise whether
  /// the epoch must be released now.
  [[nodiscard]] std::optional<bool> end(const BarrierDone& event);
  /// Puts the release of an epoch off until its barrier ends. False: none runs under this epoch.
  [[nodiscard]] bool put_off_release(Partition partition, const Epoch& epoch);

  /// Notifies that a barrier outlasted its lease. Returns when to look again; kNever: if none runs.
  [[nodiscard]] LocalTime advance(Partition partition, LocalTime now, Ready& ready);
  /// It has outlasted its lease by T: the process gives up if the partition waits for it.
  [[nodiscard]] bool is_stuck(Partition partition, LocalTime now) const;
  [[nodiscard]] Error stuck(Partition partition) const;

  [[nodiscard]] bool runs(Partition partition) const {
    return count_ != 0 && barriers_[partition.value()].has_value();
  }
  [[nodiscard]] bool none_runs() const noexcept { return count_ == 0; }

 private:
  struct Barrier {
    Epoch epoch;
    LocalTime deadline;  ///< the end of the lease
    LocalTime stuck_at;
    bool overdue_told = false;
    bool release_after = false;
  };

  milliseconds lease_;
  std::vector<std::optional<Barrier>> barriers_;
  std::uint32_t count_ = 0;
};

}  // namespace neliroute
