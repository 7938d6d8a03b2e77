// What an application hears about the partitions it owns, and how it answers.
//
// Threads: handlers run on the router's strand, and must not hold it for an interval, all calls in
//   one go together: nothing is renewed meanwhile. A BarrierToken: completed on any thread.
// Units: LocalTime.   Errors: none.
// goNELI: "Barriers" (LeaderAcquired, LeaderRevoked, LeaderFenced).
#pragma once

#include <functional>
#include <neliroute/ids.h>
#include <neliroute/time.h>
#include <utility>

namespace neliroute {

enum class TransitionKind {
  acquired,         ///< leads from now on; again without `stopped`: see docs/operating.md, Fencing
  draining,         ///< still leads, until a successor does: prepare long transfers
  stopped,          ///< does not lead any more; finish, then complete the BarrierToken
  barrier_overdue,  ///< the barrier outlasted the lease: a successor may lead from now on
  released,         ///< the release was acknowledged
};

enum class StopReason { none, superseded, closed, lapsed, gap, conflict };

/// One change of a partition, at the instant at which the answer of leads() changed.
struct Transition {
  TransitionKind kind = TransitionKind::acquired;
  Partition partition;
  Epoch epoch;
  LocalTime at;
  StopReason reason = StopReason::none;
  /// stopped: the end of the lease; nobody else leads before it in exclusive mode.
  LocalTime barrier_deadline = kNever;
};

[[nodiscard]] const char* to_string(TransitionKind kind) noexcept;
[[nodiscard]] const char* to_string(StopReason reason) noexcept;

/// Comes with TransitionKind::stopped. While it lives, the epoch is not released: finish what was
/// begun under it, then complete or drop the token. Exclusive: the successor waits for that, or
/// for Transition::barrier_deadline. It never holds up a rebalance.
class BarrierToken {
 public:
  BarrierToken() = default;
  explicit BarrierToken(std::function<void()> done) : done_(std::move(done)) {}
  BarrierToken(BarrierToken&& other) noexcept : done_(std::exchange(other.done_, nullptr)) {}
  BarrierToken& operator=(BarrierToken&& other) noexcept {
    if (this != &other) {
      complete();
      done_ = std::exchange(other.done_, nullptr);
    }
    return *this;
  }
  ~BarrierToken() { complete(); }

  /// The application is done. Idempotent.
  void complete() {
    if (auto done = std::exchange(done_, nullptr)) done();
  }

 private:
  std::function<void()> done_;
};

using TransitionHandler = std::function<void(const Transition&, BarrierToken)>;

}  // namespace neliroute
