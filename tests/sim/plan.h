// What one run is made of: everything follows from the seed, and can be narrowed by hand.
//
// Threads: values.   Units: true time, microseconds.   Errors: none.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "neli_core/options.h"
#include "neli_core/timing.h"
#include "tests/sim/beyond.h"
#include "tests/sim/faults.h"
#include "tests/sim/random.h"
#include "tests/sim/stores.h"
#include "tests/sim/world/event_queue.h"

namespace neliroute::sim {

enum class Assigning { consumer, cooperative, eager, assigner };
[[nodiscard]] const char* to_string(Assigning assigning) noexcept;

/// The mode of that name.
[[nodiscard]] std::optional<Mode> mode_named(std::string_view name) noexcept;

/// What is asked for; what is not given follows from the seed.
struct Request {
  std::uint64_t seed = 1;
  Mode mode = Mode::exclusive;
  Variation variation = Variation::claimed;
  bool assigner = false;                 ///< a member assigns, and no group
  Store store = Store::kafka;            ///< another than Kafka has no group
  BeyondSet beyond;                      ///< assumptions of `broadcast` that do not hold
  FaultSet without;                      ///< kinds to leave out
  bool all_faults = false;               ///< every kind that the mode allows
  std::optional<std::uint32_t> processes;
  std::optional<std::uint32_t> partitions;
  std::optional<std::uint32_t> logs;
  std::optional<Profile> profile;
  std::optional<Time> chaos;             ///< how long things go wrong
  bool trace = false;
  bool audit = false;  ///< the logs, in the end; not for what does not hold

  /// Not all that a seed draws happens, or not for as long; or there must be two leaders.
  [[nodiscard]] bool is_narrowed() const {
    return !without.empty() || all_faults || processes || partitions || logs || profile || chaos ||
           (variation == Variation::broadcast && !beyond.empty());
  }
};

/// Whether some seed has it.
[[nodiscard]] bool is_possible(Fault fault, const Request& request);

struct Plan {
  Request request;
  std::uint32_t processes = 0;
  std::uint32_t partitions = 0;
  std::uint32_t logs = 0;
  std::uint32_t lanes = 1;  ///< process i is of lane i % lanes
  Profile profile = Profile::balanced;
  Assigning assigning = Assigning::consumer;
  Timing timing;
  Timing beside;  ///< with Fault::broadcast_beside: of lane 1
  FaultSet faults;
  /// Per kind: mean time between two, or for writes and records the chance in 1000.
  std::array<std::int64_t, kFaultCount> rates{};
  Time chaos = 0;
  /// When everything must be led again after the faults have ended.
  Time recovery = 0;
  /// A message's delay is between the two.
  Time latency_min = 0;
  Time latency_max = 0;
  std::int64_t end_percent = 0;  ///< how often a reader is told that it read all
  /// Whether a heartbeat that the core wants early is sent early; it comes at the interval if not.
  bool expedites = true;
  bool hints = false;            ///< `broadcast`: claims travel beside
  std::size_t record_bytes_max = kRecordBytesMax;
  /// How long applications may prepare, and warm up. 0: they are not asked to.
  milliseconds prepare_timeout{0};
  /// Non-exclusive mode: for how long owners serve on, and hints are believed, in a silence.
  milliseconds serve_stale{0};
  /// Where a member assigns: what its processes state in turn, each in its first life, and the
  /// next one in its second. Empty: none states any.
  std::vector<std::uint32_t> seat_priorities;
  bool only_unable = false;      ///< forbidden, or out of reach, for long, and nothing else
  bool exact_tail = false;       ///< starts at the very record the rule names, not some before

  /// Of a process: what it states in that life.
  [[nodiscard]] std::uint32_t seat_priority(std::uint32_t process, std::uint32_t life) const {
    if (seat_priorities.empty()) return kSeatPriorityDefault;
    return seat_priorities[(process + life) % seat_priorities.size()];
  }
  [[nodiscard]] bool exclusive() const { return request.mode == Mode::exclusive; }
  [[nodiscard]] const StoreKind& store() const { return kind_of(request.store); }
  [[nodiscard]] bool broadcast() const { return request.variation == Variation::broadcast; }
  [[nodiscard]] bool assigner() const { return assigning == Assigning::assigner; }
  /// All members of the group join anew for each rebalance.
  [[nodiscard]] bool classic() const {
    return assigning == Assigning::cooperative || assigning == Assigning::eager;
  }
  [[nodiscard]] bool beyond(Beyond what) const { return request.beyond.has(what); }
  /// An assumption does not hold: two may lead, and what protects is the store alone.
  [[nodiscard]] bool beyond_claimed() const { return !broadcast() && !request.beyond.empty(); }
  /// No silence outlasts it.
  [[nodiscard]] bool serves_on() const { return serve_stale.count() * kMs > chaos; }
  /// After a fault an owner may stop for it for as long: a lease, until it has shown that it is
  /// back; and where it serves on for less than faults last, that time more.
  [[nodiscard]] Time stops_within() const {
    return lease() + (serves_on() ? 0 : serve_stale.count() * kMs);
  }
  /// Whether a client whose coordinator has not answered for a session gives up by itself.
  [[nodiscard]] bool notices_expulsion() const {
    return broadcast() && exclusive() && !beyond(Beyond::expelled_unnoticed);
  }
  /// How far two clocks may be apart: of brokers, or (`broadcast`) of broker and process.
  [[nodiscard]] Time clock_error() const {
    return (broadcast() ? timing.local_clock_error : timing.clock_error).count() * kMs;
  }
  /// How far each of them is off, at most.
  [[nodiscard]] Time skew() const;
  /// Of a part, which is a partition of a lane.
  [[nodiscard]] std::uint32_t log_of(std::uint32_t part) const { return part % partitions % logs; }
  [[nodiscard]] bool has(Fault fault) const { return faults.has(fault); }
  [[nodiscard]] std::int64_t rate(Fault fault) const {
    return rates[static_cast<std::size_t>(fault)];
  }
  [[nodiscard]] Time lease() const { return timing.lease.count() * kMs; }
  [[nodiscard]] Time session() const { return timing.session.count() * kMs; }
  [[nodiscard]] Time heartbeat() const { return timing.heartbeat.count() * kMs; }
  [[nodiscard]] Time interval() const { return timing.interval.count() * kMs; }
  /// With Fault::other_leases: the longest that a process may have, and one of them.
  [[nodiscard]] Time longest_lease() const;
  [[nodiscard]] milliseconds other_lease(Random& random) const;
  /// A crashed owner's partitions are led again by then (non-exclusive mode).
  [[nodiscard]] Time takeover() const;
  /// Where a member assigns and nothing but crashes was wrong: by then, counted from the last
  /// crash (both modes). `some_lead`: others have led something all the time.
  [[nodiscard]] Time healed(std::uint32_t crashes, bool some_lead) const;
  /// Where nobody led: counted from the last start, and how much later than healed() at most.
  [[nodiscard]] Time healed_after_a_start() const;
  [[nodiscard]] Time longer_from_nothing() const;
  /// How much later than healed() at most, where so many preferred members may just have started.
  [[nodiscard]] Time healed_by(std::uint32_t newcomers) const;
  /// As healed(), where one process is sick all the time.
  [[nodiscard]] Time healed_beside_the_sick(std::uint32_t crashes) const;
  /// Whether nothing in the run lets that take longer, without being an event.
  [[nodiscard]] bool heals_crashes() const;
  /// In exclusive mode that needs nobody's lease to end where nothing has been wrong for settled():
  /// the owner's release is read soon.
  [[nodiscard]] Time handover() const;
  /// What a record says is known to everybody by then, and so is what its reader does at once.
  [[nodiscard]] Time known_by() const { return 30 * kMs + 8 * latency_max; }
  /// And what a successor waits for at most where no release tells it.
  [[nodiscard]] Time grace() const;
  /// So long after a fault has ended it still shows in what processes have read.
  [[nodiscard]] Time settled() const { return 2 * longest_lease() + 8 * latency_max; }
  /// How long a designee may not lead what it is named for (A5).
  [[nodiscard]] Time patience() const {
    return exclusive() ? 2 * longest_lease() + session() : 2 * session() + 4 * interval();
  }
  [[nodiscard]] Time rebalance() const;
  /// What either of the two takes at most.
  [[nodiscard]] Time prepare() const { return prepare_timeout.count() * kMs * 1002 / 1000; }
};

[[nodiscard]] Plan make_plan(const Request& request);
/// One line for people, with the options that give the same run again.
[[nodiscard]] std::string describe(const Plan& plan);

}  // namespace neliroute::sim
