// LogAudit: the audit of one log. Private to the auditor, which audit.h describes.
//
// Threads: one.   Units: offsets, BrokerTime.   Errors: none.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "audit/audit.h"
#include "neli_core/record/record.h"

namespace neliroute {

/// Earlier than every record.
inline constexpr BrokerTime kBeforeAll{milliseconds{0}};

/// A record in the log, and what it says.
struct Mark {
  std::int64_t offset = -1;
  BrokerTime stamped = kBeforeAll;
  ProcessId id = kNobody;
  Epoch epoch = kNoEpoch;
  Says says = Says::claims;
};

/// One epoch of one partition, as its records show it.
struct EpochAudit {
  Epoch epoch;
  ProcessId id = kNobody;
  bool claim_seen = false;
  BrokerTime claimed = kBeforeAll;  ///< if it was seen
  /// No newer claim precedes the first record: seen, or shown by an owner that led on for a lease.
  bool newest_at_start = false;
  /// Whether its owner follows the exclusive rules; no value: it did not say.
  std::optional<bool> exclusive;
  /// Its lease ends by then if only records that every reader believes extended it (rule 2).
  BrokerTime until = kBeforeAll;
  /// The same, by any of its records: a non-exclusive drainer goes on after other claims.
  BrokerTime renewed_until = kBeforeAll;
  /// The successor's grace ends no earlier: the part of `until` that was readable.
  BrokerTime stands_until = kBeforeAll;
  /// The last record of it that must be waited for and whose lease cannot be read.
  std::optional<BrokerTime> unreadable_lease;
  Mark last_valid;
  /// The first claim after it, and its writer.
  std::int64_t superseded_at = -1;
  ProcessId superseded_by = kNobody;
  std::optional<Mark> led;  ///< the first record that says so
  std::optional<Mark> released;
  std::uint64_t release_seq = 0;
  /// The stamps of its last renewals: as many as may be in flight (see audit.h).
  std::array<BrokerTime, 6> recent;
  std::size_t renewals = 0;
  // What was reported already, so that each story is reported once.
  std::int64_t overlap_told = -1;
  std::int64_t overlap_noted = -1;
  bool overstay_told = false;
  bool resumed_told = false;
};

struct PartitionAudit {
  std::vector<EpochAudit> epochs;  // by claim offset, ascending
  /// The greatest epoch under which a process led, and the first record that says so.
  Epoch greatest = kNoEpoch;
  Mark greatest_led;
  bool greatest_claim_seen = false;
  bool led = false;
  /// Until when anybody may lead, by the record that says so; no value: nothing was read yet.
  std::optional<BrokerTime> covered_until;
  Mark covered_by;
  /// The release that left nobody; -1: some process may lead.
  std::int64_t vacated_at = -1;
};

/// What is known of a process that writes here.
struct WriterAudit {
  std::string name;
  std::optional<std::uint64_t> last_seq;
  /// The greatest offset that it has certainly read: a claim of its own that it named.
  std::int64_t read = -1;
  /// Its newest record was not written before.
  BrokerTime written = kBeforeAll;
  std::set<std::int64_t> false_epochs_told;
};

class LogAudit {
 public:
  LogAudit(Log log, const AuditOptions& options, AuditTotals& totals, const Auditor::Sink& sink);

  void on(const Received& event);
  void finish();

 private:
  struct Statement;

  void judge_record(const Received& event, const Record& record);
  void on_record(const Received& event, const Record& record);
  void follow_settings(const Record& record, const Mark& at);
  WriterAudit& writer_of(const Record& record);
  void on_claim(const Received& event, const Record& record);
  void on_renewal(const Received& event, const Record& record);
  void on_release(const Received& event, const Record& record);
  void renew(PartitionAudit& audit, Partition partition, EpochAudit& epoch, Statement& said);
  void prove_reading(const Record& record, WriterAudit& writer);
  void judge_first(PartitionAudit& audit, Partition partition, EpochAudit& epoch,
                   const Statement& said);
  void judge_early(const PartitionAudit& audit, Partition partition, const EpochAudit& epoch,
                   const Statement& said);
  void judge_late(const PartitionAudit& audit, Partition partition, EpochAudit& epoch,
                  const Statement& said);
  void judge_gap(PartitionAudit& audit, Partition partition, const std::optional<Mark>& until);
  /// Whether the time up to this renewal was one without a lease, in which its writer served on.
  [[nodiscard]] bool served_stale(const PartitionAudit& audit, Partition partition,
                                  const EpochAudit& epoch, const Statement& said) const;
  void note_stale(const PartitionAudit& audit, Partition partition, const Statement& said);
  void false_epoch(PartitionAudit& audit, Partition partition, const EpochAudit* other,
                   const Statement& said);
  void cover(PartitionAudit& audit, BrokerTime until, const Mark& by);
  void vacate(PartitionAudit& audit, const Mark& release);
  void forget(FindingKind why, const Mark& at);
  void add(FindingKind kind, bool certain, Partition partition, std::vector<Evidence> evidence,
           std::optional<milliseconds> at_least = std::nullopt);
  void flush();

  [[nodiscard]] LogPlace place() const;
  /// With its claim at that offset. Below the start: with its inc, too.
  [[nodiscard]] EpochAudit* find(PartitionAudit& audit, const Epoch& named) const;
  EpochAudit& insert(PartitionAudit& audit, const Epoch& epoch, ProcessId id) const;
  [[nodiscard]] bool is_over(const EpochAudit& epoch, BrokerTime at) const;
  [[nodiscard]] BrokerTime horizon() const { return first_stamp_ + lease_bound_; }
  /// By how much two stamps must differ to be certain.
  [[nodiscard]] milliseconds margin() const {
    return options_.clock_error + milliseconds{1} + lease_bound_ / 1000;
  }
  [[nodiscard]] Evidence evidence(const Mark& mark) const;

  Log log_;
  const AuditOptions& options_;
  AuditTotals& totals_;
  const Auditor::Sink& sink_;
  std::int64_t start_ = -1;
  std::int64_t next_ = -1;
  BrokerTime first_stamp_ = kBeforeAll;
  BrokerTime last_stamp_ = kBeforeAll;
  bool timed_ = true;
  milliseconds lease_bound_{0};  ///< T*
  std::optional<Settings> settings_;
  std::map<ProcessId, WriterAudit> writers_;
  std::map<Partition, PartitionAudit> partitions_;
  /// The last record that says its writer leads something: that process lived.
  Mark alive_;
  std::vector<Finding> pending_;
};

}  // namespace neliroute
