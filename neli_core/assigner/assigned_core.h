// The claims protocol, assigned to by a member of the lane instead of by Kafka's group: what is
// claimed, and who leads, is decided by ClaimProtocol alone, to which an assignment is what the
// group's assign and revoke are (rule A4). Beside it, every member says in log 0 that it lives
// (A1), one holds the seat (A2), and that one names who should claim what.
//
// No clock, I/O, thread or random number inside. Ready never asks for the group here.
//
// Threads: one caller; leases() may be read by any thread.   Units: std::chrono.
// Errors: make() refuses bad options; later ones are in Ready::refused and Ready::notices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <neliroute/error.h>
#include <optional>
#include <string>
#include <vector>

#include "neli_core/assigner/known_lane.h"
#include "neli_core/assigner/own_reading.h"
#include "neli_core/assigner/planning/assigner.h"
#include "neli_core/assigner/yielding.h"
#include "neli_core/claimed/claim_protocol.h"
#include "neli_core/core.h"
#include "neli_core/mutation.h"

namespace neliroute {

struct AssignedOptions {
  /// `variation` inside its settings is set by make().
  CoreOptions core;
  /// Silent for longer, this process is taken for dead. At least 3 intervals.
  milliseconds session{0};
  std::uint32_t weight = 1;
  std::uint32_t seat_priority = kSeatPriorityDefault;
  bool cordoned = false;
  std::string host;
  std::string zone;
};

/// What an assigner and its members met.
struct AssignmentCounters {
  std::uint64_t seats_claimed = 0;
  std::uint64_t assignments_written = 0;
  std::uint64_t assignments_obeyed = 0;
  std::uint64_t assignments_refused = 0;  ///< under a seat that is not the newest
  std::uint64_t deaths = 0;
  std::uint64_t yields = 0;  ///< times that it gave the seat to a member that reads better
};

class AssignedCore final : public Core {
 public:
  [[nodiscard]] static Result<AssignedCore> make(AssignedOptions options);

  void step(const Event& event, LocalTime now) override;
  void tick(LocalTime now) override;
  [[nodiscard]] Ready take_ready() override;
  [[nodiscard]] LocalTime next_deadline() const noexcept override;

  [[nodiscard]] const std::shared_ptr<LeaseVector>& leases() const noexcept override {
    return claims_.leases();
  }
  [[nodiscard]] RoleState role_state(Partition partition) const noexcept override {
    return claims_.role_state(partition);
  }
  [[nodiscard]] std::optional<Epoch> epoch(Partition partition) const noexcept override {
    return claims_.epoch(partition);
  }
  [[nodiscard]] std::uint16_t generation(Partition partition) const noexcept override {
    return claims_.generation(partition);
  }
  [[nodiscard]] LocalTime lease_until(Partition partition) const noexcept override {
    return claims_.lease_until(partition);
  }
  [[nodiscard]] bool closed() const noexcept override { return claims_.closed(); }
  [[nodiscard]] RejectedRecords rejected() const noexcept override { return claims_.rejected(); }

  [[nodiscard]] std::optional<std::size_t> other_members() const override {
    return known_.members.takers_besides(core().id, known_.overrides.standing());
  }

  [[nodiscard]] std::optional<AssignmentStatus> assignment_status() const override;

  [[nodiscard]] const KnownLane* known_lane() const noexcept override { return &known_; }

  [[nodiscard]] const ClaimProtocol& claims() const noexcept { return claims_; }
  [[nodiscard]] const Members& members() const noexcept { return known_.members; }
  [[nodiscard]] const Seat& seat() const noexcept { return known_.seat; }
  [[nodiscard]] const Designations& designations() const noexcept { return known_.designations; }
  [[nodiscard]] const Overrides& overrides() const noexcept { return known_.overrides; }
  /// Members that were taken for dead at the last step or tick.
  [[nodiscard]] const std::vector<ProcessId>& deaths() const noexcept { return deaths_; }
  [[nodiscard]] const AssignmentCounters& counters() const noexcept { return counters_; }

 private:
  AssignedCore(AssignedOptions options, ClaimProtocol claims);

  // receiving.cc: what records say of members, seat and designations.
  void receive(const Received& event);
  void on_assignment(const Received& event, const AssignmentRecord& record);
  void note_ignored(const Override& override);
  void obey(const AssignmentRecord& assign, bool history);
  void catch_up();
  void note_passed(const Received& event);
  void note_record(const Received& event, const Record& record);
  void note_own(const Received& event, const Record& record);
  void note_tail(const TailStarted& event);
  void note_progress(Log log, bool was_caught_up);

  // deciding.cc: claiming the seat, assigning, leaving.
  void advance();
  void advance_seat();
  void advance_yielding();
  void claim_seat();
  void keep_flowing();
  void assign();
  void leave();
  void repeat_overrides();
  void list_overrides();
  [[nodiscard]] bool is_asked() const;
  [[nodiscard]] bool reads_own() const { return reading_.in_time(now_); }
  [[nodiscard]] microseconds own_lag() const {
    return reading_.lag(now_).value_or(microseconds{0});
  }
  [[nodiscard]] AssignmentRecord own_record(AssignmentType type);
  void write(const AssignmentRecord& record);
  void write_assignments(const std::vector<Designation>& designations);
  [[nodiscard]] MemberFields own_fields() const;
  [[nodiscard]] std::optional<PartitionRanges> preparing_parts() const;
  void give(const PartitionRanges& partitions);
  void take(const PartitionRanges& partitions);

  [[nodiscard]] const CoreOptions& core() const noexcept { return claims_.options(); }

  AssignedOptions options_;
  ClaimProtocol claims_;
  KnownLane known_;
  std::vector<bool> given_;  ///< by partition: what the claims protocol takes for assigned to it
  bool behind_ = false;      ///< it is not told yet what the history of log 0 changed
  Assigner assigner_;
  AssignmentCounters counters_;
  std::vector<ProcessId> deaths_;
  Ready ready_;  ///< what is not from the claims
  LocalTime now_ = kLongAgo;
  OwnReading reading_;
  Yielding yielding_;
  LocalTime yielded_ = kLongAgo;  ///< when the holder asked this process to claim the seat
  std::uint64_t gaps_ = 0;       ///< of log 0, as its members' records show them
  LocalTime flowed_ = kLongAgo;  ///< when it last wrote to log 0
  LocalTime flow_due_ = kNever;
  bool member_ = mutated(Mutation::joins_at_once);  ///< it takes part
  bool left_ = false;
  std::uint64_t next_seq_;
  std::uint64_t last_assign_ = 0;   ///< the seq of the assignment that was written last
  LocalTime listed_ = kLongAgo;     ///< when it wrote a list of overrides
  LocalTime list_due_ = kNever;
  LocalTime seat_claimed_ = kLongAgo;
  LocalTime seat_claim_due_ = kNever;
};

}  // namespace neliroute
