// The state machine of one process, whichever variation of NELI it is: what a driver sees of it.
//
// Events come in through step() with the time at which they were noticed; take_ready() returns what
// must be done. Kafka, the Router's engine and a simulator drive any Core alike.
//
// Threads: one caller; leases() may be read by any thread.
// Units: std::chrono.   Errors: in Ready::refused and Ready::notices.
// Paper: "Protocol definition".
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <neliroute/ids.h>
#include <neliroute/time.h>
#include <optional>
#include <string_view>

#include "neli_core/event.h"
#include "neli_core/lease_vector.h"
#include "neli_core/ready.h"

namespace neliroute {

/// Records that were read and count for nothing, by the rules of either variation.
struct RejectedRecords {
  std::uint64_t stale = 0;             ///< of an epoch, or a time, that is over
  std::uint64_t refused_releases = 0;  ///< not by their owner
  std::uint64_t ahead = 0;             ///< stamped in the future
  std::uint64_t not_stamped = 0;       ///< by the broker
  std::uint64_t unassigned = 0;        ///< of a partition that is not assigned
};

/// The role states, in the words of the leader-and-followers seed.
enum class RoleState { following, looking, leading, draining };

/// Why an assigner does not plan now.
enum class WaitReason : std::uint8_t {
  unread_plan,  ///< its last assignment was not read back yet
  owners,       ///< a log is read anew, and not everybody has said what it owns
  newcomers,    ///< nobody owns anything, and more members may come
  dead,         ///< many members seem to have died at once
};
inline constexpr std::array<std::string_view, 4> kWaitReasons{"unread_plan", "owners", "newcomers",
                                                              "dead"};

/// Where a member assigns: what this one knows of the others and of that one, and what it did.
struct AssignmentStatus {
  std::size_t members = 0;  ///< that live, this one included
  bool assigns = false;     ///< it is this process
  std::uint64_t seats_claimed = 0;
  std::uint64_t assignments_written = 0;
  std::uint64_t assignments_refused = 0;  ///< of a former assigner
  std::uint64_t deaths = 0;
  std::uint64_t false_deaths = 0;  ///< and heard again
  std::uint64_t waits = 0;         ///< as many seemed dead at once
  std::uint64_t given_up = 0;      ///< designees that did not lead
  std::uint64_t yields = 0;        ///< times that it gave the seat to who reads better
  std::optional<WaitReason> waits_for;  ///< no value: it plans, or does not assign
  std::size_t overrides = 0;            ///< cordons, weights and pins that stand
  bool moves_paused = false;            ///< by an override
  std::uint64_t overrides_ignored = 0;  ///< as they did not fit into a record
};

struct KnownLane;

class Core {
 public:
  virtual ~Core() = default;

  /// Something happened; `now` was read after it. Times never run backwards.
  virtual void step(const Event& event, LocalTime now) = 0;
  /// Time passed. Due at next_deadline(); harmless at any other time.
  virtual void tick(LocalTime now) = 0;
  /// What to do now, in order. Records in it count as sent at the last step or tick.
  [[nodiscard]] virtual Ready take_ready() = 0;
  /// When to call tick() at the latest.
  [[nodiscard]] virtual LocalTime next_deadline() const noexcept = 0;

  [[nodiscard]] virtual const std::shared_ptr<LeaseVector>& leases() const noexcept = 0;
  [[nodiscard]] virtual RoleState role_state(Partition partition) const noexcept = 0;
  /// The epoch held, leading or not.
  [[nodiscard]] virtual std::optional<Epoch> epoch(Partition partition) const noexcept = 0;
  [[nodiscard]] virtual std::uint16_t generation(Partition partition) const noexcept = 0;
  /// The end of the lease, beyond which leases() may go while a log is silent.
  [[nodiscard]] virtual LocalTime lease_until(Partition partition) const noexcept {
    return leases()->get(partition).until;
  }
  [[nodiscard]] virtual bool closed() const noexcept = 0;
  [[nodiscard]] virtual RejectedRecords rejected() const noexcept = 0;
  /// How many members live besides this process, as their records show it. No value: there is a
  /// group, which knows.
  [[nodiscard]] virtual std::optional<std::size_t> other_members() const { return std::nullopt; }
  /// No value: no member assigns.
  [[nodiscard]] virtual std::optional<AssignmentStatus> assignment_status() const {
    return std::nullopt;
  }
  /// What it knows of members and overrides; valid until the next step or tick. Null: no member
  /// assigns. See shown() in assigner/lane_reader.h.
  [[nodiscard]] virtual const KnownLane* known_lane() const noexcept { return nullptr; }

  [[nodiscard]] bool leads(Partition partition, LocalTime now) const noexcept {
    return leases()->leads(partition, now);
  }

 protected:
  Core() = default;
  Core(const Core&) = default;
  Core(Core&&) noexcept = default;
  Core& operator=(const Core&) = default;
  Core& operator=(Core&&) noexcept = default;
};

}  // namespace neliroute
