// The NELI protocol, variation `broadcast`, as a pure state machine: the paper's own.
//
// Every process writes a record without key and value to all M partitions every interval, and
// joins one consumer group. V[i] is the broker's time of the newest record that it read from a
// partition i that the group assigned to it; it leads role j while V[j mod M] is newer than
// now - T. Exclusive: T + e < session, and a new assignee answers "no" for a grace of T. Unlike
// ClaimProtocol it trusts the group: a process that the coordinator removed, that is not notified
// and can still read goes on leading beside its successor. docs/protocol.md section 6 lists what it
// assumes.
//
// V is kept as a lease in this machine's CLOCK_BOOTTIME: V[i] + T, converted from the broker's
// clock by way of the wall clock when each record is read. |broker - wall| <= e at that instant is
// all it needs of the wall clock; a later step of that clock changes nothing.
//
// Threads: one caller; leases() may be read by any thread.
// Units: std::chrono.
// Errors: make() refuses options that break an inequality; later ones are in Ready.
// Paper: "Protocol definition", "Further considerations".
#pragma once

#include <cstdint>
#include <memory>
#include <neliroute/error.h>
#include <optional>
#include <vector>

#include "neli_core/broadcast/hint_claims.h"
#include "neli_core/core.h"
#include "neli_core/deadline_tree.h"
#include "neli_core/leaving/barriers.h"
#include "neli_core/leaving/closing.h"
#include "neli_core/options.h"

namespace neliroute {

struct BroadcastOptions {
  /// Its `clock_error` is not used: two brokers are compared by 2 x `local_clock_error`.
  CoreOptions core;
  /// The session in force, which T is compared with.
  milliseconds session{3000};
  /// e: how far the broker's clock and this machine's wall clock may be apart.
  milliseconds local_clock_error{150};
  /// How many groups share the topic; each broadcasts that many times less often.
  std::uint32_t groups = 1;
  /// Claims are written as well, so that others find the owner and settings are compared.
  bool hints = false;
  /// Exclusive mode ignores records that their writers stamped. Off for a broker that has no other
  /// time.
  bool require_broker_time = true;

  /// Time between two broadcasts of this process.
  [[nodiscard]] milliseconds beat() const noexcept { return core.interval * groups; }
  /// CoreOptions::validate(), and the paper's inequalities, with both numbers.
  [[nodiscard]] Result<void> validate() const;
};

struct BroadcastCounters {
  std::uint64_t broadcasts = 0;
  std::uint64_t records_heard = 0;
  /// Older than T when read: a backlog, or a wall clock that is ahead.
  std::uint64_t records_stale = 0;
  /// Stamped more than e in the future: this machine's wall clock is behind.
  std::uint64_t records_ahead = 0;
  /// Stamped by their writers, and so ignored.
  std::uint64_t records_not_stamped = 0;
  /// Of a partition that is not assigned (any more).
  std::uint64_t records_unassigned = 0;
  std::uint64_t lapses = 0;
};

class Broadcast final : public Core {
 public:
  [[nodiscard]] static Result<Broadcast> make(BroadcastOptions options);
  Broadcast(Broadcast&&) noexcept = default;
  Broadcast& operator=(Broadcast&&) noexcept = default;

  void step(const Event& event, LocalTime now) override;
  void tick(LocalTime now) override;
  [[nodiscard]] Ready take_ready() override;
  [[nodiscard]] LocalTime next_deadline() const noexcept override;

  [[nodiscard]] const std::shared_ptr<LeaseVector>& leases() const noexcept override {
    return leases_;
  }
  [[nodiscard]] RoleState role_state(Partition partition) const noexcept override;
  /// Broker time and offset of the record that made it lead: tells ownerships apart, and rises as
  /// long as the paper's assumptions hold. It is no fence: two leaders at once may have any order.
  /// The hint claims have epochs of their own, which only say whose hint is newer.
  [[nodiscard]] std::optional<Epoch> epoch(Partition partition) const noexcept override;
  [[nodiscard]] std::uint16_t generation(Partition partition) const noexcept override {
    return state(partition).generation;
  }
  [[nodiscard]] bool closed() const noexcept override {
    return closing_.stage() == ClosingStage::closed;
  }
  [[nodiscard]] RejectedRecords rejected() const noexcept override {
    return {counters_.records_stale, 0, counters_.records_ahead, counters_.records_not_stamped,
            counters_.records_unassigned};
  }

  [[nodiscard]] const BroadcastOptions& options() const noexcept { return options_; }
  [[nodiscard]] const BroadcastCounters& counters() const noexcept { return counters_; }
  /// V[i]; no value: nothing was read from it yet.
  [[nodiscard]] std::optional<BrokerTime> newest(Partition partition) const noexcept {
    return state(partition).newest;
  }

 private:
  struct State {
    bool assigned = false;
    /// Exclusive: assigned + T.
    LocalTime grace_end = kLongAgo;
    std::optional<BrokerTime> newest;  ///< V[i]
    std::int64_t newest_offset = -1;
    LocalTime lease_until = kLongAgo;  ///< V[i] + T, on this machine's clock
    bool leading = false;
    bool draining = false;
    Epoch epoch = kNoEpoch;
    std::uint16_t generation = 0;
  };

  explicit Broadcast(BroadcastOptions options);

  void on(const Heard& event);
  void on(const PartitionsCounted& event);
  void on(const EpochRefused&) {}  // its epochs are no fence
  void on(const GroupAssigned& event);
  void on(const GroupRevoked& event);
  void on(const BarrierDone& event);
  void on(const CloseRequested& event);
  void on(const GapFound& event);
  /// The other events are of the logs, which carry the hint claims.
  template <class Other>
  void on(const Other&) {}

  [[nodiscard]] bool heeded(const Heard& event);
  void evaluate(Partition partition);
  [[nodiscard]] bool may_lead(Partition partition) const;
  void start(Partition partition);
  void stop(Partition partition, StopReason reason, LocalTime at);
  void revoke(Partition partition);
  void schedule_broadcast();
  void advance_subscription();
  [[nodiscard]] LocalTime joins_by() const noexcept;
  void advance_closing();
  [[nodiscard]] bool has_stopped() const { return closing_.stage() >= ClosingStage::stopping; }
  void end_drains();
  void other_partition_count(std::uint32_t count, const char* least);
  void refuse(Error error, LocalTime drain_until);
  void notice_once(bool& told, Severity severity, std::string text);
  void announce(TransitionKind kind, Partition partition);

  [[nodiscard]] State& state(Partition p) { return partitions_[p.value()]; }
  [[nodiscard]] const State& state(Partition p) const { return partitions_[p.value()]; }
  [[nodiscard]] bool exclusive() const { return options_.core.mode == Mode::exclusive; }
  [[nodiscard]] milliseconds lease() const { return options_.core.lease; }
  [[nodiscard]] std::uint32_t partition_count() const {
    return options_.core.settings.partitions;
  }

  BroadcastOptions options_;
  std::shared_ptr<LeaseVector> leases_;
  std::vector<State> partitions_;
  DeadlineTree deadlines_;
  Barriers barriers_;
  ClosingState closing_;
  std::optional<HintClaims> beside_;
  BroadcastCounters counters_;
  Ready ready_;
  LocalTime now_ = kLongAgo;
  std::optional<LocalTime> first_now_;
  LocalTime next_broadcast_ = kLongAgo;
  bool broadcast_due_ = false;
  bool subscribed_ = false;
  std::uint32_t leading_count_ = 0;
  bool ahead_told_ = false;
  bool stale_told_ = false;
  bool not_stamped_told_ = false;
  std::optional<std::uint32_t> count_told_;
};

}  // namespace neliroute
