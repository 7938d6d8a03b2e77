// One process of a run: the production state machine and directory, its clock, and the client
// side of its ledger, which only carries messages and decides nothing.
//
// Threads: one.   Units: true time, microseconds, unless the type says LocalTime.   Errors: none.
#pragma once

#include <array>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "neli_core/assigner/assigned_core.h"
#include "neli_core/claimed/claim_protocol.h"
#include "neli_core/leaving/withdrawal.h"
#include "router/view/directory.h"
#include "router/view/route_view.h"
#include "tests/sim/random.h"
#include "tests/sim/world/event_queue.h"
#include "tests/sim/world/group.h"

namespace neliroute::sim {

inline constexpr std::size_t kLogsMax = 8;
inline constexpr std::size_t kPartitionsMax = 64;
inline constexpr std::size_t kCoordinator = kLogsMax;

/// Messages in one direction do not pass before then; they wait.
struct Link {
  Time there_until = 0;
  Time back_until = 0;
  [[nodiscard]] Time both_until() const {
    return there_until > back_until ? there_until : back_until;
  }
};

/// The reader of one log.
struct Reader {
  bool running = false;
  Time fetch_at = 0;  ///< 0: none is planned
  std::int64_t next = 0;
  std::int64_t version = 0;
  std::uint64_t topic = 0;  ///< which incarnation it reads
  Time last_landing = 0;    ///< of what this process wrote to the log
  /// Where a tail reads the newest records only: these, below the end at its start.
  std::vector<std::int64_t> newest;
  std::int64_t whole_from = 0;        ///< from there on all of them
  bool compacted = false;             ///< what it would read next is gone
  Time answered_at = 0;     ///< when the process last heard something of it
  Time history_from = 0;    ///< when it began to read all that was there
};

/// The group client: rebalance events strictly one after another.
struct Membership {
  struct Rebalance {
    bool assign = false;
    bool lost = false;
    PartitionBits parts = 0;
  };
  bool wanted = false;
  bool announced = false;  ///< the first of `pending` is with the core
  bool asking = false;     ///< a heartbeat or join is unanswered
  bool join_wanted = false;
  bool joining = false;    ///< classic: waits for the assignment
  std::uint32_t id = 0;
  std::uint32_t membership = 0;  ///< counts those that it gave up
  std::uint32_t joins = 0;
  PartitionBits owned = 0;
  std::deque<Rebalance> pending;
  std::int64_t beat = 0;   ///< counts heartbeat timers: a newer one replaces an older
  Time asked_at = 0;
  Time asked_first = 0;    ///< the oldest that was not answered
  Time answered = 0;       ///< when the newest that was answered, was asked
  Time last_message = 0;   ///< replies keep their order
  Time last_request = 0;   ///< and so do requests

  /// Counting what the core is about to be notified of.
  [[nodiscard]] PartitionBits owned_soon() const {
    PartitionBits bits = owned;
    for (const Rebalance& r : pending) bits = r.assign ? bits | r.parts : bits;
    return bits;
  }
};

/// A step that a process was stopped in: before it was taken, or before it was carried out.
struct UnfinishedStep {
  std::optional<Event> event;
  LocalTime clock;
  Ready ready;
  std::unique_ptr<Decoded> value;

  /// The log may lose what was received meanwhile.
  void keep_value() {
    auto* const received = std::get_if<Received>(&*event);
    if (received == nullptr || received->value == nullptr) return;
    value = std::make_unique<Decoded>(*received->value);
    received->value = value.get();
  }
};

struct Node {
  std::uint8_t index = 0;
  std::uint8_t lane = 0;
  std::uint16_t life = 0;  ///< which start of it this is; events of an earlier one are void
  bool alive = false;
  bool closing = false;
  Time left_at = 0;  ///< a member: when it was asked to leave with its whole bound
  bool other_settings = false;  ///< than the group's: it has to refuse
  std::unique_ptr<Core> core;
  milliseconds lease{0};
  std::optional<Directory> directory;
  std::unique_ptr<RouteView> view;
  Time started_at = 0;
  Time clock_offset = 0;
  std::int64_t drift_ppm = 0;
  Time paused_until = 0;
  Time stop_inside_until = 0;  ///< of the next step
  Time client_until = 0;       ///< while its executor hangs: until when its client runs on
  std::optional<UnfinishedStep> unfinished;
  LocalTime armed_for = kNever;
  std::uint32_t armed = 0;  ///< how often: a timer that was set before the last one is void
  LocalTime last_now;  ///< of the last event
  std::array<Reader, kLogsMax> readers;
  std::array<Link, kLogsMax + 1> links;
  std::array<Time, kLogsMax> forbidden_until{};  ///< what it writes there is refused
  Time reads_late = 0;         ///< what it reads, and what it writes, all the time
  Time writes_late = 0;
  BrokerTime latest_read{};     ///< the latest stamp that it has read
  Time tail_since = 0;         ///< when its tail of log 0 last started
  Time unable_until = 0;       ///< a log is forbidden, or its leader out of reach
  std::optional<Withdrawal> withdrawal;  ///< where a run has such faults
  Membership member;
  /// `broadcast`: what it hears next of each partition, and whether that is under way.
  std::array<std::int64_t, kPartitionsMax> heard{};
  std::array<bool, kPartitionsMax> hearing{};
  Time wall_offset = 0;
  Random random;
  ProcessId id = kNobody;
  std::vector<ProcessId> ids;  ///< of all its lives
  /// What its application prepares or warms up for: which run, and (the latter) until when at most.
  std::array<std::int64_t, kPartitionsMax> prepare_run{};
  std::array<std::int64_t, kPartitionsMax> warm_run{};
  std::array<LocalTime, kPartitionsMax> warm_until{};
  std::int64_t runs = 0;
  /// What the lease vector said after the last event.
  std::array<LocalTime, kPartitionsMax> leases{};
  /// The greatest epoch that it acquired, and that its directory knew, since it started.
  std::array<Epoch, kPartitionsMax> acquired{};
  std::array<Epoch, kPartitionsMax> hinted{};
  /// Of which acquisition it last heard that the store refuses it, and when.
  std::array<std::uint64_t, kPartitionsMax> refused_ownership{};
  std::array<Time, kPartitionsMax> refused_at{};
  /// Since when it does not know who leads; 0: it knows, or nobody does.
  std::array<Time, kPartitionsMax> unaware_since{};

  /// Null: `broadcast`.
  [[nodiscard]] const ClaimProtocol* claims() const {
    const AssignedCore* const assigned = assigned_core();
    return assigned ? &assigned->claims() : dynamic_cast<const ClaimProtocol*>(core.get());
  }
  /// Null: a group assigns.
  [[nodiscard]] const AssignedCore* assigned_core() const {
    return dynamic_cast<const AssignedCore*>(core.get());
  }
  [[nodiscard]] bool reads(std::uint32_t partition) const {
    return (member.owned >> partition & 1U) != 0;
  }
  [[nodiscard]] LocalTime local(Time now) const {
    return LocalTime{microseconds{clock_offset + now + now * drift_ppm / 1'000'000}};
  }
  /// The first true time at which the clock shows `local_time` or more.
  [[nodiscard]] Time true_time(LocalTime local_time) const {
    const Time x = local_time.time_since_epoch().count() - clock_offset;
    Time t = x - x * drift_ppm / (1'000'000 + drift_ppm);
    while (t + t * drift_ppm / 1'000'000 < x) ++t;
    while (t - 1 + (t - 1) * drift_ppm / 1'000'000 >= x) --t;
    return t;
  }
};

}  // namespace neliroute::sim
