// One change of a partition of this process: it leads it, hands it over, or leads it no more.
//
// Threads: values, any.   Units: LocalTime.   Errors: none.
#pragma once

#include <neliroute/ids.h>
#include <neliroute/time.h>

namespace neliroute {

enum class TransitionKind {
  acquired,         ///< leads from now on; again without `stopped`: see docs/operating.md, Fencing
  draining,         ///< still leads, until a successor does: prepare long transfers
  stopped,          ///< does not lead any more; finish, then complete the BarrierToken
  barrier_overdue,  ///< the barrier outlasted the lease: a successor may lead from now on
  released,         ///< the release was acknowledged
};
[[nodiscard]] const char* to_string(TransitionKind kind) noexcept;

enum class StopReason {
  none,
  superseded,  ///< another process claimed the partition
  closed,      ///< this process leaves
  lapsed,      ///< the ledger could not be reached for longer than the lease
  gap,         ///< the log was truncated or recreated
  conflict,    ///< this process's settings are not the group's
};
[[nodiscard]] const char* to_string(StopReason reason) noexcept;

/// One change of a partition, at the instant when the answer of owns() changed.
struct Transition {
  TransitionKind kind = TransitionKind::acquired;
  Partition partition;
  Epoch epoch;
  LocalTime at;
  StopReason reason = StopReason::none;
  /// stopped: the end of the lease; nobody else leads before it in exclusive mode.
  LocalTime barrier_deadline = kNever;
};

}  // namespace neliroute
