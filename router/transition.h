// What an application hears about the partitions it owns, and how it answers.
//
// Threads: handlers run on the router's strand, and must not hold it for an interval, all calls in
//   one go together: nothing is renewed meanwhile. A BarrierToken: completed on any thread.
// Units: LocalTime.   Errors: none.
// goNELI: "Barriers" (LeaderAcquired, LeaderRevoked, LeaderFenced).
#pragma once

#include <functional>
#include <utility>

#include "neli_core/ready.h"

namespace neliroute {

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
