// The three records of the protocol, as they are in a log, and their JSON form.
//
// A claim says "I want these partitions", a renewal "I still hold these epochs", a release "I am
// done with these". One record may name many partitions and means the same as one record for each
// of them at the same offset. Unknown fields are ignored. `v, t, lane, id, inc, lparts, incs, seq,
// lease_ms, max_ms` keep their meaning in every later version. Version 1 had `parts`, whole
// partition numbers, instead of `lparts`; its readers take a claim of this version for one of
// every partition, as we do with theirs.
//
// Threads: values and pure functions, any.   Units: milliseconds on the wire.
// Errors: decode() never fails hard: what it cannot use is named by `Ignored`.
#pragma once

#include <cstdint>
#include <neliroute/ids.h>
#include <neliroute/settings.h>
#include <neliroute/time.h>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "neli_core/record/log_parts.h"
#include "neli_core/record/override.h"

namespace neliroute {

/// A record that we write is never longer; longer lists are split over several records.
inline constexpr std::size_t kRecordBytesMax = 64 * 1024;

inline constexpr std::int64_t kRecordVersion = 2;

enum class RecordType { claim, renewal, release };

/// The partitions of one claim record, in a renewal or a release.
struct EpochParts {
  std::int64_t claim_offset = -1;
  LogParts parts;
  /// The incarnation of its epoch; no value: the record's.
  std::optional<std::int64_t> incarnation = std::nullopt;
  friend bool operator==(const EpochParts&, const EpochParts&) = default;
};

/// The greatest weight that a member can have.
inline constexpr std::uint32_t kWeightMax = 1000;

/// The greatest seat priority that a member can have, and that of one that states none.
inline constexpr std::uint32_t kSeatPriorityMax = 100;
inline constexpr std::uint32_t kSeatPriorityDefault = 50;

/// The shortest session that a member can have: below it, a slow broker passes for a death.
inline constexpr milliseconds kMemberSessionMin{300};
/// The longest host or zone, in bytes.
inline constexpr std::size_t kPlaceBytesMax = 255;

/// What a renewal in log 0 says of its writer as a member of a group that an assigner assigns to.
struct MemberFields {
  milliseconds session{0};  ///< silent for longer: taken for dead
  std::uint32_t weight = 1;
  bool cordoned = false;  ///< to own nothing
  std::uint32_t seat_priority = kSeatPriorityDefault;  ///< the highest claims a free seat first
  std::string host;
  std::string zone;
  /// The newest seat claim that it has read, and whose it is. No value: none.
  std::optional<Epoch> seat = std::nullopt;
  ProcessId seat_by = kNobody;
  std::int64_t upto = -1;  ///< it has read log 0 up to there, exclusively
  bool assigning = false;  ///< it holds the seat, and reads what it writes in time
  bool reads = false;      ///< it reads in time what it writes to log 0
  /// The longest that a record of its own took to come back, of those read within a session.
  std::optional<milliseconds> lag = std::nullopt;
  PartitionRanges unread;  ///< numbers of logs of which it read nothing for a lease
  bool leaving = false;    ///< it hands over what it has, and then ends
  /// How long its application may still prepare for what it is named for; 0: it does not.
  milliseconds preparing{0};
  /// Which of these; no value: it does not say.
  std::optional<PartitionRanges> preparing_parts = std::nullopt;
  friend bool operator==(const MemberFields&, const MemberFields&) = default;
};

struct Record {
  RecordType type = RecordType::claim;
  std::int64_t version = kRecordVersion;
  Lane lane;
  ProcessId id = kNobody;
  std::uint64_t seq = 0;
  /// Incarnation; of a claim: the least that its epoch's may be, see claim_epoch() in judgement.h.
  std::int64_t incarnation = 0;
  /// The greatest incarnation that the writer knows in this log. Others repeat what one owner knew,
  /// so it outlives that owner: a newcomer reads only a little way back.
  std::int64_t max_incarnation = 0;
  /// Claims: the partitions claimed. No value: unreadable, so every partition of the log.
  std::optional<LogParts> parts;
  /// Renewals and releases: which epochs. None: it holds nothing, and only shows that it lives.
  std::vector<EpochParts> epochs;
  /// Renewals: the states of the partitions named; the rest are looking.
  LogParts leading;
  LogParts draining;
  /// Of these, what is served on though its lease is over; and for how long its writer does that.
  LogParts stale;
  milliseconds serve_stale{0};
  /// No value: unreadable, so the reader takes the greatest lease it knows of.
  std::optional<milliseconds> lease;
  std::optional<milliseconds> max_lease;
  /// Broker time of the last record that its writer had read of this log: `max_lease` does not
  /// cover leases stated after that one. No value: it had read none, or does not say.
  std::optional<BrokerTime> read_until;
  /// Broker time of the writer's first own record read back; compared to find who came first.
  std::optional<std::int64_t> since;
  ProcessInfo process;
  /// Renewals in log 0, where an assigner assigns.
  std::optional<MemberFields> member;
  /// No value: the record does not carry all of them (another version).
  std::optional<Settings> settings;

  friend bool operator==(const Record&, const Record&) = default;
};

/// Why a record on the topic means nothing to us. Counted, never an error.
enum class Ignored {
  not_json,      ///< not a JSON object
  unknown_type,  ///< an object, but its `t` is unknown
  no_lane,       ///< no lane can be read, so it is not this lane's
  malformed,     ///< a renewal or release whose id, epochs or partitions cannot be read
  empty,         ///< it has no value: a heartbeat of variation `broadcast`
};

/// The epoch that a renewal or release names there.
[[nodiscard]] inline Epoch epoch_of(const Record& record, const EpochParts& named) noexcept {
  return {named.incarnation.value_or(record.incarnation), named.claim_offset};
}

/// Calls visit(Partition) for each partition that a claim in this log is for: for every one of the
/// log, if they cannot be read.
template <class Visitor>
void for_each_claimed(const Record& claim, const LogPlace& place, Visitor&& visit) {
  claim.parts ? claim.parts->for_each(place, visit) : place.for_each(visit);
}

/// Calls visit(Partition, Epoch) for each that a renewal or release in this log names.
template <class Visitor>
void for_each_named(const Record& record, const LogPlace& place, Visitor&& visit) {
  for (const EpochParts& named : record.epochs) {
    const Epoch epoch = epoch_of(record, named);
    named.parts.for_each(place, [&](Partition partition) { visit(partition, epoch); });
  }
}

enum class AssignmentType {
  seat_claim,  ///< the writer assigns from here on
  assign,      ///< these partitions should be claimed by these members
  yield,       ///< the writer assigns, and wants the member that it names to do so
  leave,       ///< the writer hands over what it has, assigns no longer, and then ends
  override,    ///< an operator, who is no member, orders something of the assigner
  overrides,   ///< the assigner repeats all that stand
};

/// Who should claim what.
struct Designation {
  ProcessId to = kNobody;
  PartitionRanges partitions;
  friend bool operator==(const Designation&, const Designation&) = default;
};

/// A record of log 0 that claims nothing: by whom the members are assigned what.
struct AssignmentRecord {
  AssignmentType type = AssignmentType::seat_claim;
  Lane lane;
  ProcessId id = kNobody;
  std::uint64_t seq = 0;
  /// Of an assignment, a list of overrides or a yield: the seat claim under which it was written.
  /// Of a seat claim: the one that it replaces, if its writer knows one.
  Epoch seat = kNoEpoch;
  ProcessId yields_to = kNobody;
  std::vector<Designation> designations;
  /// Of an override. It has no other identity than `id` and `seq`.
  Override override;
  /// Of a list: the overrides that stand of all those before this offset.
  std::int64_t upto = -1;
  StandingOverrides standing;
  friend bool operator==(const AssignmentRecord&, const AssignmentRecord&) = default;
};

/// What a seat claim that stands there is called ever after.
[[nodiscard]] constexpr Epoch seat_at(BrokerTime stamped, std::int64_t offset) noexcept {
  return {stamped.time_since_epoch().count(), offset};
}

using Decoded = std::variant<Record, AssignmentRecord, Ignored>;

/// What every reader of JSON can represent.
inline constexpr std::int64_t kIncarnationMax = (std::int64_t{1} << 53) - 1;

/// No epoch may still be led by a record older than this, apart from the error of brokers' clocks
/// (rule 6). `last`: the newest record that states a lease, in a log that ends at `end`; `own`: the
/// caller's lease. Null: no record states one.
[[nodiscard]] BrokerTime history_horizon(const Record* last, BrokerTime end,
                                         milliseconds own) noexcept;

/// A stamp as a record may carry it; a writer may stamp what it likes.
[[nodiscard]] constexpr std::optional<BrokerTime> readable(BrokerTime stamped) noexcept {
  const std::int64_t stamp = stamped.time_since_epoch().count();
  return stamp >= 0 && stamp <= kIncarnationMax ? std::optional(stamped) : std::nullopt;
}

/// Reads one record value. Bounded in time and memory by the value's length.
[[nodiscard]] Decoded decode_record(std::string_view value);

/// Writes one; decode_record(encode_record(r)) == r for every record of this version.
[[nodiscard]] std::string encode_record(const Record& record);
[[nodiscard]] std::string encode_record(const AssignmentRecord& record);

}  // namespace neliroute
