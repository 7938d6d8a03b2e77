// Auditor: checks records against the protocol (docs/protocol.md, section 2), from the records of a
// topic alone.
//
// What a record proves. A renewal was written before it was appended, so a process that says
// `leading` led at some instant before the record's stamp. It was not written before
//  - the claim of its own that it names, and so every record before that, was read,
//  - the writer's `since`,
//  - the sixth renewal before it was appended. For a leader has read back an own record j that it
//    wrote less than a lease ago. Of the six before this one either j is one or comes after them,
//    so they were appended; or all are younger than j, so none of them timed out yet, and then
//    rule 3 lets no more than two of them be unacknowledged, and a producer that failed and was
//    replaced may have left three more.
// An owner's lease ends at the latest at the stamp of its last record before the next claim, plus
// the lease. Two stamps differ from the truth by clock_error at most; every comparison grants that,
// a millisecond for rounding, and 0.1 % of a lease for drift. Where records carry no broker time
// only the order in the log is used.
//
// A finding that is `certain` broke a rule, whatever clocks (within clock_error) and the network
// did. The others are notes: they look wrong, but may be a record that was delayed for long, a
// former topic's, or nobody's fault. In non-exclusive mode an owner may serve on while its log is
// silent. If its next record leads on under the same epoch, within the time for which it serves on,
// that is a note, and no gap: it names the epoch as stale, or was under way in the silence; one
// that was suspended says that it looks. Epochs claimed before the first record are known by their
// renewals.
//
// Threads: one.   Units: offsets, BrokerTime, milliseconds.
// Errors: none; what cannot be read is counted.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <neliroute/ids.h>
#include <neliroute/time.h>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "neli_core/event.h"
#include "neli_core/record/partition_ranges.h"

namespace neliroute {

enum class FindingKind {
  overlap,       ///< exclusive: an older epoch is led after a newer one's owner led
  early_leader,  ///< exclusive: leads before an older epoch was out of the way (rule 6)
  overstay,      ///< exclusive: leads on after a claim, or after its lease must have ended (4, 5)
  gap,           ///< non-exclusive: nobody was entitled to lead
  served_stale,  ///< non-exclusive: served on without a lease, by its owner's word
  epoch_fell,    ///< led under a smaller epoch than an earlier owner's
  resumed,       ///< an epoch is named again after its release (rule 10)
  false_epoch,   ///< names an epoch that it did not claim in this log
  settings,      ///< slots, partitions or logs differ from here on
  hole,          ///< records are missing, so what was known before is forgotten
};
[[nodiscard]] std::string_view to_string(FindingKind kind) noexcept;

/// What a record says of one partition.
enum class Says { claims, looks, leads, drains, releases };
[[nodiscard]] std::string_view to_string(Says says) noexcept;

/// One record, as evidence for a finding.
struct Evidence {
  std::int64_t offset = -1;
  BrokerTime stamped;
  ProcessId id = kNobody;
  std::string name;
  Epoch epoch = kNoEpoch;
  Says says = Says::claims;
  friend bool operator==(const Evidence&, const Evidence&) = default;
};

struct Finding {
  FindingKind kind = FindingKind::hole;
  /// False: a note.
  bool certain = true;
  Log log;
  /// All partitions to which the same records did the same.
  PartitionRanges partitions;
  std::vector<Evidence> evidence;
  /// How long a gap lasted, or by how much a leader was early or late: at least.
  std::optional<milliseconds> at_least;
};

struct AuditTotals {
  std::uint64_t records = 0;      ///< of this lane
  /// Of this lane, by which a member assigns: they claim nothing, so no rule judges them.
  std::uint64_t assignments = 0;
  std::uint64_t other_lanes = 0;
  std::uint64_t ignored = 0;      ///< not one of our records
  std::uint64_t ownerships = 0;   ///< epochs of a partition under which a process led
  std::uint64_t gaps = 0;         ///< of a partition, in either mode, that are certain
  milliseconds longest_gap{0};
  /// Of a partition: times without a lease in which its owner served on, by its own word.
  std::uint64_t served_stale = 0;
  milliseconds longest_stale{0};
  std::uint64_t findings = 0;
  std::uint64_t notes = 0;
  std::set<ProcessId> processes;
  bool broker_time = true;        ///< every record was stamped by the broker
};

struct AuditOptions {
  Lane lane;
  /// How wrong the difference of two broker timestamps may be.
  milliseconds clock_error{150};
  /// Whether a position without a record is one whose record is gone.
  bool dense = true;
};

class LogAudit;

class Auditor {
 public:
  using Sink = std::function<void(const Finding&)>;
  Auditor(AuditOptions options, Sink sink);
  ~Auditor();
  Auditor(const Auditor&) = delete;
  Auditor& operator=(const Auditor&) = delete;

  /// The records of each log in order, from any offset on. A missing one is noticed.
  void on(const Received& event);
  /// The logs end here.
  void finish();

  [[nodiscard]] const AuditTotals& totals() const noexcept { return totals_; }

 private:
  AuditOptions options_;
  Sink sink_;
  AuditTotals totals_;
  std::map<Log, std::unique_ptr<LogAudit>> logs_;
};

}  // namespace neliroute
