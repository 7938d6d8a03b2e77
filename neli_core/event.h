// What happens to a process: the inputs of the state machine, of either variation.
//
// Every event is handed to Core::step() together with `now`, a reading of CLOCK_BOOTTIME that
// was taken after the event happened (for a record: after it was received).
//
// Threads: values.   Units: offsets, std::chrono.   Errors: none.
#pragma once

#include <cstdint>
#include <neliroute/ids.h>
#include <neliroute/time.h>
#include <optional>
#include <string>
#include <variant>

#include "neli_core/record/partition_ranges.h"
#include "neli_core/record/record.h"

namespace neliroute {

/// Identifies a record when it is read again.
struct RecordIdentity {
  ProcessId id = kNobody;
  std::uint64_t seq = 0;
  BrokerTime stamped;
  friend bool operator==(const RecordIdentity&, const RecordIdentity&) = default;
};

[[nodiscard]] RecordIdentity identity_of(const Decoded& value, BrokerTime stamped) noexcept;

/// What a tail leaves out.
enum class Below : std::uint8_t {
  nothing,  ///< no record ever was below its start
  expired,  ///< there may have been some below its start; none of them is kept
  older,    ///< those below its start, which were appended before the first one that it reads
  /// These, and some of the records from there to `end`; but the newest of each writer, type and
  /// place in a batch is read, and so is every override and seat claim.
  unread,
};

/// The tail reads a log from `start` on; `end` is the log's end offset. `now` is L0: a time read
/// after the answer with the end offset arrived.
struct TailStarted {
  Log log;
  std::int64_t start = 0;
  std::int64_t end = 0;
  Below below = Below::older;
};

/// A record, in log order. `value` is valid during the call only.
struct Received {
  Log log;
  std::int64_t offset = 0;
  BrokerTime stamped;
  bool store_stamped = false;  ///< by the store, and not by the record's writer
  const Decoded* value = nullptr;
};

/// The log's leader answered that the log ends at `next`, and no record lies between what was
/// received and there.
struct LogPosition {
  Log log;
  std::int64_t next = 0;
};

/// Answer to Ready::rereads: the record at `offset`, or that it is gone. Offset -1: the log's
/// leader answered; there was no record to read again.
struct Reread {
  Log log;
  std::uint64_t question = 0;
  std::int64_t offset = -1;
  std::optional<RecordIdentity> found;
};

enum class GapReason { out_of_range, truncated, replaced, missing, restarted, changed,
                       unread, unread_claim };

/// The tail cannot guarantee any more that it reads the same log as before.
struct GapFound {
  Log log;
  GapReason reason = GapReason::out_of_range;
};

/// Kafka stored the record that was written with this seq, at this offset; -1: offset not known.
struct WriteAcknowledged {
  std::uint64_t seq = 0;
  std::int64_t offset = -1;
};
/// It did not, or nobody knows.
struct WriteFailed {
  std::uint64_t seq = 0;
};

/// The group counts this process among its members, whether or not it assigns anything to it. Sent
/// only where the group protocol has a use for Ready::expedite.
struct GroupJoined {};
/// The group suggests that this process should claim these.
struct GroupAssigned {
  PartitionRanges partitions;
};
/// The group takes them back (`lost`: it has done so already).
struct GroupRevoked {
  PartitionRanges partitions;
  bool lost = false;
};

/// What a process was assigned, or what was taken from it, by whoever assigns.
using AssignmentChange = std::variant<GroupAssigned, GroupRevoked>;

/// The application has prepared for these, which Ready::prepares named.
struct Prepared {
  PartitionRanges partitions;
};
/// It has warmed up for these, which Ready::warm_ups named.
struct WarmedUp {
  PartitionRanges partitions;
};

/// The application has finished what it did under this epoch.
struct BarrierDone {
  Partition partition;
  Epoch epoch;
};

/// A store that keeps the greatest epoch it has seen refused a lower one. If that was the epoch
/// held, then the store was restored, or serves more than this topic, or the log lost records.
struct EpochRefused {
  Partition partition;
  Epoch stored;
};

/// Planned leave: hand over, at most until then; then stop. In the past: stop now.
struct CloseRequested {
  LocalTime until;
  /// When the releases must be known to be stored at the latest. A barrier may last longer, up to
  /// its lease.
  LocalTime released_by = kNever;
};

/// Whether the application wants to own something. Only a member that assigns heeds it: of a group
/// the ledger stays away.
struct Cordoned {
  bool cordoned = false;
};

/// Variation `broadcast`: the group's consumer read a record, any record, of a partition that the
/// group assigned.
struct Heard {
  Partition partition;
  std::int64_t offset = 0;
  BrokerTime stamped;
  bool store_stamped = false;
  /// Both clocks after the record was received, `read` before `wall`: a pause between the two
  /// makes the record look older, never younger.
  LocalTime read;
  WallTime wall;
};

/// Variation `broadcast`: how many partitions the topic has now.
struct PartitionsCounted {
  std::uint32_t count = 0;
};

using Event = std::variant<TailStarted, Received, LogPosition, Reread, GapFound,
                           WriteAcknowledged, WriteFailed, GroupJoined, GroupAssigned,
                           GroupRevoked, Prepared, WarmedUp, BarrierDone, CloseRequested,
                           EpochRefused, Cordoned, Heard, PartitionsCounted>;

[[nodiscard]] const char* to_string(GapReason reason) noexcept;

}  // namespace neliroute
