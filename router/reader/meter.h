// What one process counts of its own part in the protocol, for metrics.
//
// Threads: written on the strand; everything const may be called by any thread, without a lock.
// Units: microseconds.   Errors: none.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>

#include "neli_core/core.h"
#include "neli_core/event.h"
#include "neli_core/ready.h"
#include "base/histogram.h"

namespace neliroute {

/// What the application does before this process leads.
enum class RunKind : std::uint8_t { prepare, warm_up };

enum class Count : std::uint8_t {
  records_own,
  records_other,
  ignored_not_json,
  ignored_unknown_type,
  ignored_no_lane,
  ignored_malformed,
  ignored_empty,
  ignored_other_lane,
  ignored_impossible_epoch,
  ignored_stale,             ///< it names an epoch, or (broadcast) a time, that is over
  ignored_refused_release,   ///< a release that is not its owner's
  ignored_ahead,             ///< broadcast: stamped in the future
  ignored_not_stamped,       ///< broadcast: not stamped by the broker
  ignored_unassigned,        ///< broadcast: of a partition that is not assigned
  writes_stored,
  writes_failed,
  rebalances_assigned,
  rebalances_revoked,
  rebalances_lost,
  heartbeats_expedited,  ///< sent before the next heartbeat was due
  acquired,
  stopped_superseded,
  stopped_closed,
  stopped_lapsed,
  stopped_gap,
  stopped_conflict,
  barriers_overdue,
  work_abandoned,
  log_gaps,
  prepares_late,  ///< the application had not prepared, or warmed up, in time
  warm_ups_late,
  waits_answered,
  waits_timed_out,
  waits_cancelled,
  waits_closed,  ///< this process closed, or failed
  waits_refused,
  unhealthy,       ///< 1: the application says so
  members_living,  ///< this and those below: where a member assigns
  assigns,         ///< 1: it is this process
  seats_claimed,
  assignments_written,
  assignments_refused,
  member_deaths,
  member_false_deaths,
  assignment_waits,
  designees_given_up,
  seats_yielded,
  assigner_waits,  ///< 0: it does not wait; else one more than the reason
  overrides,
  moves_paused,  ///< 1: by an override
  overrides_ignored,
  end,
};

class Meter {
 public:
  Meter(ProcessId self, Lane lane, std::uint32_t logs) : self_(self), lane_(lane), logs_(logs) {}

  /// Before and after the state machine, if there is one, took the event.
  void before(const Event& event, const Core* core, LocalTime now);
  void after(const Core* core, const RejectedRecords& rejected, LocalTime now);
  /// Counts what is to be done now.
  void note(const Ready& ready, LocalTime now);
  /// What a member assigned; what a group does comes with its events.
  void note(const AssignmentChange& change, const Core* core, LocalTime now);
  void note(const AssignmentStatus& status);
  /// A watcher's tail is restarted.
  void note_log_gap() { add(Count::log_gaps); }
  void note_health(bool healthy) { set(Count::unhealthy, healthy ? 0 : 1); }
  /// Guards of work outlived their barrier's deadline.
  void note_abandoned(std::uint32_t guards) { add(Count::work_abandoned, guards); }
  /// A caller waited for an owner, and that ended so.
  void note_wait(Count how) { add(how); }
  /// Listeners prepared, or warmed up, for a partition; or did not in time.
  void note_run(RunKind kind, microseconds took) {
    (kind == RunKind::prepare ? prepares_ : warm_ups_).note(took);
  }
  void note_late(RunKind kind) {
    add(kind == RunKind::prepare ? Count::prepares_late : Count::warm_ups_late);
  }
  /// From `stopped` until the application had finished.
  void note_barrier(microseconds took) { barriers_.note(took); }
  /// How long partitions had no owner, or two, when they moved.
  void note_gaps(std::span<const microseconds> gaps);
  void note_overlaps(std::span<const microseconds> overlaps);

  [[nodiscard]] std::uint64_t count(Count of) const noexcept {
    return counts_[static_cast<std::size_t>(of)].load(std::memory_order_relaxed);
  }
  /// When the group last assigned or revoked anything; kLongAgo: never.
  [[nodiscard]] LocalTime last_rebalance() const noexcept {
    return last_rebalance_.load(std::memory_order_relaxed);
  }
  /// From handing a record over to reading it back.
  [[nodiscard]] const Histogram& claim_round_trips() const noexcept { return claim_round_trips_; }
  [[nodiscard]] const Histogram& renewal_round_trips() const noexcept {
    return renewal_round_trips_;
  }
  /// From being notified of an assignment to leading all of it.
  [[nodiscard]] const Histogram& rebalance_durations() const noexcept {
    return rebalance_durations_;
  }
  [[nodiscard]] std::uint32_t assigned_partitions() const noexcept {
    return assigned_count_.load(std::memory_order_relaxed);
  }
  /// It was assigned some, and leads all of them. On the strand.
  [[nodiscard]] bool leads_all_assigned() const noexcept {
    return !assigned_.empty() && awaited_.empty();
  }
  /// How much of the lease was left when a renewal extended it.
  [[nodiscard]] const Histogram& lease_margins() const noexcept { return lease_margins_; }
  [[nodiscard]] const Histogram& prepares() const noexcept { return prepares_; }
  [[nodiscard]] const Histogram& warm_ups() const noexcept { return warm_ups_; }
  [[nodiscard]] const Histogram& barriers() const noexcept { return barriers_; }
  [[nodiscard]] const Histogram& gaps() const noexcept { return gaps_; }
  [[nodiscard]] const Histogram& overlaps() const noexcept { return overlaps_; }

 private:
  void add(Count to, std::uint64_t more = 1) noexcept { set(to, count(to) + more); }
  void set(Count to, std::uint64_t value) noexcept {
    counts_[static_cast<std::size_t>(to)].store(value, std::memory_order_relaxed);
  }
  void hear_group(const GroupAssigned& event, const Core* core, LocalTime now);
  void hear_group(const GroupRevoked& event, const Core* core, LocalTime now);
  void note_assigned(LocalTime now);
  void hear(const Received& event, const Core* core, LocalTime now);
  void hear_own(Log log, const Record& record, const Core* core, LocalTime now);
  void note(const Transition& transition, LocalTime now);

  ProcessId self_;
  Lane lane_;
  std::uint32_t logs_;
  std::array<std::atomic<std::uint64_t>, static_cast<std::size_t>(Count::end)> counts_{};
  std::atomic<LocalTime> last_rebalance_{kLongAgo};
  Histogram claim_round_trips_;
  Histogram renewal_round_trips_;
  Histogram rebalance_durations_;
  Histogram lease_margins_;
  Histogram prepares_;
  Histogram warm_ups_;
  Histogram barriers_;
  Histogram gaps_;
  Histogram overlaps_;
  std::set<Partition> assigned_;
  std::atomic<std::uint32_t> assigned_count_ = 0;
  std::set<Partition> awaited_;  ///< assigned, and not led yet
  LocalTime awaited_since_ = kLongAgo;
  std::map<std::uint64_t, LocalTime> sent_;  ///< by seq, until it is read
  /// Of an own renewal that is being processed: the partition whose lease ended first, and when.
  std::optional<std::pair<Partition, LocalTime>> renewed_;
};

}  // namespace neliroute
