// When a process that is assigned partitions and cannot lead them leaves the group for a while.
//
// A group knows of its members only that their heartbeats arrive. If this process cannot reach a
// log's leader, or the broker refuses its records, others could lead its partitions, but the group
// assigns them to nobody else. So it leaves and joins again, after a longer pause each time, until
// all is well. It stays if leaving helps nobody: no other process can lead on a log that has no
// leader; a coordinator that does not answer assigns nothing to anybody; and a process that is
// alone leads at least what it can. Two that leave at the same time do not see each other leave: so
// a process that is away checks now and then whether the group has members, and joins if not.
//
// Threads: one caller; no clock, no random numbers: both are arguments.
// Units: std::chrono.   Errors: none.
#pragma once

#include <cstddef>
#include <cstdint>
#include <neliroute/ids.h>
#include <neliroute/time.h>
#include <optional>
#include <vector>

#include "neli_core/record/partition_ranges.h"

namespace neliroute {

/// Why a process cannot lead the partitions of a log.
enum class Obstacle {
  refused,       ///< the broker refuses its writes or reads
  out_of_reach,  ///< the cluster names a leader, but it does not answer this process
};

struct WithdrawalOptions {
  std::uint32_t partitions = 0;
  std::uint32_t logs = 0;
  milliseconds lease{0};
  milliseconds session{0};
  milliseconds heartbeat{0};
  /// How long others may prepare before they lead what this process gave up.
  milliseconds prepare_timeout{0};
};

class Withdrawal {
 public:
  struct Leave {
    Obstacle obstacle = Obstacle::refused;
    std::vector<Log> logs;
    /// Join again after this.
    milliseconds pause{0};
  };
  /// What is to be done now.
  struct Step {
    bool ask_leaders = false;  ///< answered by leaders_named()
    bool ask_others = false;   ///< answered by others_counted()
    /// It cannot lead, and would leave if the group had another member; said once.
    bool stays_alone = false;
    std::optional<Leave> leave;
    bool join = false;  ///< before the pause ends: the group is empty
  };

  explicit Withdrawal(const WithdrawalOptions& options);

  void assigned(const PartitionRanges& partitions, LocalTime now);
  void revoked(const PartitionRanges& partitions);
  /// A record of its own came back.
  void own_record(Log log, LocalTime now);
  /// The log's leader answered a request of the reader.
  void answered(Log log, LocalTime now);
  void write_refused(Log log, LocalTime now);
  void read_refused(Log log);
  /// The broker that the cluster names as the leader of each log.
  void leaders_named(const std::vector<std::optional<std::int32_t>>& leaders, LocalTime now);
  /// The coordinator answered the query sent at `asked`: the group has so many other members.
  void others_counted(std::size_t others, LocalTime asked, LocalTime now);
  /// It joins again after a Leave.
  void joined() noexcept {
    away_ = false;
    well_since_ = kNever;
  }

  /// Call it often: each call looks at the time. `random`: any 32 bits.
  [[nodiscard]] Step step(LocalTime now, std::uint32_t random);

  /// Out of the group because of a Leave.
  [[nodiscard]] bool away() const noexcept { return away_; }
  /// max(2 T, session): how long no own record comes back before it counts.
  [[nodiscard]] milliseconds bound() const noexcept { return bound_; }

  /// A pause is prepare_timeout, and a time drawn from the upper half of this, which doubles each
  /// time up to kPauseMost. Who is back before the others have what it had is given the same again:
  /// members hear of a leave by their heartbeats, librdkafka takes up to a second more to join a
  /// classic rebalance, and their applications prepare.
  static constexpr milliseconds kPauseFirst{4000};
  static constexpr int kPauseFirstHeartbeats = 4;
  static constexpr milliseconds kPauseMost{600'000};
  /// Kafka names a dead broker as a leader for up to broker.session.timeout.ms, 9 s by default:
  /// until then it cannot be told from one that only this process cannot reach.
  static constexpr milliseconds kElectionMost{10'000};
  static constexpr milliseconds kAskEvery{1000};
  /// A process that is away queries after a random time between this and twice as long: the first
  /// one to see an empty group has joined when the next one queries.
  static constexpr milliseconds kAwayAskEvery{2000};
  /// An older number of members may include some that have left since.
  static constexpr milliseconds kCountedFresh{2000};

 private:
  struct LogFacts {
    std::uint32_t assigned = 0;    ///< partitions
    LocalTime since = kNever;      ///< an own record is awaited
    LocalTime answered = kLongAgo;
    LocalTime write_refused = kLongAgo;
    bool read_refused = false;
    std::optional<std::int32_t> leader;
    LocalTime leader_since = kNever;  ///< the cluster named it, without a break
    LocalTime leader_named = kLongAgo;
  };

  [[nodiscard]] bool overdue(const LogFacts& log, LocalTime now) const;
  [[nodiscard]] std::optional<Obstacle> obstacle(const LogFacts& log, LocalTime now) const;
  [[nodiscard]] bool wants_leaders(LocalTime now);
  void note_well(LocalTime now);
  [[nodiscard]] Leave leave(Leave why, LocalTime now, std::uint32_t random);
  [[nodiscard]] Step step_away(LocalTime now, std::uint32_t random);
  void decide(Step& step, Leave why, LocalTime now, std::uint32_t random);

  std::uint32_t log_count_;
  milliseconds lease_;
  milliseconds bound_;
  milliseconds prepare_timeout_;
  std::vector<bool> assigned_;
  std::vector<LogFacts> logs_;
  bool away_ = false;
  LocalTime due_ = kNever;  ///< others are counted from then on
  LocalTime next_leaders_ = kLongAgo;
  LocalTime next_count_ = kLongAgo;
  std::optional<std::size_t> others_;
  bool alone_told_ = false;
  LocalTime well_since_ = kNever;
  milliseconds first_pause_;
  milliseconds next_pause_;
  milliseconds last_pause_{0};
};

[[nodiscard]] const char* to_string(Obstacle obstacle) noexcept;

}  // namespace neliroute
