// What a reader of the logs knows of a lane in which a member assigns: members, seat, owners,
// designees and overrides. A member's core plans and obeys by it; others show it.
//
// Threads: one.   Units: LocalTime, std::chrono.   Errors: none; what is of another lane is left
// out.
#pragma once

#include <algorithm>
#include <cstdint>
#include <neliroute/ids.h>
#include <neliroute/settings.h>
#include <neliroute/time.h>
#include <optional>
#include <vector>

#include "neli_core/assigner/designations.h"
#include "neli_core/assigner/members.h"
#include "neli_core/assigner/overrides.h"
#include "neli_core/assigner/owners.h"
#include "neli_core/assigner/seat.h"
#include "neli_core/event.h"

namespace neliroute {

struct KnownLaneOptions {
  Lane lane;
  ProcessId own = kNobody;  ///< kNobody: it only reads
  milliseconds interval{0};  ///< 0, of who only reads: from the members' sessions
  milliseconds lease{0};
  std::uint32_t logs = 1;
  std::uint32_t partitions = 1;
  /// Others' settings make nobody a member. No value: all do. Who only reads knows neither the
  /// lane's group, nor its mode.
  std::optional<Settings> settings = std::nullopt;
  /// The topic's records are stamped by its brokers.
  bool believe_broker_time = true;
};

/// What became of a record that claims nothing.
enum class Assigned : std::uint8_t {
  told,      ///< nothing is to be done
  valid,     ///< an assignment that is to be obeyed
  refused,   ///< one of who does not hold the seat
  too_much,  ///< an override that is ignored, as the list would not fit into a record
};

struct KnownLane {
  explicit KnownLane(KnownLaneOptions given);

  /// That log is read from there on; what was read before need not hold.
  void tail_started(const TailStarted& event, LocalTime now);
  /// A record of log 0, of whichever type and writer, is read: before it is looked at.
  void note_read(LocalTime now);
  /// And after that.
  void note_passed(std::int64_t offset) noexcept { upto = std::max(upto, offset + 1); }
  /// A record of any log. `history`: it was there when the tail started. False: it is not of this
  /// lane, or nobody heeds it.
  bool read(const Received& event, const Record& record, bool history, LocalTime now);
  /// One of log 0. Whom a valid assignment names is for the caller to take over.
  [[nodiscard]] Assigned read(const Received& event, const AssignmentRecord& record, bool history,
                              LocalTime now);
  /// Whether a record with these settings is of the lane.
  [[nodiscard]] bool is_of_lane(const Settings* theirs) const;
  /// Whether a list of overrides that was just read does: while no seat is known, that of the
  /// newest.
  [[nodiscard]] bool counts(const AssignmentRecord& list) const;
  [[nodiscard]] Sighting sighting(const Received& event, bool history, LocalTime now) const;
  [[nodiscard]] LogPlace place(Log log) const { return {log, options.logs, options.partitions}; }
  /// A record of any log that this process wrote, before it is looked at.
  void note_own(const Received& event, LocalTime now);

  /// The time of a log whose stamps are not the broker's, as this process's own records in it tell.
  struct OwnTime {
    BrokerTime stamp{};               ///< of the last one
    std::optional<microseconds> time;  ///< no value: none was read yet
  };

  KnownLaneOptions options;
  std::vector<OwnTime> own_times;  ///< of each log
  Members members;
  Seat seat;
  Owners owners;
  Designations designations;
  Overrides overrides;
  LocalTime first_log_read = kLongAgo;  ///< when a record of log 0 was
  std::int64_t upto = 0;                ///< what lies before it in log 0 was read before
  std::int64_t assigns_from = 0;        ///< of what lies before it, later ones may be left out
  LocalTime list_read = kLongAgo;       ///< when a list of overrides was read, whoever wrote it
  Epoch lists_seat = kNoEpoch;     ///< its writer's seat
};

}  // namespace neliroute
