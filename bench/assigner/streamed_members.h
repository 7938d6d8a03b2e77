// Members that are streams of records: each writes what a member of the protocol would write,
// through the codec, and keeps of its own state only what it is named for, claims and holds. All of
// them read the logs with one pair of eyes, since all read the same.
//
// They follow rules 1 to 4, 7 and A4 of non-exclusive mode, on logs that lose nothing. They never
// want the seat and judge nobody, so a lane needs some whole members that are senior to them. The
// bench compares such a lane with one of whole members only (--against-whole).
//
// Threads: one.   Units: simulated LocalTime.   Errors: none.
#pragma once

#include <cstdint>
#include <map>
#include <neliroute/ids.h>
#include <neliroute/time.h>
#include <optional>
#include <set>
#include <vector>

#include "bench/assigner/lane_options.h"
#include "bench/assigner/memory_logs.h"
#include "neli_core/record/packed_records.h"

namespace neliroute::scale {

class StreamedMembers {
 public:
  explicit StreamedMembers(const LaneOptions& lane);

  /// It renews at `first`, and each interval from then on.
  void add(std::uint32_t number, ProcessId id, LocalTime first);
  [[nodiscard]] std::uint32_t count() const noexcept {
    return static_cast<std::uint32_t>(members_.size());
  }
  [[nodiscard]] std::uint32_t living() const noexcept { return living_; }
  /// From now on it writes nothing and leads nothing. By its order of adding.
  void die(std::uint32_t index);
  [[nodiscard]] bool alive(std::uint32_t index) const noexcept { return members_[index].alive; }

  /// Reads what can be read; each member that has something to write writes it.
  void turn(MemoryLogs& logs, LocalTime now);
  [[nodiscard]] bool is_led(Partition partition) const noexcept;

 private:
  /// An epoch that a streamed member holds.
  struct Holding {
    std::uint32_t member = 0;
    Epoch epoch;
    bool draining = false;
  };
  struct InLog {
    std::set<Partition> held;
    std::vector<Partition> claims;     ///< to be written
    std::vector<NamedEpoch> releases;  ///< to be written
    bool changed = false;              ///< a renewal is due at once
    LocalTime answered = kLongAgo;     ///< when its last renewal can be read
  };
  struct Streamed {
    CoreOptions core;
    bool alive = true;
    bool touched = false;
    std::optional<std::int64_t> since;
    std::vector<InLog> logs;
    std::uint64_t next_seq = 1;
  };
  struct LogRead {
    std::int64_t next = 0;
    std::int64_t greatest_incarnation = 0;
    std::optional<BrokerTime> last;
  };

  void read(const Received& event);
  void read(const Received& event, const Record& record);
  void read_claim(const Received& event, const Record& claim, std::optional<std::uint32_t> own);
  void read_renewal(const Received& event, const Record& renewal);
  void read(const Received& event, const AssignmentRecord& record);
  void designate(Partition partition, ProcessId to);
  void drain(Partition partition, Holding& holding);
  void drop(Partition partition, std::uint32_t member);
  void touch(std::uint32_t member);

  void write_all(MemoryLogs& logs, LocalTime now);
  void write_claims(MemoryLogs& logs, Streamed& member, Log log, LocalTime now);
  void write_renewal(MemoryLogs& logs, std::uint32_t index, Log log, LocalTime now);
  void write_releases(MemoryLogs& logs, Streamed& member, Log log, LocalTime now);
  [[nodiscard]] Record header(const Streamed& member, RecordType type, Log log) const;
  [[nodiscard]] std::optional<std::uint32_t> index_of(ProcessId id) const;
  [[nodiscard]] LogPlace place(Log log) const { return {log, lane_.logs, lane_.partitions}; }

  LaneOptions lane_;
  std::vector<Streamed> members_;
  std::map<ProcessId, std::uint32_t> index_;
  std::uint32_t living_ = 0;
  /// By millisecond of the interval: who renews then, from when on.
  std::vector<std::vector<std::pair<std::uint32_t, LocalTime>>> beats_;
  std::vector<std::uint32_t> touched_;

  std::vector<LogRead> logs_;
  std::vector<ProcessId> designees_;
  std::vector<std::vector<Holding>> holdings_;  ///< per partition, oldest first; rarely two
  std::uint32_t draining_ = 0;
  ProcessId seat_by_ = kNobody;
  Epoch seat_ = kNoEpoch;
};

}  // namespace neliroute::scale
