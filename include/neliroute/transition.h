// One change of a partition of this process: it leads it, hands it over, or leads it no more.
//
// Threads: values, any.   Units: LocalTime.   Errors: none.
#pragma once

#include <cstdint>
#include <memory>
#include <neliroute/ids.h>
#include <neliroute/settings.h>
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

/// How a former ownership ended, as far as the records say.
enum class Ending : std::uint8_t {
  none,        ///< its owner still leads
  superseded,  ///< another process claimed the partition, and no release was read
  released,    ///< its owner finished, and said so
  expired,     ///< its owner fell silent
};
[[nodiscard]] const char* to_string(Ending ending) noexcept;

/// Who led a partition before.
struct Predecessor {
  ProcessInfo process;
  Epoch epoch;
  Ending ending = Ending::none;
};

/// One change of a partition, at the instant when the answer of owns() changed.
struct Transition {
  TransitionKind kind = TransitionKind::acquired;
  Partition partition;
  Epoch epoch;
  LocalTime at;
  StopReason reason = StopReason::none;
  /// stopped: the end of the lease. In exclusive mode nobody else leads before it, unless the
  /// barrier ended and the epoch was released.
  LocalTime barrier_deadline = kNever;
  /// acquired: the last owner that records told of; null: none did. Possibly this process.
  std::shared_ptr<const Predecessor> previous = nullptr;
  /// draining and stopped: the process that claimed the partition; null: nobody has.
  std::shared_ptr<const ProcessInfo> successor = nullptr;
  /// acquired: how long this process waited for its application to prepare, and to warm up.
  microseconds prepare{0};
  microseconds warm_up{0};
  /// released: from `stopped` until the application had finished.
  microseconds barrier{0};
};

}  // namespace neliroute
