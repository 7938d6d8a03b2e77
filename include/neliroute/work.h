// Work: a guard for what an application does under one ownership of a slot.
//
//   if (auto work = router.begin(slot)) { ... store(work.epoch()); }    // else: not the owner
//
// While it lives, the partition's barrier does not end: when the process stops leading, its
// successor waits for it in exclusive mode. It does not wait for ever: at the barrier's deadline,
// the end of the lease, the guard is abandoned and counted (neliroute_work_abandoned_total). So a
// guard keeps a successor away for the rest of the lease, and the store's comparison of epochs
// protects what takes longer. Work that can be cut short should heed stop_requested() or the
// token.
//
// Threads: a guard may be moved to, and destroyed on, any thread, one at a time. It may outlive the
//   Router; nothing waits for it then.
// Units: none.   Errors: none.
#pragma once

#include <cstdint>
#include <neliroute/ids.h>
#include <stop_token>
#include <utility>

namespace neliroute {

class WorkGate;

class [[nodiscard]] Work {
 public:
  /// No work; nothing waits for it.
  Work() noexcept = default;
  Work(Work&& other) noexcept
      : gate_(std::exchange(other.gate_, nullptr)),
        ticket_(other.ticket_),
        partition_(other.partition_),
        epoch_(other.epoch_) {}
  Work& operator=(Work&& other) noexcept {
    if (this != &other) {
      end();
      gate_ = std::exchange(other.gate_, nullptr);
      ticket_ = other.ticket_;
      partition_ = other.partition_;
      epoch_ = other.epoch_;
    }
    return *this;
  }
  ~Work() { end(); }

  /// False: this process did not lead the slot.
  [[nodiscard]] explicit operator bool() const noexcept { return gate_ != nullptr; }
  /// What a store should compare; the epoch under which the work was begun.
  [[nodiscard]] const Epoch& epoch() const noexcept { return epoch_; }
  [[nodiscard]] Partition partition() const noexcept { return partition_; }
  /// Whether the process has stopped leading since: finish soon. False for no work.
  [[nodiscard]] bool stop_requested() const { return gate_ != nullptr && asked_to_stop(); }
  /// The same for code that waits. Callbacks run on the router's strand, and must not block it. The
  /// first token of a partition since it was acquired allocates. For no work: one that never stops.
  [[nodiscard]] std::stop_token stop_token() const;
  /// Ends the work, as destroying it does. Idempotent.
  void end() noexcept {
    if (gate_ != nullptr) finish();
  }

 private:
  friend class WorkGate;
  Work(WorkGate* gate, std::uint64_t ticket, Partition partition, const Epoch& epoch) noexcept
      : gate_(gate), ticket_(ticket), partition_(partition), epoch_(epoch) {}
  void finish() noexcept;
  [[nodiscard]] bool asked_to_stop() const;

  WorkGate* gate_ = nullptr;  ///< lives as long as a guard of it
  std::uint64_t ticket_ = 0;
  Partition partition_;
  Epoch epoch_ = kNoEpoch;
};

}  // namespace neliroute
