// The barriers of partitions that stopped: each ends when the application has completed its token
// and the last guard of work has ended, or was abandoned at the barrier's deadline. Private.
//
// Threads: one (the strand).   Units: LocalTime.   Errors: none.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <neliroute/time.h>
#include <utility>
#include <vector>

#include "neli_core/event.h"
#include "neli_core/ready.h"
#include "router/view/work_gate.h"

namespace neliroute {

struct EndedBarrier {
  BarrierDone done;
  LocalTime since;  ///< the partition stopped
};

class StoppedWork {
 public:
  explicit StoppedWork(std::shared_ptr<WorkGate> gate) : gate_(std::move(gate)) {}

  /// Call before the application is notified: work may begin where it leads, and no more where it
  /// stopped.
  void publish(const std::vector<Transition>& transitions);
  /// A partition stopped: requests its guards to stop, and waits for them.
  void stopped(const Transition& transition);
  /// The application completed its token.
  void token_done(const BarrierDone& barrier);
  /// Guards ended, as the gate reports.
  void look_again();
  /// Stops waiting for guards that outlived their barrier's deadline. Returns how many there were.
  [[nodiscard]] std::uint32_t abandon_overdue(LocalTime now);
  /// Under which no work goes on since the last call, whatever the application's token does.
  [[nodiscard]] std::vector<BarrierDone> take_without_work() {
    return std::exchange(without_work_, {});
  }
  /// Barriers that ended since the last call.
  [[nodiscard]] std::vector<EndedBarrier> take_done() { return std::exchange(done_, {}); }
  /// Keeps how long a barrier took, until the epoch's release was acknowledged.
  void keep_time(const BarrierDone& barrier, microseconds took);
  /// Zero: unknown.
  [[nodiscard]] microseconds take_time(Partition partition, const Epoch& epoch);
  /// When to call abandon_overdue().
  [[nodiscard]] LocalTime next_deadline() const noexcept { return next_deadline_; }

 private:
  struct Barrier {
    Epoch epoch;
    LocalTime deadline;
    LocalTime since;
    bool token_done = false;
    bool work_done = false;
  };
  struct Time {
    Epoch epoch;
    microseconds took;
  };
  using Barriers = std::map<Partition, Barrier>;
  void end_work(Barriers::iterator at);
  Barriers::iterator end_if_done(Barriers::iterator at);

  std::shared_ptr<WorkGate> gate_;
  Barriers barriers_;
  std::vector<EndedBarrier> done_;
  std::vector<BarrierDone> without_work_;
  std::map<Partition, Time> times_;
  LocalTime next_deadline_ = kNever;
};

}  // namespace neliroute
